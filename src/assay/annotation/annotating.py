"""The accuracy of a model on contaminated, clean and unknown tasks, from an evaluation log and a run or an index."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal

import numpy as np

from assay.annotation.task_results import TaskResult
from assay.errors import DataError
from assay.evaluation import Estimate, difference_of_means, grouped_mean
from assay.leakage import Audit, named_samples
from assay.provenance import Searchable
from assay.reports import TabularResult
from assay.scan.contamination import PRESENT_KINDS, SAME_TASK, trace_benchmark
from assay.types import MEMBER, NONMEMBER, Float64Array, Sample

TaskStatus = Literal["contaminated", "clean", "unknown"]
TASK_STATUSES: tuple[TaskStatus, ...] = ("contaminated", "clean", "unknown")
ORDER_NAMES: Mapping[TaskStatus, str] = {
    "contaminated": "upper half",
    "clean": "lower half",
    "unknown": "unknown",
}
"""Status → its name where the split is only one by the order of the scores, which accuses no task."""
LABEL_STATUSES: Mapping[str | None, TaskStatus] = {MEMBER: "contaminated", NONMEMBER: "clean"}
SplitBasis = Literal["index", "labels", "q-values", "order"]


@dataclass(frozen=True, slots=True)
class TaskSplit:
    """Tasks by what is known about their contamination.

    Attributes:
        statuses: id of a task → its status; a task that is not in it is unknown.
        groups: id of a task → its group, if it has one.
        basis: on which the split rests.
        explanation: the same in a sentence or two.
    """

    statuses: Mapping[str, TaskStatus]
    groups: Mapping[str, str | None]
    basis: SplitBasis
    explanation: str

    @property
    def names_tasks(self) -> bool:
        """False where the two parts are only the upper and the lower half of a score."""
        return self.basis != "order"


@dataclass(frozen=True, slots=True, repr=False)
class AnnotatedTasks(TabularResult):
    """Results of tasks with their status.

    Attributes:
        name: of the log.
        tasks: in the order of the log.
        statuses: one per task.
        split: on which the statuses rest.
        accuracy: status → accuracy over the tasks with an outcome, with its interval.
        counts: status → number of tasks, and how many of them have an outcome.
        difference: accuracy on contaminated minus accuracy on clean tasks, with its interval over groups.
        notes: what was guessed.
    """

    name: str
    tasks: tuple[TaskResult, ...]
    statuses: tuple[TaskStatus, ...]
    split: TaskSplit
    accuracy: Mapping[TaskStatus, Estimate]
    counts: Mapping[TaskStatus, tuple[int, int]]
    difference: Estimate
    notes: tuple[str, ...] = ()

    def named(self, status: TaskStatus) -> str:
        """Return the status as it may be printed: where no task is named, the half of the scores that it lies in."""
        return status if self.split.names_tasks else ORDER_NAMES[status]

    def clean_ids(self) -> list[str]:
        """Return the ids of the tasks that are not contaminated, the unknown ones included.

        Raises:
            DataError: no single task is named, so that there is nothing to leave out.
        """
        if not self.split.names_tasks:
            raise DataError(
                "no cleaned list: the audit names no single task; expected --index, or an audit in which tasks stand "
                "out"
            )
        is_clean = (status != "contaminated" for status in self.statuses)
        return [task.id for task in compress(self.tasks, is_clean)]


def annotate_tasks(
    name: str, tasks: Sequence[TaskResult], split: TaskSplit, notes: Sequence[str] = ()
) -> AnnotatedTasks:
    """Return the accuracy on each part of a split, and the difference between contaminated and clean tasks.

    Args:
        name: of the log.
        tasks: with their outcomes.
        split: of the tasks.
        notes: what was guessed.
    """
    statuses: tuple[TaskStatus, ...] = tuple(split.statuses.get(task.id, "unknown") for task in tasks)

    def part(*chosen: TaskStatus) -> tuple[list[float], list[str | None], list[bool]]:
        """Return value, group and whether it has the first status, of each task with an outcome."""
        values, groups, is_first = [], [], []
        for task, status in zip(tasks, statuses, strict=True):
            if status in chosen and task.correct is not None:
                values.append(task.correct)
                groups.append(split.groups.get(task.id))
                is_first.append(status == chosen[0])
        return values, groups, is_first

    accuracy, counts = {}, {}
    for status in TASK_STATUSES:
        values, groups, _ = part(status)
        accuracy[status] = grouped_mean(values, groups)
        counts[status] = statuses.count(status), len(values)
    compared, groups, is_contaminated = part("contaminated", "clean")
    return AnnotatedTasks(
        name=name,
        tasks=tuple(tasks),
        statuses=statuses,
        split=split,
        accuracy=accuracy,
        counts=counts,
        difference=difference_of_means(compared, is_contaminated, groups),
        notes=tuple(notes),
    )


def split_by_audit(audit: Audit, tasks: Sequence[TaskResult]) -> TaskSplit:
    """Split tasks by an audit: by its labels, else by the tasks that it names, else by the order of the scores.

    A task belongs to the sample with its id, else to the sample with its text.

    Raises:
        DataError: no task of the log is in the audit.
    """
    samples = _samples_of(audit, tasks)
    if not samples:
        raise DataError(
            f"no task of the log is in the audit of {audit.benchmark}: ids such as {tasks[0].id!r} and "
            f"{audit.samples[0].id!r} differ, and so do the texts; expected an audit of the same tasks, "
            "or --columns id=NAME"
        )
    groups = {task: audit.samples[place].group for task, place in samples.items()}
    labels = {task: audit.samples[place].label for task, place in samples.items()}
    if {MEMBER, NONMEMBER} <= set(labels.values()):
        statuses = {task: LABEL_STATUSES[label] for task, label in labels.items() if label in LABEL_STATUSES}
        explanation = "The split rests on the labels of the audited data."
        return TaskSplit(statuses, groups, basis="labels", explanation=explanation)
    named = named_samples(audit)
    if named.score is not None and named.samples:
        scored = _scored(samples, audit.values[named.score])
        ids = {sample.sample_id for sample in named.samples}
        statuses = {task: _status(audit.samples[samples[task]].id in ids) for task in scored}
        explanation = (
            f"The split rests on the {len(named.samples):,} tasks that the audit names ({named.score}, "
            f"q ≤ {named.level:g}). A task that is not named may be contaminated all the same."
        )
        return TaskSplit(statuses, groups, basis="q-values", explanation=explanation)
    # no task is accused: the median makes two parts of one size, whose accuracies can be compared
    scored = _scored(samples, audit.values[audit.primary])
    middle = float(np.median(list(scored.values()))) if scored else 0.0
    statuses = {task: _status(value > middle) for task, value in scored.items()}
    explanation = (
        f"The audit names no single task ({named.reason}), so the split rests on the order of the scores: "
        f"'upper half' are the tasks with the higher {audit.primary}, 'lower half' those with the lower one. It shows "
        "a tendency and accuses no task."
    )
    return TaskSplit(statuses, groups, basis="order", explanation=explanation)


def _status(is_contaminated: bool) -> TaskStatus:  # noqa: FBT001
    return "contaminated" if is_contaminated else "clean"


def _scored(samples: Mapping[str, int], values: Float64Array) -> dict[str, float]:
    """Return the values of the tasks that have one, by id."""
    return {task: float(values[place]) for task, place in samples.items() if not np.isnan(values[place])}


def _samples_of(audit: Audit, tasks: Sequence[TaskResult]) -> dict[str, int]:
    """Return the positions of the tasks' samples, by id of the task."""
    # a log may number its tasks in its own way; then the text still says which sample a task is
    by_id, by_text = {}, {}
    for place, sample in enumerate(audit.samples):
        by_id[sample.id] = by_text[sample.text.strip()] = place
    samples = {}
    for task in tasks:
        place = by_id.get(task.id, by_text.get(task.text.strip(), -1))
        if place >= 0:
            samples[task.id] = place
    return samples


