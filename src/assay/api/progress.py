"""Progress and warnings of long calls, on standard error: a bar on a terminal or in a notebook, nothing in a pipe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assay.escaping import visible

if TYPE_CHECKING:  # these import numpy and more; a command's --help does not wait for them
    from assay.provenance import BuildCounts, FileCount, SourceProgress
    from assay.provenance import BuildProgress as FilesReport
    from assay.scoring import Progress as Report

ERRORS = Console(stderr=True)


def warn(message: str) -> None:
    """Print one line on standard error."""
    ERRORS.print(visible(f"assay: warning: {message}"), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar(description: str, *, shown: bool = True) -> "Iterator[Report | None]":
    """Show a bar with the rate and the time left; yield None where there is no terminal, or `shown` is False."""
    if not shown or not (ERRORS.is_terminal or ERRORS.is_jupyter):
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("texts"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=ERRORS, transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def files_bar(
    description: str, count: "Callable[[], FileCount]", *, shown: bool = True
) -> "Iterator[FilesReport | None]":
    """Show a bar with files, rates and time left; yield None, and do not call `count`, where there is no terminal."""
    if not shown or not (ERRORS.is_terminal or ERRORS.is_jupyter):
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[files]} files{task.fields[rates]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=ERRORS, transient=True) as bar:
        expected = count()
        task = bar.add_task(description, total=None, files="0", rates="")

        def report(counts: "BuildCounts", reached: "SourceProgress") -> None:
            expected.reached(reached.source, reached.files, reached.share)
            done, total = expected.done, expected.total
            seconds = max(counts.seconds, 0.1)
            rates = f", {counts.files / seconds:,.0f}/s, {counts.bytes / seconds / 1e6:.1f} MB/s"
            rates += f", {counts.documents:,} documents"
            files = f"{done:,}/{total:,}" if total else f"{done:,}"
            # shares of 1, not files: the time left starts anew whenever a total changes, and estimates do
            bar.update(
                task, completed=done / total if total else 0, total=1 if total else None, files=files, rates=rates
            )

        yield report
