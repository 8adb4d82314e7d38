"""`assay score`: values of any scores for any texts, one line per sample."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.groups import grouped
from assay.cli.options import MODEL_HELP, DataOptions, ModelOptions, ScoreOptions
from assay.errors import DataError

if TYPE_CHECKING:
    from rich.table import Table


@grouped
def score_command(
    model: Annotated[str | None, typer.Argument(metavar="MODEL", help=MODEL_HELP)] = None,
    texts: Annotated[
        str | None, typer.Argument(metavar="DATA", help="A file or folder with texts, or a benchmark's name.")
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="OUT.jsonl, OUT.parquet or OUT.csv; without it, JSONL to standard output."),
    ] = None,
    list_scores: Annotated[
        bool, typer.Option("--list", help="Print every score and what it needs; then stop.")
    ] = False,
    chosen: ScoreOptions,
    data: DataOptions,
    model_options: ModelOptions,
) -> None:
    """Score texts under a model: one line per sample, in input order, higher = member.

    **Example**: `assay score builtin:small functions.jsonl --scores loss,min_k:k=0.1 -o scores.jsonl`
    """
    from rich.console import Console

    from assay.api import scored
    from assay.cli.score_files import ScoreRow, check_output, write_scores

    if list_scores:
        Console().print(score_list())
        return
    if model is None or texts is None:
        raise DataError("assay score takes MODEL and DATA, for example: assay score builtin:small texts.jsonl")
    check_output(output)
    with scored(model, partial(data.load, texts), chosen.selection(), model_options.opener()) as (
        dataset,
        plan,
        samples,
    ):
        rows = (ScoreRow.of(dataset.samples[sample.index].id, sample.scores) for sample in samples)
        write_scores(rows, output, [request.name for request in plan.requests])


def score_list() -> "Table":
    """Return the sample-level scores of the registry as a table; `verdict`: may it carry one on a benchmark."""
    from rich.table import Table

    from assay.scores import SCORES

    table = Table(title="Scores: higher = member", title_justify="left")
    for head in ("name", "access", "verdict", "needs", "value", "parameters", "reference"):
        table.add_column(head, overflow="fold", no_wrap=head == "name")
    for score in SCORES.values():
        parameters = ", ".join(f"{name}={value}" for name, value in score.defaults.items())
        verdict = "yes" if "verdict" in score.flags else "no"
        table.add_row(score.name, score.access, verdict, score.needs(), score.formula, parameters, score.reference)
    return table
