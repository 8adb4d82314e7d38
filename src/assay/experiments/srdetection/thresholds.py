"""Tables 5 and 6: how many texts the filter leaves, and where fitted thresholds lie."""

import math

from assay.evaluation import Estimate
from assay.experiments.bench import Bench
from assay.experiments.finding import Finding, Line, Value, over_seeds
from assay.experiments.paper_values import MODELS, TABLE_5, TABLE_6
from assay.experiments.srdetection.detection import epochs_of, rows, setting, views


def table_5_6(bench: Bench) -> Finding:
    """Sizes of the sets after the filter, and the threshold of each method and epoch."""
    runs = {one.name: bench.evaluations(one) for one in bench.configurations}
    lines = [
        Line(
            f"{role} texts after the filter",
            (
                *(float(TABLE_5[model][place]) for model in MODELS),
                *(
                    over_seeds([exact(one.passed_filter.get(part, math.nan)) for one in found])
                    for found in runs.values()
                ),
            ),
        )
        for place, (role, part) in enumerate((("training", "member"), ("test", "nonmember")))
    ]
    view = views(runs)[0]
    for epoch in epochs_of(runs):
        for detector, paper in rows():
            printed = TABLE_6.get(epoch, {}).get(paper or "")
            if paper == "SrDetection":
                continue
            ours: list[Value] = []
            for found in runs.values():
                decided = [cell.decided for one in found if (cell := one.cell(detector, epoch, view)) is not None]
                ours.append(over_seeds([exact(one.threshold) for one in decided if one is not None]))
            lines.append(Line(f"threshold · epoch {epoch} · {paper or detector}", (*(printed or (None, None)), *ours)))
    return Finding(
        name="table-5-6",
        title="Texts left by the filter, and thresholds (SrDetection, Tables 5 and 6)",
        head="what",
        columns=(*(f"{model} (paper)" for model in MODELS), *runs),
        lines=tuple(lines),
        unit="number",
        notes=(
            *setting(bench, runs),
            (
                "Ours are oriented (higher = member) and fitted for macro-F1 on the calibration split's filtered "
                "texts. The paper prints the same thresholds for both models at 3 and 5 epochs."
            ),
        ),
        seeds=bench.seeds,
    )


def exact(value: float) -> Estimate:
    """A number of one run, which has no interval of its own."""
    return Estimate(float(value), math.nan, math.nan)
