"""Benchmarks traced in an index as reports."""

import math
from collections.abc import Sequence
from dataclasses import asdict

from assay.codec import encode
from assay.evaluation import Estimate
from assay.provenance.search import confidence_text, place_of
from assay.reports import Column, Missing, Report, Row, Table, number_of, percent, percent_interval
from assay.scan.contamination import MATCH_KINDS, PRESENT_KINDS, BenchmarkTrace, SampleTrace

MOST_SAMPLES = 50
"""Samples of a benchmark that a table lists; the data have all."""


def describe_trace(traced: BenchmarkTrace) -> Report:
    """Return the report of a benchmark traced in an index: the share of each kind of match, then the samples."""
    present = [sample for sample in traced.samples if sample.kind in PRESENT_KINDS]
    rate = traced.rate(*PRESENT_KINDS)
    notes = [] if traced.calibrated else ["confidence was not measured for this profile, so it excluded nothing"]
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


def _rate_table(traced: BenchmarkTrace, present: int, rate: Estimate) -> Table:
    rows = []
    for kind in MATCH_KINDS:
        share = Missing("not judged") if kind == "too short" else traced.rate(kind)
        if not isinstance(share, Missing) and math.isnan(share.value):
            share = Missing("no sample was judged")
        rows.append(Row((kind, traced.counts[kind], share)))
    rows.append(Row(("in the corpus", present, rate), "primary"))
    return Table(
        name="rates",
        title=f"{traced.benchmark}: {number_of(len(traced.samples), 'sample')} in an index of "
        f"{number_of(traced.documents, 'document')}",
        columns=(Column("kind"), Column("samples", "count"), Column("share", "share")),
        rows=tuple(rows),
        caption=("In brackets: 95 % intervals.", "Samples that are too short are not judged."),
    )


def _sample_table(samples: Sequence[SampleTrace]) -> Table:
    columns = (
        Column("sample", get=lambda sample: sample.sample_id),
        Column("kind", get=lambda sample: sample.kind),
        Column("contained", "count", lambda sample: f"{sample.match.containment:.0%}"),
        Column("confidence", "count", lambda sample: confidence_text(sample.match)),
        Column("document", get=lambda sample: place_of(sample.match)),
        Column("licence", get=lambda sample: sample.match.licence),
    )
    matched = [sample for sample in samples if sample.match is not None]
    return Table.of("samples", "Samples in the corpus", items=matched, columns=columns)


def _benchmark_data(traced: BenchmarkTrace) -> dict[str, object]:
    rates = {kind: encode(traced.rate(kind)) for kind in MATCH_KINDS if kind != "too short"}
    return {
        "benchmark": traced.benchmark,
        "documents": traced.documents,
        "samples": len(traced.samples),
        "judged": traced.judged,
        "near": traced.near,
        "sure": traced.sure,
        "calibrated": traced.calibrated,
        "counts": dict(traced.counts),
        "rates": rates | {"in the corpus": encode(traced.rate(*PRESENT_KINDS))},
        "per_sample": list(map(_sample_data, traced.samples)),
    }


def _sample_data(sample: SampleTrace) -> dict[str, object]:
    return {
        "id": sample.sample_id,
        "kind": sample.kind,
        "reason": sample.reason,
        "match": None if sample.match is None else asdict(sample.match),
        "origins": list(map(asdict, sample.origins)),
    }
