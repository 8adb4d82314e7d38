"""Traces on a terminal and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.evaluation import Estimate
from assay.provenance import KINDS, LIES_THERE, BenchmarkTrace, Origin, SourceText, Trace, denied
from assay.types import Match

SHOWN = 50
"""Samples of a benchmark that the terminal lists; --json has all."""


def print_traces(traced: Sequence[tuple[SourceText, Trace]]) -> None:
    """One table for each text with a match; of one text without, why."""
    console = Console()
    without = 0
    for source, one in traced:
        if not one.matches and len(traced) > 1:
            without += 1
            continue
        console.print(Text(_called(source), style="bold"))
        if one.matches:
            console.print(_table(source, one))
        else:
            console.print(Text(f"no match: {one.why_none}"))
            console.print(Text("\n".join(_evidence(one)), style="dim"))
    for note in dict.fromkeys(note for _, one in traced for note in one.notes):
        console.print(Text(f"Note: {note}", style="dim"))
    if len(traced) > 1:
        console.print(Text(f"{len(traced)} texts traced, {len(traced) - without} with a match"))


def trace_json(source: SourceText, one: Trace) -> dict[str, object]:
    """A trace with everything that is known of it."""
    return {
        "path": source.path,
        "name": source.name,
        "first_line": source.first_line,
        "language": one.language,
        "method": one.method,
        "matches": [
            {
                **{key: value for key, value in asdict(match).items() if key != "origins"},
                "origins": [asdict(origin) for origin in one.origins[match.document_id]],
            }
            for match in one.matches
        ],
        "why_none": one.why_none,
        "too_short": one.too_short,
        "units": one.units,
        "candidates": one.candidates,
        "below": one.below,
        "evidence": [{**asdict(channel), "telling": channel.telling} for channel in one.evidence],
        "notes": list(one.notes),
    }


def denied_matches(traced: Sequence[tuple[SourceText, Trace]], rules: Sequence[str]) -> list[str]:
    """A sentence for each match that stands somewhere under a denied licence."""
    return [
        f"{_called(source)}: {match.containment:.0%} of it stands in {origin.path} of {_whose(origin)} "
        f"under {origin.licence}"
        for source, one in traced
        for match in one.matches
        for origin in one.origins[match.document_id]
        if denied(origin.licence, rules)
    ]


def print_benchmark(found: BenchmarkTrace) -> None:
    """The rates, then the samples that lie there."""
    console = Console()
    table = Table(title=f"{found.benchmark}: {len(found.samples)} samples in an index of {found.documents} documents")
    for head in ("", "samples", "share", "95 % interval"):
        table.add_column(head, justify="left" if not head else "right")
    for kind in KINDS:
        if kind == "too short":
            table.add_row(kind, str(found.counts[kind]), "", "not judged")
        else:
            table.add_row(kind, str(found.counts[kind]), *_rate(found.rate(kind)))
    table.add_row(
        "in the corpus",
        str(sum(found.counts[kind] for kind in LIES_THERE)),
        *_rate(found.rate(*LIES_THERE)),
        style="bold",
    )
    console.print(table)
    there = [one for one in found.samples if one.kind in LIES_THERE]
    if there:
        samples = Table("sample", "kind", "contained", "confidence", "document", "licence")
        for one in there[:SHOWN]:
            if one.match is not None:
                samples.add_row(
                    one.sample_id,
                    one.kind,
                    f"{one.match.containment:.0%}",
                    _confidence(one.match),
                    _where(one.match),
                    one.match.licence,
                )
        console.print(samples)
    if len(there) > SHOWN:
        console.print(Text(f"… and {len(there) - SHOWN} more; --json has all of them"))
    if not found.calibrated:
        console.print(Text("Note: confidence was not calibrated for this profile, so nothing fell to it", style="dim"))


def benchmark_json(found: BenchmarkTrace) -> dict[str, object]:
    """The trace of a benchmark for contamination reports."""
    return {
        "benchmark": found.benchmark,
        "documents": found.documents,
        "samples": len(found.samples),
        "judged": found.judged,
        "near": found.near,
        "sure": found.sure,
        "calibrated": found.calibrated,
        "counts": dict(found.counts),
        "rates": {kind: _estimate(found.rate(kind)) for kind in KINDS if kind != "too short"}
        | {"in the corpus": _estimate(found.rate(*LIES_THERE))},
        "per_sample": [
            {
                "id": one.sample_id,
                "kind": one.kind,
                "reason": one.reason,
                "match": None if one.match is None else asdict(one.match),
                "origins": [asdict(origin) for origin in one.origins],
            }
            for one in found.samples
        ],
    }


def _table(source: SourceText, one: Trace) -> Table:
    table = Table("contained", "confidence", "by", "here", "there", "licence", "author", "repository", "places")
    for match in one.matches:
        here = ", ".join(
            f"{span.query_first + source.first_line - 1}–{span.query_last + source.first_line - 1}"
            for span in match.spans
        )
        table.add_row(
            f"{match.containment:.0%}" if match.channel != "vector" else f"cosine {match.cosine:.2f}",
            _confidence(match),
            match.channel,
            here,
            _where(match),
            match.licence,
            match.author or "",
            match.repository or match.url or "",
            str(match.origins),
        )
    return table


def _where(match: Match) -> str:
    lines = ", ".join(f"{span.document_first}–{span.document_last}" for span in match.spans)
    return match.path + (f":{lines}" if lines else "") + (f" ({match.name})" if match.name else "")


def _confidence(match: Match) -> str:
    """Rounded down: .9996 is not 1."""
    return "unknown" if match.confidence is None else f"{int(match.confidence * 1e4) / 1e4:.4f}"


def _evidence(one: Trace) -> list[str]:
    return [
        channel.too_short
        or f"{channel.form}: {channel.fingerprints} fingerprints, {channel.template} of them in templates, "
        f"{channel.common} common, {channel.too_common} in too many documents to be read, {channel.absent} in none; "
        f"{channel.looked_up} looked up, {channel.documents} documents share one"
        for channel in one.evidence
    ]


def _called(source: SourceText) -> str:
    name = f" {source.name}" if source.name else ""
    return f"{source.path}:{source.first_line}{name}" if source.name else source.path


def _whose(origin: Origin) -> str:
    return origin.repository or origin.source


def _rate(rate: Estimate) -> tuple[str, str]:
    return (f"{rate.value:.1%}", f"{rate.low:.1%} – {rate.high:.1%}") if rate.has_interval else ("", "")


def _estimate(rate: Estimate) -> Mapping[str, float | None]:
    return {name: value if rate.has_interval else None for name, value in asdict(rate).items()}
