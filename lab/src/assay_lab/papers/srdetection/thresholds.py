"""Tables 5 and 6: how many texts the filter leaves, and where fitted thresholds lie."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import product, repeat

from assay.evaluation import Estimate
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, Value, ValueRow, ValueTable, over_seeds
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.runs import Runs, epoch_heading, epochs_of, over_cells, runs_of, setting, views_of
from assay_lab.papers.printed import headings, paper_headings, printed_values, value_table
from assay_lab.papers.srdetection.detectors import gray_rows
from assay_lab.testbed import DetectorResult, Evaluation

PAPER = paper("srdetection")
PARTS = {"training": "member", "test": "nonmember"}
"""The paper's name of a set of texts → ours."""


def table_5_6(bench: Bench) -> Finding:
    """Sizes of the sets after the filter, and the threshold of each method and epoch."""
    runs = runs_of(bench)
    return Finding(
        name="srdetection/table-5-6",
        title="Texts left by the filter, and thresholds (SrDetection, Tables 5 and 6)",
        tables=(threshold_table(runs), size_table(runs)),
        notes=(
            *setting(bench, runs),
            (
                "Ours are oriented (higher = member) and fitted for macro-F1 on the calibration split's filtered "
                "texts. The paper prints the same thresholds for both models at 3 and 5 epochs."
            ),
        ),
        seeds=bench.seeds,
    )


def threshold_table(runs: Runs) -> ValueTable:
    """Return the threshold of each detector that needs one, by epoch."""
    printed, view, epochs = PAPER.tables["table-6"], views_of(runs)[0], epochs_of(runs)
    rows = []
    for label, detector in gray_rows().items():
        # its threshold is 0
        if label == "SrDetection":
            continue
        values: list[Value] = []
        for seeds, epoch in product(runs.values(), epochs):
            values.append(over_cells(seeds, detector, epoch, view=view, get=threshold_of, share=False))
        for model in PAPER.models:
            values += printed_values(printed, model, label)
        rows.append(ValueRow(label, tuple(values)))
    theirs = headings(paper_headings(PAPER.models), list(map("epoch {}".format, printed.columns)))
    columns = headings(runs, map(epoch_heading, epochs)) + theirs
    return value_table("thresholds", "Thresholds", head="detector", columns=columns, rows=rows)


def size_table(runs: Runs) -> ValueTable:
    """Return the number of texts that the filter leaves."""
    printed = PAPER.tables["table-5"]
    rows = []
    for label, part in PARTS.items():
        values: list[Value] = list(map(texts_left, runs.values(), repeat(part)))
        values += list(map(partial(printed.value, column=label), PAPER.models))
        rows.append(ValueRow(f"{label} texts", tuple(values)))
    columns = (*runs, *paper_headings(PAPER.models))
    return value_table("texts", "Texts after the filter", head="set", columns=columns, rows=rows)


def texts_left(seeds: Sequence[Evaluation], part: str) -> Estimate | None:
    """Return the number of texts of a part that the filter leaves, over seeds."""
    return over_seeds([exact(run.passed_filter.get(part, math.nan)) for run in seeds])


def threshold_of(cell: DetectorResult) -> Estimate | None:
    """Return the threshold of a cell's decisions; None without decisions."""
    return exact(cell.decided.threshold) if cell.decided else None


def exact(value: float) -> Estimate:
    """Return a number of one run, which has no interval of its own."""
    return Estimate(float(value), math.nan, math.nan)


EXPERIMENTS = (Reproduction("srdetection", "table-5-6", table_5_6),)
