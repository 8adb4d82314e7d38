"""Table 1: gray-box detectors on every checkpoint."""

from functools import partial
from typing import get_args

from assay.scores import Access
from assay_lab.columns import without
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.runs import epoch_tables, macro_f1_chart, runs_of, setting
from assay_lab.papers.srdetection.detectors import WRITING, gray_rows, named_detectors
from assay_lab.testbed import IN_FIGURES

PAPER = paper("srdetection")
READING = tuple(without(get_args(Access), WRITING))
"""Access of the detectors that read token probabilities."""


def table_1(bench: Bench) -> Finding:
    """Accuracy, precision, recall and macro-F1 of the gray-box detectors after 1, 3 and 5 epochs."""
    runs = runs_of(bench)
    return Finding(
        name="srdetection/table-1",
        title="Gray-box detectors after 1, 3 and 5 epochs (SrDetection, Table 1)",
        tables=epoch_tables(PAPER.tables["table-1"], runs, gray_rows()),
        notes=(*setting(bench, runs), "Precision and recall are means over the two classes."),
        seeds=bench.seeds,
        charts=macro_f1_chart("Macro-F1 of gray-box detectors by epoch", runs, IN_FIGURES),
    )


EXPERIMENTS = (Reproduction("srdetection", "table-1", table_1, checks=(partial(named_detectors, accesses=READING),)),)
