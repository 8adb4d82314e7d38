"""Progress and warnings of long calls, on standard error: a bar on a terminal or in a notebook, else lines."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock, Thread

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from assay.escaping import visible

ProgressReport = Callable[[int, int], None]
"""Called with what is done and with all that there is to do."""

ERRORS = Console(stderr=True)
PERIOD = 30.0
"""Seconds between two lines of progress where there is no terminal."""
ELSEWHERE = 0.1
"""Processor seconds a second below which work runs elsewhere."""
OF_EACH_CORE = " of each processor core"


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


class _Description(TextColumn):
    """The name of the work, which gives way where a terminal is narrow: the figures stay."""

    def render(self, task: Task) -> Text:
        text = super().render(task)
        text.no_wrap, text.overflow = True, "ellipsis"
        return text


def _columns(unit: str) -> tuple[ProgressColumn, ...]:
    return (
        _Description("{task.description}", table_column=Column()),
        BarColumn(),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TextColumn(unit),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[left]}"),
    )


class WorkClock:
    """Processor seconds of work on each core since the beginning, which other programs on the machine do not change.

    What runs elsewhere, on a server or an accelerator, takes hardly any: then the time that passes counts.
    """

    def __init__(self) -> None:
        self._began, self._worked = time.perf_counter() - seconds_waited(), time.process_time()

    def __call__(self) -> float:
        """Return the seconds until now."""
        # on a busy machine a program stands in the queue for longer than it works, which is no work elsewhere
        passed, worked = time.perf_counter() - seconds_waited() - self._began, time.process_time() - self._worked
        # clocks of coarse steps may not have moved yet, one of them or both
        if passed <= 0 or worked <= ELSEWHERE * passed:
            return passed
        # k busy cores use k seconds of a processor in a second; rounded, because other programs take a part of each
        return worked / max(1, round(worked / passed))


def seconds_waited() -> float:
    """Return the seconds for which this program was ready and other programs had the processor; 0 if not known."""
    try:
        return int(Path("/proc/self/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class TimeLeft:
    """The time that work still takes, from the share of it that is done.

    The time before the first share counts for nothing, as it was also spent on a model that had to be loaded. Each new
    estimate corrects the last one, the more the longer that one is ago, so that what is printed does not jump.

    Args:
        clock: seconds from any start.
        unit: printed after the time.
    """

    def __init__(self, clock: Callable[[], float], unit: str = "") -> None:
        self._clock, self._unit = clock, unit
        self._first = self._last = clock()
        self._before = self._share = 0.0
        self._left: float | None = None

    def reach(self, share: float) -> None:
        """Take the share of the work that is done; a smaller one than before is that of other work."""
        if not 0 < self._share <= share:
            self._first, self._before, self._left = self._clock(), share, None
        self._share = share

    def words(self) -> str:
        """Return the time that is left, as "about 3 min left"; empty where nothing is known of it."""
        now = self._clock()
        if not self._before < self._share < 1 or now <= self._first:
            return ""
        estimate = (now - self._first) * (1 - self._share) / (self._share - self._before)
        if self._left is not None:
            since = now - self._last
            expected = max(0.0, self._left - since)
            # exponential smoothing: the new estimate has half of the weight when the last one is PERIOD old
            estimate = expected + since / (since + PERIOD) * (estimate - expected)
        self._left, self._last = estimate, now
        return f"about {time_in_words(estimate)}{self._unit} left"


class Phases:
    """Progress of work that has parts: a call moves the bar, `phase` names the part that begins."""

    def __init__(self, report: ProgressReport, rename: Callable[[str], None]) -> None:
        self._report, self.phase = report, rename

    def __call__(self, done: int, total: int) -> None:
        """Report the state of the part."""
        self._report(done, total)


@contextmanager
def progress_bar(
    description: str, *, unit: str = "texts", shown: bool = True, by_core: bool = False
) -> Iterator[Phases | None]:
    """Show a bar with the rate and the time left, or lines where there is no terminal; yield None if not `shown`.

    Args:
        description: of the work.
        unit: of what is done, in the plural.
        shown: False for none.
        by_core: the time left is that of each processor core, see `WorkClock`.
    """
    if not shown or not REPORTING.get().progress:
        yield None
        return
    left = TimeLeft(WorkClock(), OF_EACH_CORE) if by_core else TimeLeft(time.monotonic)
    if not is_live():
        lines = ProgressLines(description, left=left)
        # by a thread of its own, because a log that stays silent for minutes looks like one of a program that hangs
        with lines.repeated():
            yield Phases(
                lambda done, total: lines.report(f"{done:,} of {total:,} {unit}", _share(done, total)), lines.begin
            )
        return
    with Progress(*_columns(unit), console=ERRORS, transient=True) as bar:
        task = bar.add_task(description, total=None, left="")

        def update(done: int, total: int) -> None:
            left.reach(_share(done, total))
            bar.update(task, completed=done, total=total, left=left.words())

        yield Phases(update, lambda name: bar.reset(task, description=name, total=None, left=""))


class ProgressLines:
    """Progress as lines on standard error, at most one each `PERIOD` seconds; a short call prints none.

    Args:
        description: of the work.
        clock: seconds from any start.
        left: the time left; None for that of the clock.
    """

    def __init__(
        self, description: str, clock: Callable[[], float] = time.monotonic, left: TimeLeft | None = None
    ) -> None:
        self._description = description
        self._clock = clock
        self._left = left or TimeLeft(clock)
        self._began = self._last = clock()
        self._reached = ""
        self._lock = Lock()

    def begin(self, description: str) -> None:
        """Name the part of the work that begins."""
        # the time left goes on, until less is done than before
        self._description, self._reached = description, ""

    def report(self, reached: str, share: float = 0.0) -> None:
        """Take the state of the work, and print a line if the last one is old enough.

        Args:
            reached: the amount of work that is done, in words.
            share: the same as a share of the whole; 0 where the whole is not known.
        """
        self._left.reach(share)
        self._reached = reached
        self.repeat()

    def repeat(self) -> None:
        """Print the last state if the last line is old enough."""
        # the work and the thread of `repeated` may come at once: one of them prints
        with self._lock:
            now = self._clock()
            if now - self._last < PERIOD:
                return
            self._last = now
            state = filter(None, (self._reached, time_in_words(now - self._began), self._left.words()))
            _print_line(f"assay: {self._description}: {', '.join(state)}")

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
    # one line for a log: rich would break it at 80 columns
    ERRORS.print(visible(line), markup=False, highlight=False, soft_wrap=True)
