"""Lines of files by who wrote them according to the records of tools. A line without a record is nobody's."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, Literal

from assay.authorship.records import AuthorKind
from assay.reports import (
    Annotation,
    Answer,
    Column,
    Report,
    Table,
    describe,
    file_location,
    number_of,
    sarif_log,
    sarif_result,
)

LineState = Literal["contradicting", "agent", "mixed", "person", "unrecorded"]
SHOWN, SHOWN_DIGITS = 50, 12
"""Rows of a table, and digits of a commit in it."""

NO_PERSON = "A line without a record is unrecorded, not a person's: records do not survive every rebase."


@dataclass(frozen=True, slots=True)
class RecordedRange:
    """Consecutive lines with the same records.

    Attributes:
        first: from 1.
        last: included.
        state: who wrote them.
        commit: that changed them last; "" where nothing is recorded, or where several did.
        records: that say so.
        judged: number of lines that it is about, where others lie between; None for all.
    """

    first: int
    last: int
    state: LineState
    commit: str
    records: tuple[str, ...] = ()
    judged: int | None = None

    @property
    def count(self) -> int:
        """Number of lines that it is about."""
        if self.judged is not None:
            return self.judged
        return self.last - self.first + 1

    def __str__(self) -> str:
        return "-".join(dict.fromkeys((f"{self.first}", f"{self.last}")))


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """The lines of one file, in order."""

    path: str
    ranges: tuple[RecordedRange, ...]


@dataclass(frozen=True, slots=True)
class RecordedLines:
    """The lines of files by who wrote them.

    Attributes:
        files: as the revision has them.
        remarks: records that were not read, and why.
        denied: states that a rule denies.
    """

    files: tuple[RecordedFile, ...]
    remarks: tuple[str, ...] = ()
    denied: frozenset[LineState] = frozenset()

    @property
    def counts(self) -> Counter[LineState]:
        """Number of lines of each state."""
        counts: Counter[LineState] = Counter()
        for _, lines in self.in_state():
            counts[lines.state] += lines.count
        return counts

    @property
    def failures(self) -> list[tuple[str, RecordedRange]]:
        """Path and lines that a rule denies."""
        if not self.denied:
            return []
        return list(self.in_state(*self.denied))

    def level(self, lines: RecordedRange) -> Literal["error", "warning", "notice"]:
        """Return how a build log marks lines."""
        if lines.state in self.denied:
            return "error"
        if lines.state == "contradicting":
            return "warning"
        return "notice"

    def in_state(self, *states: LineState) -> Iterator[tuple[str, RecordedRange]]:
        """Yield path and lines, all or those of some states."""
        for file in self.files:
            yield from ((file.path, lines) for lines in file.ranges if not states or lines.state in states)


def state_of(writers: Collection[AuthorKind]) -> LineState:
    """Return who wrote lines by all that is recorded of them; two records that disagree decide nothing."""
    if {"agent", "person"} <= set(writers):
        return "contradicting"
    states: tuple[AuthorKind, ...] = ("agent", "mixed", "person")
    return next(filter(writers.__contains__, states), "unrecorded")


def joined(ranges: Iterable[RecordedRange], *, chosen: bool = False) -> tuple[RecordedRange, ...]:
    """Return ranges in order, with neighbours of the same records as one.

    Of chosen lines the next one is a neighbour wherever it lies, and whatever commit it is of: one declaration is one
    range.
    """
    merged: list[RecordedRange] = []
    for lines in sorted(ranges, key=attrgetter("first")):
        before = merged[-1] if merged else None
        if before and chosen and (before.state, before.records) == (lines.state, lines.records):
            commit = lines.commit * (before.commit == lines.commit)
            merged[-1] = replace(before, last=lines.last, commit=commit, judged=before.count + lines.count)
        elif (
            # all but the place is equal: compared as a whole, so a new field cannot be forgotten
            before and before.last + 1 == lines.first and replace(lines, first=before.first, last=before.last) == before
        ):
            merged[-1] = replace(before, last=lines.last)
        else:
            merged.append(lines)
    return tuple(merged)


@describe.register
def _(recorded: RecordedLines) -> Report:
    """Return the report on recorded lines."""
    shown = list(recorded.in_state("contradicting", "agent", "mixed", "person", *recorded.denied))
    shown.sort(key=lambda entry: (entry[1].state not in recorded.denied, entry[1].state != "contradicting"))
    columns = (
        Column("lines", "name", get=lambda entry: f"{entry[0]}:{entry[1]}"),
        Column("written by", get=lambda entry: entry[1].state),
        Column("records", get=lambda entry: "; ".join(entry[1].records)),
        Column("commit", get=lambda entry: entry[1].commit[:SHOWN_DIGITS]),
    )
    by_file = (
        Column("file", "name", get=lambda file: file.path),
        *(Column(state, "count", get=partial(_lines_in, state)) for state in _NAMES),
    )
    caption = (f"The first {SHOWN} of {len(shown):,}; all are in the JSON.",) * (len(shown) > SHOWN)
    remarks = recorded.remarks * (not shown)
    tables = (
        Table.of(
            "lines", title="Recorded lines", items=shown[:SHOWN], columns=columns, caption=(*caption, *recorded.remarks)
        ),
        Table.of(
            "files",
            title="Lines by file",
            items=recorded.files[:SHOWN],
            columns=by_file,
            caption=remarks,
        ),
    )
    return Report(
        title="Who wrote these lines, by the records of tools?",
        kind="authorship",
        statement="",
        answer=_answer(recorded),
        on_first_screen=1,
        details=(NO_PERSON,),
        tables=tuple(filter(attrgetter("rows"), tables)),
        data={
            "lines": {state: recorded.counts[state] for state in _NAMES},
            "files": list(map(asdict, recorded.files)),
            "remarks": list(recorded.remarks),
        },
        annotations=tuple(
            Annotation(
                message=_sentence(lines), path=path, line=lines.first, last_line=lines.last, level=recorded.level(lines)
            )
            for path, lines in shown
        ),
    )


_NAMES: tuple[LineState, ...] = ("agent", "mixed", "person", "unrecorded", "contradicting")


def _lines_in(state: LineState, file: RecordedFile) -> int:
    return sum(lines.count for lines in file.ranges if lines.state == state)


def _answer(recorded: RecordedLines) -> Answer:
    counts = recorded.counts
    lines, by_agent = number_of(counts.total(), "line"), counts["agent"] + counts["mixed"]
    measured = f"{by_agent:,} of {lines} by an agent or with one, {counts['unrecorded']:,} unrecorded."
    if counts["contradicting"]:
        path, place = next(recorded.in_state("contradicting"))
        return Answer(
            verdict="Records disagree",
            because="Of some lines one record says that an agent wrote them, and another one that a person did.",
            measured=f"{counts['contradicting']:,} of {lines} contradicting, {counts['unrecorded']:,} unrecorded.",
            next_step=f"ask who wrote {path}:{place}",
        )
    if counts["agent"] + counts["mixed"]:
        return Answer("A model took part", "Tools recorded it when the lines were written.", measured)
    if counts["person"]:
        return Answer(
            "Recorded as a person's", "No record names an agent.", f"{counts['person']:,} of {lines} by a person."
        )
    return Answer(
        verdict="No record",
        because="No tool recorded who wrote these lines, which does not say that a person did.",
        measured=measured,
        next_step="git fetch origin refs/notes/ai:refs/notes/ai, where git-ai is used; else ask the authors",
    )


def _sentence(lines: RecordedRange) -> str:
    what = {"contradicting": "records disagree", "unrecorded": "no record of who wrote these lines"}
    return ": ".join(filter(None, [what.get(lines.state, f"written by {lines.state}"), "; ".join(lines.records)]))


_RULES = [
    {"id": "recorded-lines", "shortDescription": {"text": "A tool recorded who wrote these lines"}},
    {"id": "contradicting-records", "shortDescription": {"text": "Two records disagree on who wrote these lines"}},
    {"id": "unrecorded-lines", "shortDescription": {"text": "Nothing is recorded of who wrote these lines"}},
]


def recorded_sarif(recorded: RecordedLines, *states: LineState) -> dict[str, Any]:
    """Return one run with a result for each range of lines, or of those in some states; contradictions are warnings."""
    results = []
    for path, lines in recorded.in_state(*states):
        # SARIF has "note" where a build log has "notice", and "none" for what is no problem (SARIF 2.1.0, 3.27.10)
        rule = {"contradicting": "contradicting-records", "unrecorded": "unrecorded-lines"}.get(lines.state)
        place = [file_location(path, lines.first, lines.last)]
        about = {"writer": lines.state, "commit": lines.commit, "lines": lines.count}
        level = recorded.level(lines).replace("notice", "none" if lines.state == "unrecorded" else "note")
        results.append(
            sarif_result(rule or "recorded-lines", _sentence(lines), level, locations=place, properties=about)
        )
    return sarif_log(_RULES, results)
