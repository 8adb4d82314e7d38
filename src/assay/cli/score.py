"""`assay score`: values of any scores for any texts, one line per sample."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completing import complete_benchmarks, complete_models
from assay.cli.groups import grouped
from assay.cli.options import MODEL_HELP, output_file
from assay.cli.unused import refuse_unused_rewriting
from assay.datasets import DataSelection
from assay.errors import DataError
from assay.models import ModelSettings
from assay.scoring import ScoreSelection

if TYPE_CHECKING:
    from assay.reports import Report

RARELY = ("needs", "parameters", "reference")
"""Columns of the list of scores that a narrow terminal leaves out."""


@grouped
def score_command(
    context: typer.Context,
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", autocompletion=complete_models, help=MODEL_HELP)
    ] = None,
    texts: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            autocompletion=complete_benchmarks,
            help="A file or folder with texts, or a benchmark's name.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        output_file(
            "NAME.jsonl, NAME.parquet or NAME.csv; - or nothing: standard output, JSONL or --format csv.",
            printable=True,
        ),
    ] = None,
    list_scores: Annotated[
        bool, typer.Option("--list", help="Print every score and what it needs; then stop.")
    ] = False,
    chosen: ScoreSelection,
    data: DataSelection,
    settings: ModelSettings,
) -> None:
    """Score texts under a model: one line per sample, in input order, higher = member.

    **Example**: `assay score builtin:small functions.jsonl --scores loss,min_k:k=0.1 -o scores.jsonl`
    """
    from assay.api import scored
    from assay.cli.present import show
    from assay.cli.score_files import ScoreRow, checked_output, write_scores
    from assay.cli.terminal import OUTPUT_SETTINGS
    from assay.datasets import read_dataset
    from assay.scoring import Opener

    if list_scores:
        show(score_list())
        return
    if model is None or texts is None:
        raise DataError("assay score takes MODEL and DATA, for example: assay score builtin:small texts.jsonl")
    output, printed = checked_output(output, OUTPUT_SETTINGS.get().form)
    refuse_unused_rewriting(context, chosen)
    with scored(model, partial(read_dataset, texts, data), selection=chosen, opener=Opener(settings)) as (
        dataset,
        plan,
        samples,
    ):
        # lazily, so that a row is written as soon as its text is scored
        rows = (ScoreRow.of(dataset.samples[sample.index].id, sample.scores) for sample in samples)
        write_scores(rows, output, names=[request.name for request in plan.requests], printed=printed)


def score_list() -> "Report":
    """Return the sample-level scores of the registry as a report; `verdict`: may it carry one on a benchmark."""
    from assay.reports import Column, Report, Row, Table
    from assay.scores import SCORES

    titles = ("name", "access", "verdict", "needs", "value", "parameters", "reference")
    rows = []
    for score in SCORES.values():
        verdict = "yes" if "verdict" in score.flags else "no"
        parameters = ", ".join(f"{name}={value}" for name, value in score.defaults.items())
        rows.append((score.name, score.access, verdict, score.needs(), score.formula, parameters, score.reference))
    table = Table(
        name="scores",
        title="Scores: higher = member; of detectors of generated code, higher = generated",
        columns=tuple(
            Column(title, "name" if title == "name" else "text", optional=title in RARELY) for title in titles
        ),
        rows=tuple(map(Row, rows)),
    )
    data = [dict(zip(titles, row, strict=True)) for row in rows]
    return Report(title="Scores", statement="", tables=(table,), data=data)
