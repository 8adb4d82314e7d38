"""The trial as tables and figures: one for each search space and kind of alteration, and one of what the ways cost."""

from collections.abc import Iterator

from assay.evaluation import Estimate
from assay.experiments.finding import Drawn, Finding, Line
from assay.experiments.hst.queries import ALTERATIONS, Kind
from assay.experiments.hst.search import WAYS
from assay.experiments.hst.trial import Cell, TracingTrial

DRAWN = ("union", "HST (paper)", "winnowing (paper)", "vector")
"""Four lines can be told apart; the tables have all ways."""

MEANT: dict[Kind, str] = {
    "type 1": "as they stand",
    "type 2": "after Algorithm 1 of HybridSourceTracker",
    "renamed": "with every name replaced",
    "type 3": "with a quarter of the lines added, removed or moved",
}


def trial_findings(found: TracingTrial) -> Iterator[Finding]:
    """Mean reciprocal ranks, the largest space first."""
    spaces = sorted({cell.space for cell in found.cells}, reverse=True)
    for space in spaces:
        for kind in ALTERATIONS:
            yield quality_finding(found, space, kind)
    yield cost_finding(found)


def quality_finding(found: TracingTrial, space: int, kind: Kind) -> Finding:
    """One space and kind: windows in rows, ways in columns."""
    cells = {(one.window, one.way): one for one in found.cells if one.space == space and one.kind == kind}
    windows = sorted({window for window, _ in cells})
    lines = tuple(
        Line(
            f"{window} tokens ({cells[window, 'union'].queries})",
            (*(cells[window, way].quality["mrr"] for way in WAYS), best_gain(cells[window, "union"])),
        )
        for window in windows
    )
    changed = ", ".join(f"{cells[window, 'union'].changed:.0%} at {window}" for window in windows)
    return Finding(
        name=f"provenance-{space}-{kind.replace(' ', '-')}",
        title=f"Mean reciprocal rank among {space:,} functions, fragments {MEANT[kind]}",
        head="fragment (queries)",
        columns=(*WAYS, "union over the best single way"),
        lines=lines,
        unit="number",
        notes=(
            "In brackets: 95 % intervals, bootstrapped by module.",
            "A function counts as found where it, or a near-duplicate of it, is among the first 100 answers.",
            "Searched for: functions of the standard library. Searched among: those and functions of packages.",
            f"Vectors: {found.encoder}. The last column is paired: the union against the best single way of that row.",
            f"Fragments that the alteration changed: {changed}.",
        ),
        seeds=(found.seed,),
        drawn=tuple(
            Drawn(way, {float(window): cells[window, way].quality["mrr"] for window in windows}) for way in DRAWN
        ),
        x="tokens of the fragment",
        y="mean reciprocal rank",
    )


def best_gain(union: Cell) -> Estimate:
    """The union's gain over that other way over which it is smallest."""
    return min(union.gain.values(), key=lambda one: one.value)


def cost_finding(found: TracingTrial) -> Finding:
    """Time of a whole trace and bytes on disk."""
    lines = tuple(
        Line(f"{one.way}, {one.space:,}", (one.p50_ms, one.p95_ms, one.index_bytes / 1e6)) for one in found.costs
    )
    return Finding(
        name="provenance-cost",
        title="What a trace costs: milliseconds of processor time with ten matches and their lines, megabytes of index",
        head="way, documents",
        columns=("p50, ms", "p95, ms", "index, MB"),
        lines=lines,
        unit="number",
        notes=(
            "Fragments of 60 tokens after Algorithm 1.",
            "The index with the texts of its documents.",
        ),
        seeds=(found.seed,),
    )
