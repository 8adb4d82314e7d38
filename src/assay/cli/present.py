"""The output of a command: a report in the format that was asked for."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import typer

from assay.cli.terminal import OUTPUT_SETTINGS, Format, Terminal, echo
from assay.leakage import Audit, RunFolder, write_run
from assay.reports import (
    Report,
    print_report,
    print_statement,
    print_summary,
    render_annotations,
    render_csv,
    render_json,
    render_latex,
    render_markdown,
    write_html,
)
from assay.testbed import describe_run

PAGE = "report.html"
RENDERERS: Mapping[Format, Callable[[Report], str]] = {
    "json": render_json,
    "csv": render_csv,
    "markdown": render_markdown,
    "latex": render_latex,
    "github": render_annotations,
}


def chosen_format() -> Format:
    """Return the format that --json or --format names, "table" without one."""
    return OUTPUT_SETTINGS.get().form or "table"


def show(report: Report, form: Format, page: Path | None = None, *, summary: bool = False, err: bool = False) -> None:
    """Print a report.

    Args:
        report: what is printed.
        form: its format.
        page: of the report, named after a table.
        summary: print tables only with --verbose.
        err: print on standard error, because standard output holds the result itself.
    """
    if form != "table":
        typer.echo(RENDERERS[form](report), nl=False, err=err)
        return
    settings, console = OUTPUT_SETTINGS.get(), Terminal(stderr=err)
    if settings.quiet:
        print_statement(report, console)
        return
    if summary and not settings.verbose:
        print_summary(report, console)
    else:
        print_report(report, console)
    if page is not None:
        console.print(f"Report: {page}", soft_wrap=True)


def present(audit: Audit, manifest: Mapping[str, object], folder: RunFolder) -> None:
    """Write the run folder with its page, and show the run.

    Raises:
        DataError: the folder cannot be written.
    """
    write_run(folder.path, audit, manifest)
    folder.finish()
    present_run(folder.path, chosen_format(), summary=True)


def present_run(folder: Path, form: Format, *, summary: bool = False, draw: bool = True) -> None:
    """Show a run; with `summary` its tables only with --verbose. With `draw` its page is written before.

    Raises:
        DataError: the folder cannot be read, or the page cannot be written.
    """
    report = describe_run(folder)
    show(report, form, write_html(report, folder / PAGE) if draw else folder / PAGE, summary=summary)
    settings = OUTPUT_SETTINGS.get()
    if summary and form == "table" and not (settings.quiet or settings.verbose):
        echo(f"Next: assay report {shlex.quote(str(folder))}  (all tables)")
