"""What a command leaves behind: the run folder, and its tables or its JSON on standard output."""

from collections.abc import Mapping
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from assay.leakage import Audit
from assay.pages import confounding_warning, headline, rich_table, tables, write_report, write_run


def present(audit: Audit, manifest: Mapping[str, object], folder: Path, *, as_json: bool) -> None:
    """Write the run folder and show the run.

    Raises:
        DataError: the folder cannot be written.
    """
    write_run(folder, audit, manifest)
    show(audit, write_report(folder), folder, as_json=as_json)


def show(audit: Audit, page: Path, folder: Path, *, as_json: bool) -> None:
    """A run on standard output: the warning first, the headline, the tables, where the report lies."""
    if as_json:
        typer.echo((folder / "summary.json").read_text("utf-8"), nl=False)
        return
    console = Console()
    warning = confounding_warning(audit)
    if warning:
        console.print(Text(f"Warning. {warning}", style="bold yellow"), soft_wrap=False)
        console.print()
    found = headline(audit)
    console.print(Text(found.statement, style="bold"))
    for sentence in found.details:
        console.print(Text(sentence))
    for table in tables(audit):
        console.print()
        console.print(rich_table(table))
    for note in audit.notes:
        console.print(Text(f"Note: {note}", style="dim"))
    console.print(Text(f"Report: {page}"))
