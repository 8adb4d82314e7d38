"""All pairs of submissions: those that stand out, with the reason, and the groups that they form."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, filterfalse, islice
from operator import attrgetter, itemgetter

import numpy as np
from numpy.typing import NDArray

from assay.code import parses
from assay.corpora import LineRange, SourceText, merge_lines
from assay.errors import DataError
from assay.languages import LANGUAGES
from assay.reports import Column, Report, Row, Table, counts_by_reason, listed, number_of
from assay.retrieval import Source
from assay.submissions.evidence import FEWEST, Program, SharedEvidence, programs_of, unspaced, weigh_evidence
from assay.submissions.matching import MatchedRun, StatementPlace, renamed, runs_of
from assay.submissions.reading import Submission

NAMED = 20
"""Students that a sentence names."""

MOST_PAIRS = 500
"""Pairs that are described line by line."""

MOST_SUBMISSIONS = 4000
"""Submissions of a comparison: each pair of them takes some 25 bytes of memory."""

PAIR_COLUMNS = (
    *map(Column, ("first", "second")),
    *map(partial(Column, kind="number"), ("evidence", "share", "first_share", "second_share")),
    *map(Column, ("first_lines", "second_lines")),
    Column("cluster", "count"),
    Column("reason"),
)
"""The fields of a pair, in their order."""

_student = attrgetter("student")


@dataclass(frozen=True, slots=True)
class StudentPair:
    """Two submissions that share more than the others do.

    Attributes:
        first, second: numbers of the submissions.
        evidence: times the threshold; NaN with too few submissions.
        share: weighted cosine of what is not common, 0 to 1.
        first_share, second_share: statements of either one in the runs that match.
        runs: that match, the strongest first.
        names: of the first one → of the second one.
        reason: one line.
    """

    first: int
    second: int
    evidence: float
    share: float
    first_share: float
    second_share: float
    runs: tuple[MatchedRun, ...]
    names: dict[str, str]
    reason: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """A course whose submissions were compared.

    Attributes:
        submissions: with code, of distinct content; the first of those that are identical stands for them.
        programs: theirs.
        identical: students with the same code, layout aside, by groups of at least two.
        empty: submissions without code that could be compared.
        unchanged: students whose files were all handed out.
        read: all submissions.
        evidence: of all pairs.
        pairs: that stand out, the strongest first.
        further: number of pairs that stand out and are not described.
        template: features of code that was handed out.
    """

    submissions: tuple[Submission, ...]
    programs: tuple[Program, ...]
    identical: tuple[tuple[str, ...], ...]
    empty: tuple[Submission, ...]
    unchanged: tuple[str, ...]
    read: tuple[Submission, ...]
    evidence: SharedEvidence
    pairs: tuple[StudentPair, ...]
    further: int
    template: frozenset[int]

    @cached_property
    def clusters(self) -> tuple[tuple[int, ...], ...]:
        """Groups of submissions that pairs connect, the largest first."""
        from scipy.sparse import csr_array  # noqa: PLC0415  slow to import
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

        # pairs that are not described connect, too
        first, second = np.nonzero(self.evidence.standing_out)
        size = len(self.submissions)
        graph = csr_array((np.ones(len(first)), (first, second)), shape=(size, size))
        _, labels = connected_components(graph, directed=False)
        groups: dict[int, list[int]] = defaultdict(list)
        for number, label in enumerate(labels.tolist()):
            groups[label].append(number)
        linked = filter(itemgetter(slice(1, None)), groups.values())  # with a second one
        return tuple(sorted(map(tuple, linked), key=len, reverse=True))

    def name(self, number: int) -> str:
        """Return the student of a submission."""
        return self.submissions[number].label

    @property
    def answer(self) -> str:
        """The result in one sentence."""
        earlier = Counter(submission.is_earlier for submission in self.read if submission.files)
        students = number_of(earlier[False], "submission") + f" and {earlier[True]} earlier" * bool(earlier[True])
        same = sum(map(len, self.identical))
        count = len(self.pairs) + self.further
        alike = f"; {same} have identical code" * bool(same)
        if not count:
            return f"{same} of {students} have identical code." if same else f"No pair stands out among {students}."
        if np.isinf(self.evidence.unusual):
            verb = "are" if count > 1 else "is"
            return f"{number_of(count, 'pair')} of {students} {verb} alike{alike}: too few to say what is usual."
        return f"{number_of(count, 'pair')} of {students} stand{'s' * (count == 1)} out{alike}."

    @property
    def advice(self) -> str:
        """Meaning of the answer, and the next step."""
        if self.pairs:
            return (
                "Read both side by side, and talk to both: a pair has more in common than is usual in this course. "
                "That does not show who wrote it, who knew, or whether it was allowed."
            )
        if self.identical:
            return "Equal code of a few lines may be chance: read it, and ask; no other pair stands out."
        return "No two share more than is usual in this course; a copied exercise of some ten lines can still hide."

    def lines(self) -> Iterator[str]:
        """Yield the answer and what to do, then a line for each group, pair and cluster."""
        yield self.answer
        yield self.advice
        for group in self.identical:
            yield f"identical: {_named(group)}"
        for pair in self.pairs:
            yield f"{self.name(pair.first)} and {self.name(pair.second)}: {pair.reason}"
        if self.further:
            yield f"and {number_of(self.further, 'more pair')}"
        for cluster in self.clusters:
            if len(cluster) > 2:  # noqa: PLR2004  two are a pair, which has its line already
                yield f"{len(cluster)} belong together: {_named(map(self.name, cluster))}"

    def not_compared(self) -> Iterator[str]:
        """Yield what was not compared, a sentence for each student."""
        empty = set(map(attrgetter("label"), self.empty))
        for submission in self.read:
            parts = list(map(str, submission.unread[:NAMED]))
            if len(submission.unread) > NAMED:
                parts.append(f"{len(submission.unread) - NAMED:,} more")
            counts = counts_by_reason(submission.no_code)
            # by the label: the work of an earlier course may be empty where that of this one is not
            nothing = "nothing that can be compared" * (submission.label in empty)
            if parts or nothing:
                yield f"{submission.label}: {nothing or 'not compared'}: {'; '.join(parts) or counts or 'no code'}"

    def remarks(self) -> Iterator[str]:
        """Yield what was left out or compared with a reserve, a sentence each."""
        for student in self.unchanged[:NAMED]:
            yield f"{student}: only code that was handed out"
        broken = []
        for submission, program in zip(self.submissions, self.programs, strict=True):
            for text in program.texts:
                if text.language and LANGUAGES[text.language].syntax and not parses(text.text, text.language):
                    broken.append(f"{submission.student}: {text.path}: does not parse as {text.language}; compared")
        yield from broken[:NAMED]
        if len(broken) > NAMED:
            yield f"and {number_of(len(broken) - NAMED, 'more file')} that no parser takes; compared"

    def describe(self) -> Report:
        """Return the pairs as a report, one row each; `cluster` is the number of their cluster, from 1."""
        cluster_of: dict[int, int] = {}
        for number, cluster in enumerate(self.clusters, 1):
            cluster_of |= dict.fromkeys(cluster, number)
        keys = list(map(attrgetter("title"), PAIR_COLUMNS))
        rows, pairs = [], []
        for pair in self.pairs:
            numbers = np.round([pair.evidence, pair.share, pair.first_share, pair.second_share], 4).tolist()
            first = self.matched_lines(pair.first, map(attrgetter("first"), pair.runs))
            second = self.matched_lines(pair.second, map(attrgetter("second"), pair.runs))
            names = self.name(pair.first), self.name(pair.second)
            row = Row((*names, *numbers, first, second, cluster_of[pair.first], pair.reason))
            rows.append(row)
            pairs.append(dict(zip(keys, row.cells, strict=True)))
        return Report(
            title="Which submissions share more than the others do?",
            statement=self.answer,
            tables=(Table("pairs", title="Pairs", columns=PAIR_COLUMNS, rows=tuple(rows)),),
            data={
                "answer": self.answer,
                "advice": self.advice,
                "students": list(map(attrgetter("label"), self.submissions)),
                "identical": list(map(list, self.identical)),
                "not_compared": list(self.not_compared()),
                "remarks": list(self.remarks()),
                "pairs": pairs,
                "clusters": [list(map(self.name, cluster)) for cluster in self.clusters],
            },
        )

    def matched_lines(self, number: int, runs: Iterable[Sequence[StatementPlace]]) -> str:
        """Return the lines of the matching statements of a submission, by file where there are several."""
        program = self.programs[number]
        ranges: dict[str, list[LineRange]] = defaultdict(list)
        for place in chain.from_iterable(runs):
            text = program.texts[place.text]
            ranges[text.path].append(statement_lines(text, place))
        lines = []
        for path, parts in sorted(ranges.items()):
            several = len(set(map(attrgetter("path"), program.texts))) > 1
            lines.append(f"{path}: " * several + " ".join(map(str, merge_lines(parts))))
        return "; ".join(lines)


def statement_lines(text: SourceText, place: StatementPlace) -> LineRange:
    """Return the lines of a statement in its file."""
    # the last character of the statement, not the first one behind it, which may be on the next line
    places = np.array([place.statement.start, max(place.statement.start, place.statement.stop - 1)])
    first, last = (Source.of(text.text).places(places)[0] + text.first_line - 1).tolist()
    return LineRange(first, last)


def compare_submissions(
    submissions: Sequence[Submission],
    *,
    earlier: Sequence[Submission] = (),
    template: Sequence[SourceText] = (),
) -> Comparison:
    """Compare all submissions with one another, and with earlier ones.

    Args:
        submissions: of the course.
        earlier: of earlier courses; they are not compared with one another.
        template: code that was handed out: it is no evidence.

    Raises:
        DataError: there are more than `MOST_SUBMISSIONS`.
    """
    read = (*submissions, *earlier)
    if len(read) > MOST_SUBMISSIONS:
        raise DataError(f"received {len(read):,} submissions, expected at most {MOST_SUBMISSIONS:,}: part the course")
    template_texts = frozenset(map(unspaced, template))
    by_template: dict[bool, list[Submission]] = {False: [], True: []}
    for submission in read:
        if submission.files:
            by_template[template_texts.issuperset(map(unspaced, submission.files))].append(submission)
    with_code, unchanged = by_template[False], by_template[True]
    # with the template, so that names that it calls count as those of a library too
    *every, program_of_template = programs_of([*map(attrgetter("files"), with_code), template])
    handed_out = program_of_template.features.codes
    groups: dict[str, list[int]] = defaultdict(list)
    for number, program in enumerate(every):
        groups[program.plain].append(number)
    empty = [*filterfalse(attrgetter("files"), read), *map(with_code.__getitem__, groups.pop("", ()))]
    # copies of one text are one submission: they are listed as identical, and would hide what is unusual
    kept = list(map(itemgetter(0), groups.values()))
    distinct = list(map(with_code.__getitem__, kept))
    programs = list(map(every.__getitem__, kept))
    evidence = weigh_evidence(distinct, programs, handed_out)
    order = _ranked(evidence, evidence.standing_out)
    pairs = []
    for first, second in order[:MOST_PAIRS].tolist():
        pairs.append(_pair(first, second, distinct, programs=programs, evidence=evidence))
    return Comparison(
        submissions=tuple(distinct),
        programs=tuple(programs),
        identical=tuple(_identical(with_code, groups.values())),
        empty=tuple(sorted(empty, key=_student)),
        unchanged=tuple(sorted(map(_student, unchanged))),
        read=read,
        evidence=evidence,
        pairs=tuple(pairs),
        further=max(0, len(order) - MOST_PAIRS),
        template=frozenset(handed_out.tolist()),
    )


def _identical(submissions: Sequence[Submission], groups: Iterable[Sequence[int]]) -> list[tuple[str, ...]]:
    """Return the students of each group of identical texts of this course, the largest groups first."""
    identical = []
    for group in groups:
        members = list(map(submissions.__getitem__, group))
        if len(set(map(_student, members))) > 1 and not all(map(attrgetter("is_earlier"), members)):
            identical.append(tuple(dict.fromkeys(map(attrgetter("label"), members))))
    return sorted(identical, key=len, reverse=True)


def _ranked(evidence: SharedEvidence, outstanding: NDArray[np.bool_]) -> NDArray[np.int64]:
    first, second = np.nonzero(outstanding)
    # equal scores keep the order of the students, so the order of the files changes nothing
    values = np.where(np.isinf(evidence.unusual), evidence.shares, evidence.scores)[first, second]
    order = np.lexsort((second, first, -values))
    return np.stack([first[order], second[order]], axis=1)


def _pair(
    first: int,
    second: int,
    submissions: Sequence[Submission],
    *,
    programs: Sequence[Program],
    evidence: SharedEvidence,
) -> StudentPair:
    left, right = programs[first], programs[second]
    runs = runs_of(left, right, evidence.weight_of)
    matched = sum(map(len, map(attrgetter("first"), runs)))
    shares = matched / max(1, left.features.size), matched / max(1, right.features.size)
    names = renamed(runs)
    shared = np.intersect1d(left.features.codes, right.features.codes)
    # of what both share whole statements alone: forms and links are features, too, and no reader sees them
    shared = np.intersect1d(shared, np.array([statement.code for statement in chain(*left.statements)], np.uint64))
    # ln n is the largest weight: no third submission has the statement
    alone = int((evidence.weight_of(shared) >= np.log(len(submissions)) - 1e-6).sum())
    reasons = []
    times = float(evidence.scores[first, second] / evidence.unusual)
    if np.isinf(evidence.unusual):
        times = np.nan
        reasons.append(f"{evidence.shares[first, second]:.0%} alike")
        reasons.append(f"fewer than {FEWEST} submissions do not show what is usual")
    else:
        reasons.append(f"{times:.1f} times the threshold")
        if alone:
            reasons.append(f"{number_of(alone, 'statement')} that nobody else has")
    reasons.append(f"{shares[0]:.0%} of the first and {shares[1]:.0%} of the second match")
    if names:
        shown = list(map(" → ".join, islice(names.items(), 3)))
        reasons.append(f"{number_of(len(names), 'name')} replaced ({listed(shown)})")
    return StudentPair(
        first=first,
        second=second,
        evidence=times,
        share=float(evidence.shares[first, second]),
        first_share=shares[0],
        second_share=shares[1],
        runs=tuple(runs),
        names=names,
        reason=", ".join(reasons),
    )


def _named(students: Iterable[str]) -> str:
    names = list(students)
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
