"""`assay calibrate`: scores of known-unseen text, kept for later audits."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.groups import grouped
from assay.cli.options import DataOptions, ModelName, ModelOptions, ScoreOptions, output_file
from assay.cli.unused import refuse_unused_rewriting


@grouped
def calibrate_command(
    context: typer.Context,
    model: ModelName,
    unseen: Annotated[
        str, typer.Argument(metavar="DATA", help="Text that the model has certainly not seen, of the kind to audit.")
    ],
    *,
    output: Annotated[Path, output_file("The calibration file to write.")],
    chosen: ScoreOptions,
    data: DataOptions,
    model_options: ModelOptions,
) -> None:
    """Score known-unseen text once, for `assay audit --calibration`; the file holds scores and no text.

    **Example**: `assay calibrate builtin:small fresh_functions.jsonl -o fresh.json`
    """
    from assay import calibrate
    from assay.cli.present import chosen_format, show
    from assay.reports import Report

    form = chosen_format()
    selection = chosen.selection()
    refuse_unused_rewriting(context, selection)
    result = calibrate(
        model,
        partial(data.load, unseen, repeated="number"),
        selection=selection,
        settings=model_options.settings(),
        cache=not model_options.no_cache,
        out=output,
    )
    statement = f"{output}: {result.texts} unseen texts under {model}, {len(result.values)} scores"
    data_shown = {"file": str(output), "model": model, "texts": result.texts, "scores": list(result.values)}
    show(Report("Calibration", statement, data=data_shown), form)
