"""`assay score`: values of any scores for any texts, one line per sample."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.groups import grouped
from assay.cli.options import (
    MODEL_HELP,
    AccessOption,
    DataOptions,
    Frequencies,
    ModelOptions,
    Reference,
    Scores,
    VariantEngine,
    VariantKinds,
    Variants,
)
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
    scores: Scores = None,
    access: AccessOption = "gray",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="OUT.jsonl, OUT.parquet or OUT.csv; without it, JSONL to standard output."),
    ] = None,
    list_scores: Annotated[
        bool, typer.Option("--list", help="Print every score and what it needs; then stop.")
    ] = False,
    variants: Variants = 0,
    variant_engine: VariantEngine = "deterministic",
    variant_kinds: VariantKinds = "function,variable",
    reference: Reference = None,
    frequencies: Frequencies = None,
    which: DataOptions,
    how: ModelOptions,
) -> None:
    """Score texts under a model: one line per sample, in input order, higher = member.

    **Example**: `assay score builtin:small functions.jsonl --scores loss,min_k:k=0.1 -o scores.jsonl`
    """
    from rich.console import Console

    from assay.cli.requested import planned, specified, tell_rejections
    from assay.cli.score_files import Row, check_output, write_scores
    from assay.cli.terminal import progress_bar, warn
    from assay.scoring import score_stream

    if list_scores:
        Console().print(score_list())
        return
    if model is None or texts is None:
        raise DataError("assay score takes MODEL and DATA, for example: assay score builtin:small texts.jsonl")
    check_output(output)
    specs = specified(scores, access, variants)  # a misspelt score is told before a large model is loaded
    dataset = which.load(texts)
    todo, notes = planned(specs, access, how, model, reference, frequencies, variant_engine, variant_kinds)
    for note in (*dataset.notes, *notes):
        warn(note)
    with progress_bar(f"scoring {dataset.name}") as report:
        found = score_stream(dataset.samples, todo, progress=report)
        rows = (Row.of(dataset.samples[one.index].id, one.scores) for one in found)
        write_scores(rows, output, [one.name for one in todo.requests])
    tell_rejections(todo.rewriter)


def score_list() -> "Table":
    """The registry as a table."""
    from rich.table import Table

    from assay.scores import SCORES

    table = Table(title="Scores: higher = member", title_justify="left")
    for head in ("name", "access", "needs", "value", "parameters", "reference"):
        table.add_column(head, overflow="fold", no_wrap=head == "name")
    for found in SCORES.values():
        parameters = ", ".join(f"{name}={value}" for name, value in found.defaults.items())
        table.add_row(found.name, found.access, found.needs(), found.formula, parameters, found.reference)
    return table
