"""Results of single tasks, whatever harness wrote them, compared with the score that their log states."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from operator import attrgetter
from statistics import fmean

from assay.errors import DataError
from assay.reports import number_of

ROUNDING = 6e-5
"""Difference from a stated score that is rounding: harnesses write four digits or more."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Result of one task.

    Attributes:
        id: of the task.
        text: of the task, as the log has it; "" where it has none.
        correct: outcome between 0 and 1, the mean over repetitions; None where the file has no outcome.
        day: on which the task was published; None where the log does not say.
        problem: what the log says beside the outcome, such as "errored"; None for nothing.
        number: place in the benchmark, from 0, where the log has no other id; else None.
    """

    id: str
    text: str = ""
    correct: float | None = None
    day: date | None = None
    problem: str | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class LogColumns:
    """Places of the fields of a task in a log; None for the usual ones.

    Attributes:
        text: path of the text, see `values_at`.
        id: path of the id.
        metric: name of the metric or scorer; `scorer.key` where a scorer returns several values.
        outcome: path of the outcome; a file of any layout is then read by its paths alone.
        date: path of the day on which a task was published.
    """

    text: str | None = None
    id: str | None = None
    metric: str | None = None
    outcome: str | None = None
    date: str | None = None

    @property
    def paths(self) -> dict[str, str]:
        """Field → its path, of the named ones."""
        fields = {"id": self.id, "outcome": self.outcome, "text": self.text, "date": self.date}
        return {name: path for name, path in fields.items() if path is not None}


@dataclass(frozen=True, slots=True)
class StatedScore:
    """A mean outcome, between 0 and 1, that a harness states itself, and the place where it does."""

    value: float
    place: str


@dataclass(frozen=True, slots=True)
class TaskLog:
    """Content of one log.

    Attributes:
        harness: that wrote it.
        results: one for each attempt at a task.
        stated: scores of these results that the harness states.
        notes: what was guessed.
        columns: names of the fields of `LogColumns` that were read.
    """

    harness: str
    results: tuple[TaskResult, ...]
    stated: tuple[StatedScore, ...] = ()
    notes: tuple[str, ...] = ()
    columns: frozenset[str] = frozenset()


def check_stated(logs: Sequence[TaskLog]) -> None:
    """Compare the scores that logs state with the means of their results.

    A score in a file without results is one of all the results.

    Raises:
        DataError: they differ.
    """
    everything = merge_results(tuple(chain.from_iterable(map(attrgetter("results"), logs))))
    for log in logs:
        # a task counts once, however often it was tried, as harnesses count it
        tasks = merge_results(log.results) or everything
        outcomes = _outcomes(tasks)
        for score in log.stated:
            if outcomes and abs(fmean(outcomes) - score.value) > ROUNDING:
                raise DataError(
                    f"{score.place} states {100 * score.value:.2f} %, but the {number_of(len(outcomes), 'outcome')} "
                    f"read as {log.harness} have a mean of {100 * fmean(outcomes):.2f} %; expected the same: the log "
                    "is damaged, or of a version that assay does not know"
                )


def merge_results(results: Sequence[TaskResult]) -> tuple[TaskResult, ...]:
    """Return one result for each id, in the order of their first attempts."""
    attempts: defaultdict[str, list[TaskResult]] = defaultdict(list)
    for result in results:
        attempts[result.id].append(result)
    return tuple(map(_merged, attempts.values()))


def _merged(attempts: Sequence[TaskResult]) -> TaskResult:
    if len(attempts) == 1:
        return attempts[0]
    # an attempt without an outcome says nothing of the others
    outcomes = _outcomes(attempts)
    return replace(
        attempts[0],
        text=next(filter(None, map(attrgetter("text"), attempts)), ""),
        correct=fmean(outcomes) if outcomes else None,
        day=next(filter(None, map(attrgetter("day"), attempts)), None),
        problem=next(filter(None, map(attrgetter("problem"), attempts)), None),
    )


def _outcomes(tasks: Sequence[TaskResult]) -> list[float]:
    return [task.correct for task in tasks if task.correct is not None]


def younger_than(day: date, tasks: Sequence[TaskResult], note: Callable[[str], None]) -> tuple[TaskResult, ...]:
    """Return the tasks that were published after a day.

    Raises:
        DataError: no task has a date, or none is younger.
    """
    days = [task.day for task in tasks if task.day is not None]
    if not days:
        raise DataError("--after: no task has a date; expected --columns date=NAME, or a --benchmark with dates")
    if max(days) <= day:
        raise DataError(f"--after {day}: the youngest task is of {max(days)}; expected an earlier day")
    younger = tuple(task for task in tasks if task.day is not None and task.day > day)
    undated = f"; {len(tasks) - len(days):,} without a date were left out" * (len(days) < len(tasks))
    note(f"{len(younger):,} of {number_of(len(days), 'task')} are younger than {day}{undated}")
    return younger
