"""Traces of texts as reports."""

import math
from collections.abc import Sequence
from dataclasses import asdict

from assay.provenance.document import Origin
from assay.provenance.licence_rules import denied
from assay.provenance.texts import SourceText
from assay.provenance.tracing import Trace
from assay.reports import Cell, Column, Report, Row, Table, number_of
from assay.types import Match

TracedTexts = Sequence[tuple[SourceText, Trace]]

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


def describe_traces(traced: TracedTexts) -> Report:
    """Return the report of traced texts: one table for each text with a match; of a single text without, the reason."""
    matched = [(source, trace) for source, trace in traced if trace.matches]
    details: list[str] = []
    if len(traced) == 1 and not matched:
        source, trace = traced[0]
        statement = f"{_named(source)}: no match: {trace.why_none}"
        details = _evidence(trace)
    elif len(traced) == 1:
        statement = f"{_named(traced[0][0])} matches {number_of(len(matched[0][1].matches), 'document')} of the index."
    else:
        statement = f"{len(traced)} texts traced, {len(matched)} with a match"
    return Report(
        title="Which files of the corpus does this code come from?",
        statement=statement,
        tables=tuple(_match_table(i, source, trace) for i, (source, trace) in enumerate(matched, 1)),
        notes=tuple(dict.fromkeys(note for _, trace in traced for note in trace.notes)),
        data=[_trace_data(source, trace) for source, trace in traced],
        kind="provenance report",
        details=tuple(details),
    )


def denied_matches(traced: TracedTexts, rules: Sequence[str]) -> list[str]:
    """Return a sentence for each match that occurs somewhere under a denied licence."""
    return [
        f"{_named(source)}: {match.containment:.0%} of it occurs in {origin.path} of "
        f"{origin.repository or origin.source} under {origin.licence}"
        for source, trace in traced
        for match in trace.matches
        for origin in trace.origins[match.document_id]
        if denied(origin.licence, rules)
    ]


def _match_table(number: int, source: SourceText, trace: Trace) -> Table:
    return Table(
        name=f"text-{number}",
        title=_named(source),
        columns=MATCH_COLUMNS,
        rows=tuple(Row(tuple(_match_cells(source, match))) for match in trace.matches),
    )


def _match_cells(source: SourceText, match: Match) -> list[Cell]:
    lines = ", ".join(
        f"{span.query_first + source.first_line - 1}–{span.query_last + source.first_line - 1}" for span in match.spans
    )
    contained = f"{match.containment:.0%}" if match.channel != "vector" else f"cosine {match.cosine:.2f}"
    repository = match.repository or match.url or ""
    return [
        place_of(match),
        contained,
        confidence_text(match),
        match.channel,
        lines,
        match.licence,
        match.author or "",
        repository,
        match.origins,
    ]


def place_of(match: Match) -> str:
    """Return path, lines and name of the matched document."""
    lines = ", ".join(f"{span.document_first}–{span.document_last}" for span in match.spans)
    return match.path + (f":{lines}" if lines else "") + (f" ({match.name})" if match.name else "")


def confidence_text(match: Match) -> str:
    """Return the confidence, rounded down: .9996 is not 1."""
    return "unknown" if match.confidence is None else f"{math.floor(match.confidence * 1e4) / 1e4:.4f}"


def _evidence(trace: Trace) -> list[str]:
    return [
        channel.too_short
        or f"{channel.form}: {channel.fingerprints} fingerprints, {channel.template} of them in templates, "
        f"{channel.common} common, {channel.too_common} in too many documents to be looked up, {channel.absent} in "
        f"no document; {channel.looked_up} looked up, {channel.documents} documents share one"
        for channel in trace.evidence
    ]


def _named(source: SourceText) -> str:
    return f"{source.path}:{source.first_line} {source.name}" if source.name else source.path


def _trace_data(source: SourceText, trace: Trace) -> dict[str, object]:
    return {
        "path": source.path,
        "name": source.name,
        "first_line": source.first_line,
        "language": trace.language,
        "method": trace.method,
        "matches": [_match_data(match, trace.origins[match.document_id]) for match in trace.matches],
        "why_none": trace.why_none,
        "too_short": trace.too_short,
        "units": trace.units,
        "candidates": trace.candidates,
        "below": trace.below,
        "evidence": [{**asdict(channel), "telling": channel.distinctive} for channel in trace.evidence],
        "notes": list(trace.notes),
    }


def _match_data(match: Match, origins: Sequence[Origin]) -> dict[str, object]:
    """Return a match with all its places instead of their number."""
    return {key: value for key, value in asdict(match).items() if key != "origins"} | {
        "origins": [asdict(origin) for origin in origins]
    }
