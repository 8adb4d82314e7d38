"""How detection depends on the number of variants (Table 3) and on the mix (Table 10, Figure 3)."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from assay.evaluation import Estimate
from assay.scores import request
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Chart, Finding, ValueTable
from assay_lab.experiments.papers import PrintedTable, paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.runs import (
    Runs,
    beside_paper,
    by_epoch,
    chart,
    decided,
    epoch_heading,
    epochs_of,
    runs_of,
    setting,
    views_of,
)
from assay_lab.papers.srdetection.detectors import gray_rows, paper_score
from assay_lab.testbed import IN_FIGURES, SampleView

PAPER = paper("srdetection")
RATIOS = (1, 5, 10)
EPOCH = 1
"""Runs of other mixes end after the first epoch, as the paper's do."""


def table_3(bench: Bench) -> Finding:
    """Macro-F1 of SrDetection, gray-box, by number of variants and epoch."""
    runs = runs_of(bench)
    return Finding(
        name="srdetection/table-3",
        title="Macro-F1 of SrDetection by number of variants (SrDetection, Table 3)",
        tables=by_variants(paper_score("gray"), PAPER.tables["table-3"], runs),
        notes=(
            *setting(bench, runs),
            (
                "With one variant the paper prints 33.4 throughout, which is what flagging everything, or nothing, "
                "gives; a single variant is harder or not, so that is not what the rule does."
            ),
        ),
        seeds=bench.seeds,
    )


def by_variants(score: str, printed: PrintedTable, runs: Runs) -> tuple[ValueTable, ...]:
    """Return the macro-F1 of SrDetection for each number of variants and epoch.

    Args:
        score: its gray-box or its black-box score.
        printed: the paper's table: number of variants → percentages after its epochs.
        runs: of our models.
    """
    default = request(score).variants
    numbers = next(iter(printed.values["macro-F1"].values()))
    return beside_paper(
        printed,
        "macro-F1",
        runs=runs,
        ours=by_epoch(runs, "macro-F1"),
        # the column of the default number is called as the score alone
        rows={n: score if int(n) == default else f"{score}:n={n}" for n in numbers},
        columns=epochs_of(runs),
        heading=epoch_heading,
        head="variants",
    )


def table_10(bench: Bench) -> Finding:
    """Macro-F1 after one epoch by share of general text."""
    mixed = by_ratio(bench)
    runs = mixed[RATIOS[0]]

    def after_epoch(name: str, view: SampleView, detector: str, *, column: int) -> Estimate | None:
        return decided(mixed[column][name], detector, EPOCH, view=view, measure="macro-F1")

    tables = beside_paper(
        PAPER.tables["table-10"],
        "macro-F1",
        runs=runs,
        ours=after_epoch,
        rows=gray_rows(),
        columns=RATIOS,
        heading=ratio_heading,
    )
    return Finding(
        name="srdetection/table-10",
        title="Macro-F1 after one epoch by mix (SrDetection, Table 10)",
        tables=tables,
        notes=(
            *setting(bench, runs),
            (
                "The ratio counts tokens. The paper calls this table black-box; its rows are the gray-box methods, "
                "and at 1:5 they repeat Table 1."
            ),
        ),
        seeds=bench.seeds,
        charts=by_mix(mixed),
    )


def figure_3(bench: Bench) -> Finding:
    """Macro-F1 after one epoch by share of general text, as a figure."""
    mixes = table_10(bench)
    detectors = gray_rows()
    first = mixes.tables[0]
    rows = tuple(row for row in first.rows if detectors[row.name] in IN_FIGURES)
    return Finding(
        name="srdetection/figure-3",
        title="Macro-F1 after one epoch by mix (SrDetection, Figure 3)",
        tables=(replace(first, rows=rows),),
        notes=(*mixes.notes, "The paper's figure is a picture without numbers; its Table 10 has them."),
        seeds=bench.seeds,
        charts=mixes.charts,
    )


def by_ratio(bench: Bench) -> Mapping[int, Runs]:
    """Return ratio of general text → configuration → one run for each seed."""
    return {ratio: runs_of(bench, ratio=ratio) for ratio in RATIOS}


def by_mix(mixed: Mapping[int, Runs]) -> tuple[Chart, ...]:
    """Return the figure of macro-F1 by ratio on the first model, in the first view."""
    runs = mixed[RATIOS[0]]
    name, view = next(iter(runs)), views_of(runs)[0]
    points: dict[str, dict[int, Estimate | None]] = {}
    for detector in IN_FIGURES:
        of_ratio = partial(decided, detector=detector, epoch=EPOCH, view=view, measure="macro-F1")
        points[detector] = {ratio: of_ratio(mixed[ratio][name]) for ratio in RATIOS}
    return chart("Macro-F1 after one epoch by mix", points, x="tokens of general text for each token of the members")


def ratio_heading(ratio: int) -> str:
    """Return the heading of a column."""
    return f"1:{ratio}"


EXPERIMENTS = (
    Reproduction("srdetection", "table-3", table_3),
    Reproduction("srdetection", "table-10", table_10),
    Reproduction("srdetection", "figure-3", figure_3),
)
