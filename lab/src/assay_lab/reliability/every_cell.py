"""Every cell: which detector is above which on every checkpoint and view."""

from collections.abc import Iterator

from assay.evaluation import Estimate
from assay.scores import SCORES, request
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.runs import Runs, cell_of, epoch_heading, epochs_of, runs_of, setting, view_title, views_of
from assay_lab.testbed import BASELINES, CONTENDERS, Evaluation, SampleView


def every_cell(bench: Bench) -> Finding:
    """AUROC of the contenders in every cell, and paired differences to SrDetection and Min-K%++."""
    runs = runs_of(bench)
    differences = [difference_table(runs, rival, view) for rival in rivals_of(runs) for view in views_of(runs)]
    return Finding(
        name="assay/every-cell",
        title="AUROC in every cell, and paired differences",
        tables=(*(contender_auroc_table(runs, view) for view in views_of(runs)), *differences),
        notes=(*setting(bench, runs), verdict(differences), intervals(runs)),
        seeds=bench.seeds,
    )


def contender_auroc_table(runs: Runs, view: SampleView) -> ValueTable:
    """Return the AUROC of each contender on each checkpoint."""
    rows = []
    for name in (*BASELINES, *CONTENDERS):
        values = []
        for seeds in runs.values():
            for epoch in epochs_of(runs):
                cells = [cell_of(run, name, epoch, view) for run in seeds]
                values.append(over_seeds([cell.auroc if cell else None for cell in cells], share=True))
        rows.append(ValueRow(name, tuple(values)))
    title = f"AUROC, {view_title(runs, view)}"
    return ValueTable(f"auroc-{view}", title, "detector", columns(runs), tuple(rows), "number")


def difference_table(runs: Runs, rival: str, view: SampleView) -> ValueTable:
    """Return the AUROC of each candidate minus that of one rival, paired, on each checkpoint."""
    contests = [contest for run in every(runs) for contest in run.contests if contest.rival == rival]
    rows = [
        ValueRow(
            name,
            tuple(
                difference_over_seeds(seeds, name, rival, epoch, view)
                for seeds in runs.values()
                for epoch in epochs_of(runs)
            ),
        )
        for name in dict.fromkeys(contest.candidate for contest in contests)
    ]
    title = f"AUROC minus that of {rival}, paired, {view_title(runs, view)}"
    return ValueTable(f"over-{rival.replace('_', '-')}-{view}", title, "detector", columns(runs), tuple(rows), "number")


def difference_over_seeds(
    seeds: tuple[Evaluation, ...], candidate: str, rival: str, epoch: int, view: SampleView
) -> Estimate | None:
    """Return the paired difference of one cell over seeds."""
    key = (candidate, rival, epoch, view)
    return over_seeds(
        [c.difference.estimate for run in seeds for c in run.contests if (c.candidate, c.rival, c.epoch, c.view) == key]
    )


def columns(runs: Runs) -> tuple[str, ...]:
    """Return the headings of the checkpoints."""
    return tuple(f"{name}, {epoch_heading(epoch)}" for name in runs for epoch in epochs_of(runs))


def every(runs: Runs) -> Iterator[Evaluation]:
    """Yield every run."""
    for seeds in runs.values():
        yield from seeds


def rivals_of(runs: Runs) -> list[str]:
    """Return the detectors that candidates are compared with."""
    return list(dict.fromkeys(contest.rival for run in every(runs) for contest in run.contests))


def verdict(tables: list[ValueTable]) -> str:
    """Return a sentence that names the candidates above every rival in every cell."""
    differences: dict[str, list[float]] = {}
    for table in tables:
        for row in table.rows:
            values = [value.value for value in row.values if isinstance(value, Estimate)]
            differences.setdefault(row.name, []).append(min(values, default=-1.0))
    above = [name for name, least in differences.items() if min(least) > 0]
    two_models = [name for name in differences if request(name).definition.access == "two models"]
    rivals = " and ".join(SCORES[name].title for name in BASELINES)
    level = [name for name, least in differences.items() if min(least) >= 0]
    return (
        f"Above {rivals} in every cell, by the mean over seeds: {', '.join(above) or 'none'}; "
        f"never below either, ties at the ceiling counted: {', '.join(level) or 'none'}. "
        f"{', '.join(two_models)}: reads two models, the one before the training as well. "
        "This order holds for these texts and this recipe; other data give another order."
    )


def intervals(runs: Runs) -> str:
    """Return a sentence on how many cells of single runs have a paired interval above 0."""
    counts = []
    for rival in rivals_of(runs):
        contests = [c for run in every(runs) for c in run.contests if c.epoch and c.rival == rival]
        for candidate in dict.fromkeys(contest.candidate for contest in contests):
            lows = [c.difference.estimate.low for c in contests if c.candidate == candidate]
            counts.append(f"{candidate} over {rival} {sum(low > 0 for low in lows)} of {len(lows)}")
    return f"Cells of single runs whose paired interval lies above 0: {', '.join(counts)}."


EXPERIMENTS = (Reproduction("assay", "every-cell", every_cell),)
