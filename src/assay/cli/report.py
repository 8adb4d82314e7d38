"""`assay report`: a finished run once more, as tables and as its HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import OUTPUT, AsJson
from assay.errors import DataError


def report_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that audit or demo wrote.")],
    *,
    as_json: AsJson = False,
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown", help="Print the tables as Markdown, every interval in them.", rich_help_panel=OUTPUT
        ),
    ] = False,
) -> None:
    """Print a finished run's tables and write its report.html anew; the model is not run.

    **Example**: `assay report assay-demo`
    """
    from assay.cli.present import show
    from assay.pages import markdown_table, read_run, write_report

    if markdown and as_json:
        raise DataError("both --markdown and --json were given; expected one of them")
    found, _ = read_run(run)
    page = write_report(run)
    if markdown:
        typer.echo(markdown_table(found), nl=False)
        return
    show(found, page, run, as_json=as_json)
