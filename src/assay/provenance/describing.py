"""One trace as a report, and traced files as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from assay.provenance.findings import LineRange, SourceFinding, TracedFile, merged_lines
from assay.provenance.licence_gate import Denial, Judgement
from assay.provenance.tracing import Trace
from assay.provenance.wording import (
    confidence_text,
    extent,
    finding_lines,
    gate_sentences,
    lines_text,
    source_of,
    trace_verdict,
)
from assay.reports import Annotation, Cell, Column, Report, Row, Table, number_of
from assay.types import Match

MATCH_COLUMNS = (
    Column("document"),
    Column("contained", "count"),
    Column("confidence", "count"),
    Column("by"),
    Column("lines", "count"),
    Column("licence"),
    Column("author"),
    Column("repository"),
    Column("places", "count"),
)

FINDING_COLUMNS = (Column("place", "name"), Column("matched"), Column("source"))


def describe_trace(trace: Trace) -> Report:
    """Return the report of one traced text: a table of its matches, or the reason why there is none."""
    matches = number_of(len(trace.matches), "document")
    return Report(
        title="Which files of the corpus does this code come from?",
        statement=f"no match: {trace.why_none}" if trace.why_none else f"The text matches {matches} of the index.",
        tables=(_match_table(trace),) if trace.matches else (),
        notes=trace.notes,
        data=_trace_data(trace),
        kind="provenance report",
        details=() if trace.matches else tuple(evidence_lines(trace)),
    )


def evidence_lines(trace: Trace) -> list[str]:
    """Return the counts of the fingerprints, a sentence for each channel: the basis of an answer without a match."""
    return [
        channel.too_short
        or f"{channel.form}: {channel.fingerprints} fingerprints, {channel.template} of them in templates, "
        f"{channel.common} common, {channel.too_common} in too many documents to be looked up, {channel.absent} in "
        f"no document; {channel.looked_up} looked up, {channel.documents} documents share one"
        for channel in trace.evidence
    ]


def place_of(match: Match) -> str:
    """Return path, lines and name of the matched document."""
    lines = lines_text(merged_lines(LineRange(span.document_first, span.document_last) for span in match.spans))
    return match.path + (f":{lines}" if lines else "") + (f" ({match.name})" if match.name else "")


def files_data(files: Sequence[TracedFile], top: int, judgement: Judgement | None = None) -> dict[str, object]:
    """Return traced files as JSON has them.

    Args:
        files: with their findings.
        top: findings of each file at most; denied ones are never left out.
        judgement: of the licence gate; None without rules.
    """
    denials = denials_by_finding(judgement)
    return {
        "verdict": trace_verdict(files),
        "gate": None if judgement is None else _gate_data(judgement),
        "files": [
            {
                "path": file.file.path,
                "language": file.language,
                "parts": len(file.parts),
                "findings": [
                    finding_data(finding, denials.get(id(finding))) for finding in shown_findings(file, top, judgement)
                ],
                "all_findings": len(file.findings),
                "why_none": file.why_none,
                "too_short": file.too_short,
                "notes": list(file.notes),
                "evidence": _evidence_data(file.parts[-1][1]) if file.parts else [],
            }
            for file in files
        ],
    }


def describe_files(files: Sequence[TracedFile], top: int, judgement: Judgement | None = None) -> Report:
    """Return the report of traced files: a row and an annotation for each finding; arguments as `files_data`."""
    denials = denials_by_finding(judgement)
    rows, annotations = [], []
    for file in files:
        for finding in shown_findings(file, top, judgement):
            denial = denials.get(id(finding))
            place = finding.places[0] if denial is None else denial.place
            source = source_of(finding, place)
            fails = denial is not None and denial.excuse is None
            rows.append(Row((f"{finding.path}:{finding_lines(finding)}", extent(finding), source)))
            last = finding.lines[-1].last if finding.lines else finding.first_line
            annotations.append(
                Annotation(
                    f"{extent(finding)} {source}",
                    finding.path,
                    finding.first_line,
                    last,
                    "error" if fails else "notice",
                )
            )
    return Report(
        title="Which files of the corpus does this code come from?",
        statement=trace_verdict(files),
        tables=(Table("findings", "Findings", FINDING_COLUMNS, tuple(rows)),) if rows else (),
        notes=tuple(gate_sentences(judgement)) if judgement is not None else (),
        data=files_data(files, top, judgement),
        kind="provenance report",
        annotations=tuple(annotations),
    )


def shown_findings(file: TracedFile, top: int, judgement: Judgement | None) -> list[SourceFinding]:
    """Return the first findings of a file, and all that the gate denies."""
    denials = denials_by_finding(judgement)
    return [finding for at, finding in enumerate(file.findings) if at < top or id(finding) in denials]


def denials_by_finding(judgement: Judgement | None) -> Mapping[int, Denial]:
    """Return the denials by the identity of their finding."""
    return {} if judgement is None else {id(denial.finding): denial for denial in judgement.denials}


def finding_data(finding: SourceFinding, denial: Denial | None = None) -> dict[str, object]:
    """Return one finding as JSON has it; `denial` is that of the licence gate, if there is one."""
    best = finding.best
    return {
        "lines": [str(lines) for lines in finding.lines],
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
        "denied": None if denial is None else denial.place.origin.licence,
        "accepted": None if denial is None else denial.excuse,
        "places": [
            {"document_id": place.document_id, "name": place.name, "lines": [str(lines) for lines in place.lines]}
            | asdict(place.origin)
            for place in finding.places
        ],
    }


def _match_table(trace: Trace) -> Table:
    rows = tuple(Row(tuple(_match_cells(match))) for match in trace.matches)
    return Table(name="text-1", title="Matches", columns=MATCH_COLUMNS, rows=rows)


def _match_cells(match: Match) -> list[Cell]:
    lines = merged_lines(LineRange(span.query_first, span.query_last) for span in match.spans)
    contained = f"{match.containment:.0%}" if match.channel != "vector" else f"cosine {match.cosine:.2f}"
    return [
        place_of(match),
        contained,
        confidence_text(match),
        match.channel,
        lines_text(lines),
        match.licence,
        match.author or "",
        match.repository or match.url or "",
        match.origins,
    ]


def _trace_data(trace: Trace) -> dict[str, object]:
    return {
        "language": trace.language,
        "method": trace.method,
        "matches": [
            {key: value for key, value in asdict(match).items() if key != "origins"}
            | {"origins": [asdict(origin) for origin in trace.origins[match.document_id]]}
            for match in trace.matches
        ],
        "why_none": trace.why_none,
        "too_short": trace.too_short,
        "units": trace.units,
        "candidates": trace.candidates,
        "below": trace.below,
        "evidence": _evidence_data(trace),
        "notes": list(trace.notes),
        "calibrated": trace.calibrated,
    }


def _evidence_data(trace: Trace) -> list[dict[str, object]]:
    return [{**asdict(channel), "distinctive": channel.distinctive} for channel in trace.evidence]


def _gate_data(judgement: Judgement) -> dict[str, object]:
    return {
        "failures": len(judgement.failures),
        "accepted": len(judgement.denials) - len(judgement.failures),
        "judged_parts": judgement.parts,
        "weak": judgement.weak,
        "uncalibrated": judgement.uncalibrated,
        "expected_false_alarms": judgement.false_alarms,
        "sentences": gate_sentences(judgement),
    }
