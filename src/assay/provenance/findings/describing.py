"""Findings in words, as a report and as JSON. The answer comes first: per file the copy that weighs most.

    GPL-2.0-or-later: 23 of 27 lines of shift_block, renamed, from mutagen

Only a copy (`copied_spans`) is a headline. What is too weak to be one is listed below as similar code.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain
from operator import attrgetter
from typing import Any

from assay.corpora import LineRange, Unread, lines_text, short_name
from assay.licences import UNKNOWN_LICENCE
from assay.provenance.findings.finding import Place, SourceFinding, TracedFile
from assay.provenance.findings.gate import Denial, Judgement, denials_by_finding
from assay.provenance.findings.identifiers import place_swhid
from assay.provenance.search import confidence_text
from assay.reports import Annotation, Column, Level, Report, Row, Table, number_of

FINDING_COLUMNS = (Column("place", "name"), Column("finding"), Column("source"))

TRACE_VERSION = "1.2"
"""Of the JSON of `assay trace`; see `assay.provenance.findings.schema`."""

MOST_HEADLINES = 10
"""Files whose copies a terminal shows without -v, and places of similar code in a single file."""

MOST_LICENCES = 4
"""Licences that a line names."""

_TITLES = {
    "failing": "Copies under a denied licence",
    "undecided": "Copies under an unknown licence",
    "passing": "Copies",
    "accepted": "Accepted",
    "similar": "Similar code",
}
"""Sort of findings → title of its table."""


def headline(finding: SourceFinding, place: Place | None = None) -> str:
    """Return a finding in one line: licence, how much of which part, and where it is from."""
    place = place or finding.places[0]
    origin, best = place.origin, finding.best
    part = best.part.name or ("the file" if best.part.kind == "file" else "the code outside of functions")
    source = short_name(origin.source, origin.repository)
    licence = _licence(origin.licence)
    if best.match.channel == "vector":
        return f"{licence}: {part} resembles code from {source}"
    if best.match.channel == "tokens":
        part += ", renamed"
    return f"{licence}: {best.matched:,} of {number_of(best.total, 'line')} of {part}, from {source}"


def next_step(finding: SourceFinding) -> str:
    """Return what to do about a copy."""
    origin = finding.places[0].origin
    if finding.conflict:
        return f"it occurs under {' and '.join(finding.conflict)}: find out which one holds"
    if origin.licence == UNKNOWN_LICENCE:
        return "find out its licence"
    return "keep its licence and notice, or write the code anew"


def place_details(finding: SourceFinding, place: Place | None = None) -> str:
    """Return the place of the source, its author and the confidence."""
    return "; ".join(filter(None, _details(finding, place or finding.places[0])))


def _details(finding: SourceFinding, place: Place) -> Iterator[str | None]:
    yield place_text(place)
    if place.origin.author:
        yield f"by {place.origin.author}"
    yield place_swhid(place, short=True)
    if finding.best.match.channel == "vector":
        yield f"no common line, cosine {finding.best.match.cosine:.2f}"
    # a rate near 0 says that a match is no chance, and not that it is enough for a copy: a weak match shows none
    if finding.is_copy:
        yield f"confidence {confidence_text(finding.best.match)}"
    if len(finding.places) > 1:
        yield f"and {number_of(len(finding.places) - 1, 'more place')}"
    declared = place.origin.declared
    if declared and place.origin.licence not in {declared, UNKNOWN_LICENCE}:
        yield f"conflict: its package declares {declared}"
    if finding.conflict:
        yield f"conflict: this code occurs under {' and '.join(finding.conflict)}"


def finding_line(finding: SourceFinding, denial: Denial | None = None) -> str:
    """Return a finding as one line, `path:line: …`, with nothing left out but further places."""
    words, details = _words(finding, denial)
    return f"{finding.path}:{finding.first_line}: {words} ({details})"


def _words(finding: SourceFinding, denial: Denial | None) -> tuple[str, str]:
    """Return the headline of a finding behind the decision on it, and the details of its place."""
    place = _place(finding, denial)
    return f"{_lead(finding, denial)}{headline(finding, place)}", place_details(finding, place)


def place_text(place: Place) -> str:
    """Return repository or corpus, path, lines and function of a place."""
    code = f"{_path(place)} ({place.name})" if place.name else _path(place)
    return f"{code} in {place.origin.repository or place.origin.source}"


def trace_verdict(files: Sequence[TracedFile], unread: Sequence[Unread] = ()) -> str:
    """Return the answer in one sentence: the copies, and how many files could hold code and were not judged."""
    verdict = _verdict(files)
    return f"{verdict}; {number_of(len(unread), 'file')} not judged" if unread else verdict


def _verdict(files: Sequence[TracedFile]) -> str:
    """Return the copy of one file, or the files that have copies and their licences."""
    findings = list(chain.from_iterable(map(attrgetter("findings"), files)))
    copies = list(filter(attrgetter("is_copy"), findings))
    if not findings:
        return _no_source(files)
    if not copies:
        return f"no copy found; similar code in {number_of(len(findings), 'source')}"
    licences = chain.from_iterable(map(attrgetter("licences"), copies))
    names = " and ".join(dict.fromkeys(map(_licence, licences)))
    if len(files) > 1:
        return f"copies in {sum(map(_has_copy, files))} of {number_of(len(files), 'file')}: {names}"
    if len(copies) == 1:
        return headline(copies[0])
    return f"{headline(copies[0])}, and {number_of(len(copies) - 1, 'more source')}: {names}"


def _no_source(files: Sequence[TracedFile]) -> str:
    if len(files) == 1:
        return f"no source: {files[0].why_none}"
    short = len(list(filter(attrgetter("too_short"), files)))
    return f"no source; {number_of(short, 'file')} too short to be judged" if short else "no source"


def answer_lines(
    files: Sequence[TracedFile], judgement: Judgement | None = None, unread: Sequence[Unread] = ()
) -> Iterator[str]:
    """Yield the first screen: a headline for each file with a copy and what to do next, then similar code."""
    yield trace_verdict(files, unread)
    denials, sorts = denials_by_finding(judgement), sorted_findings(files, judgement)
    # with rules the copies that pass are folded, as long as something fails or is undecided
    shown = [*sorts.failing, *sorts.undecided] or sorts.passing
    first: dict[str, SourceFinding] = {}
    for finding in shown:
        first.setdefault(finding.path, finding)
    for finding in list(first.values())[:MOST_HEADLINES]:
        yield from _headlines(finding, denials.get(id(finding)), of_several=len(files) > 1)
    if len(first) > MOST_HEADLINES:
        yield f"\n{number_of(len(first) - MOST_HEADLINES, 'more file')} with copies; -v lists them"
    if len(files) > 1 and shown:
        yield f"\nnext: {next_step(shown[0])}"
    if len(files) > 1:
        # copies that are shown are not counted among the folded ones
        folded = replace(sorts, passing=()) if shown is sorts.passing else sorts
        if folded.folded:
            yield f"\n{folded.folded}"
    elif not shown and sorts.similar:
        # beside a copy the weaker findings of the same file say nothing
        yield "\nsimilar code:"
        for finding in sorts.similar[:MOST_HEADLINES]:
            yield f"    {finding.path}:{_lines(finding)}: {headline(finding)}"
    if any(map(attrgetter("findings"), files)):
        yield "\n-v shows every finding with its place, author and confidence"


def _headlines(finding: SourceFinding, denial: Denial | None, *, of_several: bool) -> Iterator[str]:
    if of_several:
        place, words = short_row(finding, denial).cells
        yield f"\n{place}\n    {_lead(finding, denial)}{words}"
        return
    if denial is not None:
        yield f"    {_lead(finding, denial)}{_licence(denial.place.origin.licence)}"
    yield f"    next: {next_step(finding)}"
    yield f"    compare {finding.path}:{_lines(finding)} with {_path(finding.places[0])}"


def shown_findings(file: TracedFile, top: int, judgement: Judgement | None) -> list[SourceFinding]:
    """Return the first findings of a file, and all that the gate denies."""
    denials = denials_by_finding(judgement)
    return [finding for at, finding in enumerate(file.findings) if at < top or id(finding) in denials]


def describe_files(
    files: Sequence[TracedFile], top: int, judgement: Judgement | None = None, *, unread: Sequence[Unread] = ()
) -> Report:
    """Return the report of traced files: a row for each finding, and an annotation for each copy.

    Args:
        files: with their findings.
        top: findings of each file at most; denied ones are never left out.
        judgement: of the licence gate; None without rules.
        unread: files that could hold code and were not judged.
    """
    denials = denials_by_finding(judgement)
    annotations, data = [], []
    for file in files:
        shown = shown_findings(file, top, judgement)
        data.append(
            {
                "path": file.file.path,
                "language": file.language,
                "parts": len(file.parts),
                "findings": [finding_data(finding, denials.get(id(finding))) for finding in shown],
                "all_findings": len(file.findings),
                "why_none": file.why_none,
                "too_short": file.too_short,
                "notes": list(file.notes),
                # the whole file is its last part
                "evidence": file.parts[-1][1].evidence_data() if file.parts else [],
            }
        )
    sorts = sorted_findings(files, judgement)
    # the most severe first: a workflow shows only so many
    levels: dict[Level, tuple[SourceFinding, ...]] = {
        "error": sorts.failing,
        "warning": sorts.undecided,
        "notice": (*sorts.accepted, *sorts.passing),
    }
    for level, copies in levels.items():
        for finding in copies:
            annotations.append(
                Annotation(
                    message="; ".join(_words(finding, denials.get(id(finding)))),
                    path=finding.path,
                    line=finding.first_line,
                    last_line=finding.lines[-1].last if finding.lines else finding.first_line,
                    level=level,
                )
            )
    verdict = trace_verdict(files, unread)
    return Report(
        title="Which files of the corpus does this code come from?",
        statement=verdict,
        tables=finding_tables(files, judgement),
        notes=tuple(gate_sentences(judgement)) if judgement is not None else (),
        data={
            "schema_version": TRACE_VERSION,
            "verdict": verdict,
            "gate": None if judgement is None else _gate_data(judgement),
            "files": data,
            "not_judged": [{"path": file.path, "reason": file.reason} for file in unread],
        },
        kind="provenance report",
        annotations=tuple(annotations),
    )


@dataclass(frozen=True, slots=True)
class SortedFindings:
    """The findings of a run by what is to be done about them, each sort in the order of the files.

    Attributes:
        failing: under a denied licence.
        undecided: copies under an unknown licence, where a rule leaves it open.
        accepted: of both, those with an excuse.
        passing: copies that no rule denies; all of them without rules.
        similar: what is too weak for a copy.
    """

    failing: tuple[SourceFinding, ...]
    undecided: tuple[SourceFinding, ...]
    accepted: tuple[SourceFinding, ...]
    passing: tuple[SourceFinding, ...]
    similar: tuple[SourceFinding, ...]

    @property
    def folded(self) -> str:
        """The findings that a first screen leaves out, in one sentence; "" for none."""
        counts = Counter(_licence(finding.places[0].origin.licence) for finding in self.passing)
        licences = ", ".join(f"{licence} {count:,}" for licence, count in counts.most_common(MOST_LICENCES))
        if len(counts) > MOST_LICENCES:
            licences += f" and {number_of(len(counts) - MOST_LICENCES, 'other licence')}"
        parts = []
        if counts:
            copies, verb = ("copies", "pass") if len(self.passing) > 1 else ("copy", "passes")
            parts.append(f"{len(self.passing):,} {copies} that {verb} ({licences})")
        if self.accepted:
            parts.append(f"{len(self.accepted):,} accepted")
        if self.similar:
            parts.append(f"similar code in {number_of(len(self.similar), 'place')}")
        return f"Not shown: {', '.join(parts)}; -v lists them." if parts else ""


def sorted_findings(files: Sequence[TracedFile], judgement: Judgement | None = None) -> SortedFindings:
    """Sort the findings of files by what is to be done about them."""
    sorts: dict[str, list[SourceFinding]] = {field.name: [] for field in fields(SortedFindings)}
    judged = {}
    if judgement is not None:
        for sort, denials in (("failing", judgement.denials), ("undecided", judgement.undecided)):
            for denial in denials:
                judged[id(denial.finding)] = sort if denial.excuse is None else "accepted"
    for finding in chain.from_iterable(map(attrgetter("findings"), files)):
        sorts[judged.get(id(finding), "passing" if finding.is_copy else "similar")].append(finding)
    return SortedFindings(**{sort: tuple(findings) for sort, findings in sorts.items()})


def finding_tables(files: Sequence[TracedFile], judgement: Judgement | None = None) -> tuple[Table, ...]:
    """Return a table for each sort of findings that there is, what fails first."""
    denials, sorts = denials_by_finding(judgement), sorted_findings(files, judgement)
    tables = []
    for name, title in _TITLES.items():
        rows = [finding_row(finding, denials.get(id(finding))) for finding in getattr(sorts, name)]
        if rows:
            tables.append(Table(name, title, columns=FINDING_COLUMNS, rows=tuple(rows)))
    return tuple(tables)


def finding_row(finding: SourceFinding, denial: Denial | None = None) -> Row:
    """Return the place of a finding, the finding in words, and the details of its source."""
    return Row((f"{finding.path}:{_lines(finding)}", *_words(finding, denial)))


def short_row(finding: SourceFinding, denial: Denial | None = None) -> Row:
    """Return the place of a finding, and the finding with the place of its source."""
    place = _place(finding, denial)
    last = finding.lines[-1].last if finding.lines else finding.first_line
    lines = LineRange(finding.first_line, last)
    # the headline has the project, so the name of its archive is left out
    source = re.sub(r"^.*\.(?:whl|zip|tgz|tar\.\w+)/", "", place.origin.path)
    if place.lines:
        source += f":{place.lines[0].first}"
    return Row((f"{finding.path}:{lines}", f"{headline(finding, place)}: {source}"))


def finding_data(finding: SourceFinding, denial: Denial | None = None) -> dict[str, Any]:
    """Return one finding as JSON has it; `denial` is that of the licence gate, if there is one."""
    best = finding.best
    places = []
    for place in finding.places:
        found_at = {"document_id": place.document_id, "name": place.name, "lines": list(map(str, place.lines))}
        places.append(found_at | asdict(place.origin) | {"swhid": place_swhid(place)})
    return {
        "headline": headline(finding, _place(finding, denial)),
        "lines": list(map(str, finding.lines)),
        "first_line": finding.first_line,
        "part": best.part.kind,
        "name": best.part.name,
        "is_copy": finding.is_copy,
        "by": best.match.channel,
        "matched_lines": best.matched,
        "different_lines": best.different,
        "part_lines": best.total,
        "longest_run": best.run,
        "containment": best.match.containment,
        "similarity": best.match.similarity,
        "confidence": best.match.confidence,
        "cosine": best.match.cosine,
        "licences": list(finding.licences),
        "conflict": list(finding.conflict),
        "licence_reader": finding.licence_reader,
        "denied": None if denial is None else denial.place.origin.licence,
        "accepted": None if denial is None else denial.excuse,
        "places": places,
    }


def gate_sentences(judgement: Judgement) -> list[str]:
    """Return the result of the gate, the first sentence first."""
    failures = number_of(len(judgement.failures), "finding")
    sentence = f"{failures} under a denied licence in {number_of(judgement.parts, 'judged part')}"
    if excused := len(judgement.denials) - len(judgement.failures):
        sentence += f", {excused} accepted"
    sentences = [sentence]
    if judgement.open:
        findings = number_of(len(judgement.open), "finding")
        sentences.append(f"{findings} under an unknown licence: find it out, or pass --allow-licence unknown")
    if judgement.weak:
        weak = f"{judgement.weak:,} match" + "es" * (judgement.weak != 1)
        sentences.append(f"{weak} with a denied licence did not fail: too little evidence, or possibly chance")
    if judgement.uncalibrated:
        sentences.append("confidence not measured: copies fail, and nothing less was judged")
    if judgement.false_alarms:
        sentences.append(f"false alarms to expect: about {judgement.false_alarms:.2g} if no part were a copy")
    return [*sentences, *judgement.remarks]


def _place(finding: SourceFinding, denial: Denial | None) -> Place:
    return finding.places[0] if denial is None else denial.place


def _lead(finding: SourceFinding, denial: Denial | None) -> str:
    """Return what stands before a headline: the decision of the gate, or that the finding is no copy."""
    if denial is None:
        return "" if finding.is_copy else "similar code, "
    return "denied licence " if denial.excuse is None else f"accepted ({denial.excuse}): denied licence "


def _has_copy(file: TracedFile) -> bool:
    return any(map(attrgetter("is_copy"), file.findings))


def _lines(finding: SourceFinding) -> str:
    return lines_text(finding.lines) or str(finding.first_line)


def _path(place: Place) -> str:
    return f"{place.origin.path}:{lines_text(place.lines)}" if place.lines else place.origin.path


def _licence(licence: str) -> str:
    return "licence unknown" if licence == UNKNOWN_LICENCE else licence


def _gate_data(judgement: Judgement) -> dict[str, object]:
    return {
        "failures": len(judgement.failures),
        "accepted": len(judgement.denials) - len(judgement.failures),
        "undecided": len(judgement.open),
        "judged_parts": judgement.parts,
        "weak": judgement.weak,
        "uncalibrated": judgement.uncalibrated,
        "expected_false_alarms": judgement.false_alarms,
        "sentences": gate_sentences(judgement),
    }