def split_by_index(
    index: Searchable,
    tasks: Sequence[TaskResult],
    samples: Sequence[Sample] = (),
    *,
    progress: Callable[[int, int], None] | None = None,
) -> TaskSplit:
    """Split tasks by their presence in an index of training data.

    Args:
        index: of the corpus.
        tasks: with texts, or with the ids of `samples`.
        samples: texts of the tasks by id, where the log has none.
        progress: is called with the tasks done and their total.

    Raises:
        DataError: no task has a text.
    """
    by_id = {task.id: Sample(task.id, task.text) for task in tasks if task.text.strip()}
    # the text of a log may be a whole prompt with examples; the sample of the benchmark is the task alone
    by_id |= {sample.id: sample for sample in samples}
    texts = [by_id[task.id] for task in tasks if task.id in by_id]
    if not texts:
        raise DataError("the log has no texts of its tasks: expected --benchmark, which names them by their ids")
    traced = trace_benchmark(texts, index, benchmark="the log", progress=progress)
    statuses = {}
    for place in traced.samples:
        if place.kind not in ("too short", SAME_TASK):
            statuses[place.sample_id] = _status(place.kind in PRESENT_KINDS)
    explanation = (
        f"The split rests on an index of {traced.documents:,} documents: a task is contaminated where its text occurs "
        "there (type 1, type 2 or near-duplicate), clean where it does not, unknown where it is too short or only the "
        "words of the task occur. An index of a part of the training data misses the rest."
    )
    groups = {sample.id: sample.group for sample in texts}
    return TaskSplit(statuses, groups, basis="index", explanation=explanation)


def with_texts(tasks: Sequence[TaskResult], samples: Sequence[Sample]) -> tuple[TaskResult, ...]:
    """Return the tasks with the texts of a benchmark, by id."""
    texts = {sample.id: sample.text for sample in samples}
    return tuple(replace(task, text=texts.get(task.id, task.text)) for task in tasks)
