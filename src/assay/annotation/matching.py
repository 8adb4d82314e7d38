"""Tasks of a log matched with those of a benchmark: harnesses spell ids in their own way, or number the tasks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter

from assay.annotation.outcomes import day_of
from assay.annotation.task_results import TaskResult
from assay.errors import DataError
from assay.types import Sample

DAY_COLUMNS = ("contest_date", "created_at", "date", "release_date")
"""Columns of a benchmark that hold the day on which a task was published."""


def matched_ids(
    tasks: Sequence[TaskResult], ids: Sequence[str], name: str, note: Callable[[str], None]
) -> dict[str, str]:
    """Return id in a log → id in a benchmark, of the tasks that it has.

    An id is the same one, whatever its case, or without what stands before its last slash: "HumanEval/0", "0". Where
    the log has numbers alone, number N is the N-th task, from 0.

    Args:
        tasks: of the log.
        ids: of the benchmark, in its order.
        name: of the benchmark.
        note: takes a sentence on what was guessed.
    """
    # one id that agrees shows that the log spells them as the benchmark does, so no other is guessed
    same = list(filter(set(ids).__contains__, map(attrgetter("id"), tasks)))
    if same:
        return dict(zip(same, same, strict=True))
    numbers = [task.number for task in tasks if task.number is not None]
    if len(numbers) == len(tasks):
        # a number behind the last task: the log is on another benchmark
        if max(numbers) >= len(ids):
            return {}
        note(f"the log numbers its tasks: number N was taken as the N-th task of {name}, from 0")
        return dict(zip(map(attrgetter("id"), tasks), map(ids.__getitem__, numbers), strict=True))
    matches: dict[str, str] = {}
    folded = _unambiguous(ids, str.casefold)
    last = _unambiguous(ids, _last_part)
    for task in tasks:
        match = folded.get(task.id.casefold(), last.get(_last_part(task.id)))
        if match is not None:
            matches[task.id] = match
    # two tasks of a log that are one of the benchmark: the spelling misleads
    return matches if len(set(matches.values())) == len(matches) else {}


def _last_part(name: str) -> str:
    return name.casefold().rpartition("/")[2]


def _unambiguous(ids: Sequence[str], spelling: Callable[[str], str]) -> dict[str, str]:
    """Return spelling → id, of the ids that no other one is spelt like."""
    # a spelling that two tasks share would give one the status of the other
    spelt: dict[str, str] = {}
    ambiguous = set()
    for each in ids:
        if spelt.setdefault(spelling(each), each) != each:
            ambiguous.add(spelling(each))
    return {key: value for key, value in spelt.items() if key not in ambiguous}


def with_texts(
    tasks: Sequence[TaskResult], samples: Sequence[Sample], name: str, note: Callable[[str], None]
) -> tuple[TaskResult, ...]:
    """Return the tasks with the ids, texts and days of a benchmark.

    Raises:
        DataError: the benchmark has none of the tasks.
    """
    by_id = dict(zip(map(attrgetter("id"), samples), samples, strict=True))
    matches = matched_ids(tasks, list(by_id), name, note=note)
    if not matches:
        raise DataError(
            f"no task of the log is in {name}: ids such as {tasks[0].id!r} and {samples[0].id!r} differ; "
            "expected the same tasks, or --columns id=NAME"
        )
    completed = []
    for task in tasks:
        sample = by_id.get(matches.get(task.id, ""))
        if sample is not None:
            days = filter(None, map(day_of, map(sample.metadata.get, DAY_COLUMNS)))
            task = replace(task, id=sample.id, text=sample.text, day=task.day or next(days, None))  # noqa: PLW2901
        completed.append(task)
    return tuple(completed)
