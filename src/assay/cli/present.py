"""The output of a command: a report in the format that was asked for."""

import shlex
from pathlib import Path

import typer

from assay.cli.terminal import OUTPUT_SETTINGS, WIDE, Format, Terminal, echo
from assay.leakage import describe_run
from assay.reports import (
    RENDERERS,
    Report,
    print_report,
    print_statement,
    print_summary,
    write_html,
)
from assay.run import PAGE


def chosen_format() -> Format:
    """Return the format that --json or --format names, "table" without one."""
    return OUTPUT_SETTINGS.get().form or "table"


def show(
    report: Report,
    form: Format | None = None,
    page: Path | None = None,
    *,
    summary: bool = False,
    whole: bool = False,
    err: bool = False,
    width: int = WIDE,
) -> None:
    """Print a report.

    Args:
        report: what is printed.
        form: its format; None for the one that the command line names.
        page: of the report, named after a table.
        summary: print tables only with --verbose; always so where the report has an answer.
        whole: print tables all the same.
        err: print on standard error, because standard output holds the result itself.
        width: of its lines in a pipe.
    """
    form = form or chosen_format()
    if form != "table":
        typer.echo(RENDERERS[form](report), nl=False, err=err)
        return
    settings, console = OUTPUT_SETTINGS.get(), Terminal(stderr=err, width=width)
    if settings.quiet:
        print_statement(report, console)
        return
    if (summary or report.answer is not None) and not (settings.verbose or whole):
        print_summary(report, console)
    else:
        print_report(report, console)
    if page is not None:
        console.print(f"Report: {page}", soft_wrap=True)


def present_run(folder: Path, *, summary: bool = False, draw: bool = True) -> None:
    """Show a run; with `summary` its tables only with --verbose. With `draw` its page is written before.

    Raises:
        DataError: the folder cannot be read, or the page cannot be written.
    """
    report = describe_run(folder)
    show(report, page=write_html(report, folder / PAGE) if draw else folder / PAGE, summary=summary)
    settings = OUTPUT_SETTINGS.get()
    if summary and chosen_format() == "table" and not (settings.quiet or settings.verbose):
        echo(f"More: assay report {shlex.quote(str(folder))} -v  (all tables)")
