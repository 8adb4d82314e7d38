"""The output of a command: a report in the format that was asked for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import typer

from assay.cli.terminal import Terminal
from assay.errors import DataError
from assay.leakage import Audit, write_run
from assay.reports import Report, print_report, render_json, render_latex, render_markdown, write_html
from assay.testbed import describe_run

Format = Literal["terminal", "json", "markdown", "latex"]
PAGE = "report.html"


def chosen_format(*, as_json: bool = False, markdown: bool = False, latex: bool = False) -> Format:
    """Return the format that the options name.

    Raises:
        DataError: they name more than one.
    """
    options: dict[Format, bool] = {"json": as_json, "markdown": markdown, "latex": latex}
    chosen = [name for name, option in options.items() if option]
    if len(chosen) > 1:
        raise DataError(f"both --{chosen[0]} and --{chosen[1]} were given; expected one of them")
    return chosen[0] if chosen else "terminal"


def show(report: Report, form: Format, page: Path | None = None) -> None:
    """Print a report on standard output; on a terminal, where its page is too."""
    if form == "terminal":
        console = Terminal()
        print_report(report, console)
        if page is not None:
            console.print(f"Report: {page}", soft_wrap=True)
        return
    render = {"json": render_json, "markdown": render_markdown, "latex": render_latex}[form]
    typer.echo(render(report), nl=False)


def present(audit: Audit, manifest: Mapping[str, object], folder: Path, *, as_json: bool) -> None:
    """Write the run folder with its page, and show the run.

    Raises:
        DataError: the folder cannot be written.
    """
    write_run(folder, audit, manifest)
    present_run(folder, chosen_format(as_json=as_json))


def present_run(folder: Path, form: Format) -> None:
    """Write the page of a run folder, and show the run.

    Raises:
        DataError: the folder cannot be read, or the page cannot be written.
    """
    report = describe_run(folder)
    show(report, form, write_html(report, folder / PAGE))
