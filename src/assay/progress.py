"""Progress and warnings of long calls, on standard error: a bar on a terminal or in a notebook, else lines."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Lock, Thread

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from assay.escaping import visible

ProgressReport = Callable[[int, int], None]
"""Called with what is done and with all that there is to do."""

ERRORS = Console(stderr=True)
PERIOD = 30.0
"""Seconds between two lines of progress where there is no terminal."""


@dataclass(frozen=True, slots=True)
class Reporting:
    """Messages on standard error beside errors.

    Attributes:
        warnings: print warnings.
        progress: show progress.
    """

    warnings: bool = True
    progress: bool = True


REPORTING: ContextVar[Reporting] = ContextVar("assay_reporting", default=Reporting())  # noqa: B039  it is frozen


def warn(message: str) -> None:
    """Print one line on standard error."""
    if REPORTING.get().warnings:
        _print_line(f"assay: warning: {message}")


def inform(message: str) -> None:
    """Print one line of information on standard error."""
    if REPORTING.get().warnings:
        _print_line(f"assay: note: {message}")


def _share(done: int, total: int) -> float:
    return done / total if total else 0.0


def _columns() -> tuple[ProgressColumn, ...]:
    return (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("texts"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )


class Phases:
    """Progress of work that has parts: a call moves the bar, `phase` names the part that begins."""

    def __init__(self, report: ProgressReport, rename: Callable[[str], None]) -> None:
        self._report, self.phase = report, rename

    def __call__(self, done: int, total: int) -> None:
        """Report the state of the part."""
        self._report(done, total)


@contextmanager
def progress_bar(description: str, *, shown: bool = True) -> Iterator[Phases | None]:
    """Show a bar with the rate and the time left, or lines where there is no terminal; yield None if not `shown`."""
    if not shown or not REPORTING.get().progress:
        yield None
        return
    if not is_live():
        lines = ProgressLines(description)
        # by a thread of its own, because a log that stays silent for minutes looks like one of a program that hangs
        with lines.repeated():
            yield Phases(
                lambda done, total: lines.report(f"{done:,} of {total:,} texts", _share(done, total)), lines.begin
            )
        return
    with Progress(*_columns(), console=ERRORS, transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield Phases(
            lambda done, total: bar.update(task, completed=done, total=total),
            lambda name: bar.reset(task, description=name, total=None),
        )


class ProgressLines:
    """Progress as lines on standard error, at most one each `PERIOD` seconds; a short call prints none.

    Args:
        description: of the work.
        clock: seconds from any start.
    """

    def __init__(self, description: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._description = description
        self._clock = clock
        self._began = self._last = clock()
        self._reached, self._share = "", 0.0
        self._first = self._began, 0.0
        self._lock = Lock()

    def begin(self, description: str) -> None:
        """Name the part of the work that begins."""
        self._description, self._reached, self._share = description, "", 0.0

    def report(self, reached: str, share: float = 0.0) -> None:
        """Take the state of the work, and print a line if the last one is old enough.

        The time that is left is estimated from the work after the first report of a share, which also waited for a
        model to be loaded.

        Args:
            reached: the amount of work that is done, in words.
            share: the same as a share of the whole; 0 where the whole is not known.
        """
        if not 0 < self._share <= share:  # the first share, or that of other work
            self._first = self._clock(), share
        self._reached, self._share = reached, share
        self.repeat()

    def repeat(self) -> None:
        """Print the last state if the last line is old enough."""
        # the work and the thread of `repeated` may come at once: one of them prints
        with self._lock:
            now = self._clock()
            if now - self._last < PERIOD:
                return
            self._last = now
            state = ", ".join(filter(None, (self._reached, time_in_words(now - self._began))))
            _print_line(f"assay: {self._description}: {state}{self._left(now)}")

    @contextmanager
    def repeated(self) -> Iterator[None]:
        """Print the last state each `PERIOD` seconds until the block ends, even if nothing is reported."""
        ended = Event()

        def repeat() -> None:
            while not ended.wait(max(0.1, self._last + PERIOD - self._clock())):
                self.repeat()

        thread = Thread(target=repeat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _left(self, now: float) -> str:
        # the rate since the first share, so that what came before it, such as loading a model, does not count
        first, before = self._first
        if not before < self._share < 1 or now <= first:
            return ""
        return f", about {time_in_words((now - first) * (1 - self._share) / (self._share - before))} left"


def time_in_words(seconds: float) -> str:
    """Return a time in words: `45 s`, `3 min`, `2 h 5 min`."""
    minutes = round(seconds / 60)
    if seconds < 90:  # noqa: PLR2004  up to here seconds are the natural unit
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004


def is_live() -> bool:
    """Return True where a bar can be drawn: on a terminal or in a notebook."""
    return ERRORS.is_terminal or ERRORS.is_jupyter


def _print_line(line: str) -> None:
    ERRORS.print(visible(line), markup=False, highlight=False, soft_wrap=True)
