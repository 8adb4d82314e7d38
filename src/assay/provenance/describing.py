"""Traces as reports: of texts, and of the samples of a benchmark."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from assay.evaluation import Estimate
from assay.provenance.contamination import MATCH_KINDS, PRESENT_KINDS, BenchmarkTrace, SampleTrace
from assay.provenance.document import Origin
from assay.provenance.licence_rules import denied
from assay.provenance.texts import SourceText
from assay.provenance.tracing import Trace
from assay.reports import Cell, Column, Missing, Report, Row, Table, number_of, percent, percent_interval
from assay.types import Match

MOST_SAMPLES = 50
"""Samples of a benchmark that a table lists; the data have all."""

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


def describe_benchmark(traced: BenchmarkTrace) -> Report:
    """Return the report of a benchmark traced in an index: the share of each kind of match, then the samples."""
    present = [sample for sample in traced.samples if sample.kind in PRESENT_KINDS]
    rate = traced.rate(*PRESENT_KINDS)
    notes = [] if traced.calibrated else ["confidence was not calibrated for this profile, so it excluded nothing"]
    if len(present) > MOST_SAMPLES:
        notes.append(f"the table lists {MOST_SAMPLES} of {len(present)} samples; the JSON has all")
    tables = [_rate_table(traced, len(present), rate)]
    if present:
        tables.append(_sample_table(present[:MOST_SAMPLES]))
    bounds = f"95 % interval {percent_interval(rate)}" if rate.has_interval else rate.reason
    interval = "" if math.isnan(rate.value) else f" ({bounds})"
    return Report(
        title=f"Does {traced.benchmark} occur in this corpus?",
        statement=f"{percent(rate.value)} of {traced.judged:,} judged samples of {traced.benchmark} occur in the "
        f"corpus{interval}.",
        tables=tuple(tables),
        notes=tuple(notes),
        data=_benchmark_data(traced),
        kind="provenance report",
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
        _place(match),
        contained,
        _confidence(match),
        match.channel,
        lines,
        match.licence,
        match.author or "",
        repository,
        match.origins,
    ]


def _rate_table(traced: BenchmarkTrace, present: int, rate: Estimate) -> Table:
    rows = [Row((kind, traced.counts[kind], _rate(traced, kind))) for kind in MATCH_KINDS]
    rows.append(Row(("in the corpus", present, rate), "primary"))
    return Table(
        name="rates",
        title=f"{traced.benchmark}: {number_of(len(traced.samples), 'sample')} in an index of "
        f"{number_of(traced.documents, 'document')}",
        columns=(Column("kind"), Column("samples", "count"), Column("share", "share")),
        rows=tuple(rows),
        caption=("In brackets: 95 % intervals.", "Samples that are too short are not judged."),
    )


def _rate(traced: BenchmarkTrace, kind: str) -> Cell:
    if kind not in MATCH_KINDS or kind == "too short":
        return Missing("not judged")
    rate = traced.rate(kind)
    return Missing("no sample was judged") if math.isnan(rate.value) else rate


def _sample_table(samples: Sequence[SampleTrace]) -> Table:
    columns = [Column("sample"), Column("kind"), Column("contained", "count"), Column("confidence", "count")]
    rows = [
        Row(
            (
                sample.sample_id,
                sample.kind,
                f"{sample.match.containment:.0%}",
                _confidence(sample.match),
                _place(sample.match),
                sample.match.licence,
            )
        )
        for sample in samples
        if sample.match is not None
    ]
    return Table("samples", "Samples in the corpus", (*columns, Column("document"), Column("licence")), tuple(rows))


def _place(match: Match) -> str:
    lines = ", ".join(f"{span.document_first}–{span.document_last}" for span in match.spans)
    return match.path + (f":{lines}" if lines else "") + (f" ({match.name})" if match.name else "")


def _confidence(match: Match) -> str:
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


def _benchmark_data(traced: BenchmarkTrace) -> dict[str, object]:
    rates = {kind: _estimate(traced.rate(kind)) for kind in MATCH_KINDS if kind != "too short"}
    return {
        "benchmark": traced.benchmark,
        "documents": traced.documents,
        "samples": len(traced.samples),
        "judged": traced.judged,
        "near": traced.near,
        "sure": traced.sure,
        "calibrated": traced.calibrated,
        "counts": dict(traced.counts),
        "rates": rates | {"in the corpus": _estimate(traced.rate(*PRESENT_KINDS))},
        "per_sample": [
            {
                "id": sample.sample_id,
                "kind": sample.kind,
                "reason": sample.reason,
                "match": None if sample.match is None else asdict(sample.match),
                "origins": [asdict(origin) for origin in sample.origins],
            }
            for sample in traced.samples
        ],
    }


def _estimate(rate: Estimate) -> Mapping[str, object]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value for name, value in asdict(rate).items()
    }
