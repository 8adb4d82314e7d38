"""`assay calibrate`: scores of known-unseen text, kept for later audits."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.groups import Shown, grouped
from assay.cli.options import OBJECT, ModelName, output_file
from assay.cli.unused import refuse_unused_rewriting
from assay.datasets import DataSelection
from assay.models import ModelSettings
from assay.scoring import ScoreSelection


@grouped
def calibrate_command(
    context: typer.Context,
    model: ModelName,
    unseen: Annotated[
        str, typer.Argument(metavar="DATA", help="Text that the model has certainly not seen, of the kind to audit.")
    ],
    *,
    output: Annotated[Path, output_file("The calibration file to write.", *OBJECT)],
    chosen: ScoreSelection,
    data: Annotated[DataSelection, Shown("language", "limit", "columns")],
    settings: ModelSettings,
) -> None:
    """Score known-unseen text once, for `audit --calibration`; the file holds no text.

    **Example**: `assay calibrate builtin:small fresh_functions.jsonl -o fresh.json`
    """
    from assay import calibrate
    from assay.cli.present import show
    from assay.cli.terminal import OUTPUT_SETTINGS
    from assay.datasets import read_dataset
    from assay.reports import Report, number_of
    from assay.run import Run

    refuse_unused_rewriting(context, chosen)
    result = calibrate(
        model,
        # read only after the names of the model and the scores were checked; several places may number texts alike
        partial(read_dataset, unseen, replace(data, repeated="number")),
        selection=chosen,
        settings=settings,
        out=Run.beside(output, "calibration", force=OUTPUT_SETTINGS.get().force),
    )
    statement = (
        f"{output}: {number_of(result.texts, 'unseen text')} under {model}, {number_of(len(result.values), 'score')}"
    )
    data_shown = {"file": str(output), "model": model, "texts": result.texts, "scores": list(result.values)}
    show(Report("Calibration", statement, data=data_shown))
