"""`assay compare`: finished runs side by side."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from assay.cli.options import OUTPUT, AsJson
from assay.errors import DataError


def compare_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN …", help="Run folders that audit or demo wrote.")],
    *,
    figure: Annotated[
        Literal["flagged", "discoveries", "auroc", "coverage"],
        typer.Option(help="What stands in the cells; all but coverage need --unseen text or labels in the runs."),
    ] = "flagged",
    score: Annotated[
        str | None, typer.Option(metavar="SCORE", help="Score to compare by (each run's headline score).")
    ] = None,
    as_json: AsJson = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table as Markdown.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Set finished runs side by side: models in rows, benchmarks in columns; no model is run.

    **Example**: `assay compare runs/small-humaneval runs/large-humaneval --figure flagged`
    """
    from assay.pages import cells, comparison, encode, markdown_of, read_run, rich_table

    if markdown and as_json:
        raise DataError("both --markdown and --json were given; expected one of them")
    found = cells({str(run): read_run(run)[0] for run in runs}, figure, score)
    if as_json:
        typer.echo(json.dumps([{"figure": figure, **encode(cell)} for cell in found], indent=1, ensure_ascii=False))
    elif markdown:
        typer.echo(markdown_of(comparison(found, figure), head="model"))
    else:
        Console().print(rich_table(comparison(found, figure), head="model"))
