"""Table 1: gray-box detectors on every checkpoint."""

from assay.experiments.bench import Bench
from assay.experiments.declaration import Experiment
from assay.experiments.finding import Finding
from assay.experiments.papers import paper
from assay.experiments.runs import (
    MEASURES,
    beside_paper,
    by_epoch,
    epoch_heading,
    epochs_of,
    macro_f1_chart,
    runs_of,
    setting,
)
from assay.experiments.srdetection.detectors import gray_rows
from assay.scores import flagged

PAPER = paper("srdetection")


def table_1(bench: Bench) -> Finding:
    """Accuracy, precision, recall and macro-F1 of the gray-box detectors after 1, 3 and 5 epochs."""
    runs = runs_of(bench)
    tables = [
        table
        for measure in MEASURES
        for table in beside_paper(
            PAPER.tables["table-1"],
            measure,
            runs,
            by_epoch(runs, measure),
            rows=gray_rows(),
            columns=epochs_of(runs),
            heading=epoch_heading,
        )
    ]
    return Finding(
        name="srdetection/table-1",
        title="Gray-box detectors after 1, 3 and 5 epochs (SrDetection, Table 1)",
        tables=tuple(tables),
        notes=(*setting(bench, runs), "Precision and recall are means over the two classes."),
        seeds=bench.seeds,
        charts=macro_f1_chart("Macro-F1 of gray-box detectors by epoch", runs, flagged("figure")),
    )


EXPERIMENTS = (Experiment("srdetection", "table-1", table_1),)
