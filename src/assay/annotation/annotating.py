"""The accuracy of a model on contaminated, clean and unknown tasks, from an evaluation log and an audit or a scan."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import compress, starmap
from operator import attrgetter
from typing import Literal

import numpy as np

from assay.annotation.matching import matched_ids
from assay.annotation.task_results import TaskResult
from assay.errors import DataError
from assay.evaluation import Estimate, difference_of_means, grouped_mean, unknown
from assay.leakage import Audit, named_samples
from assay.reports import TabularResult, number_of
from assay.scan import ScanEvidence, TaskEvidence
from assay.types import MEMBER, NONMEMBER, Float64Array

TaskStatus = Literal["contaminated", "clean", "unknown"]
TASK_STATUSES: tuple[TaskStatus, ...] = ("contaminated", "clean", "unknown")
ORDER_NAMES: Mapping[TaskStatus, str] = {
    "contaminated": "upper half",
    "clean": "lower half",
    "unknown": "unknown",
}
"""Status → its name where the split is only one by the order of the scores, which accuses no task."""
EVIDENCE_NAMES: Mapping[TaskStatus, str] = {
    "contaminated": "found",
    "clean": "not found",
    "unknown": "too short or not scanned",
}
"""Status → its name where a scan of training data decides: what was not found is not clean."""
EVIDENCE_STATUSES: Mapping[str, TaskStatus] = {
    "found": "contaminated",
    "not found": "clean",
    "too short to tell": "unknown",
}
PARTS: tuple[TaskStatus, TaskStatus] = ("clean", "contaminated")
"""Status of a task that is not in the contaminated part, and of one that is."""
LABEL_STATUSES: Mapping[str | None, TaskStatus] = {MEMBER: "contaminated", NONMEMBER: "clean"}
SplitBasis = Literal["scan", "labels", "q-values", "order"]
NAMES: Mapping[SplitBasis, Mapping[TaskStatus, str]] = {"order": ORDER_NAMES, "scan": EVIDENCE_NAMES}


@dataclass(frozen=True, slots=True)
class TaskSplit:
    """Tasks by what is known about their contamination.

    Attributes:
        statuses: id of a task → its status; a task that is not in it is unknown.
        groups: id of a task → its group, if it has one.
        basis: on which the split rests.
        explanation: the same in a sentence or two.
        evidence: id of a task → what a scan says of it; empty for an audit.
    """

    statuses: Mapping[str, TaskStatus]
    groups: Mapping[str, str | None]
    basis: SplitBasis
    explanation: str
    evidence: Mapping[str, TaskEvidence] = field(default_factory=dict)

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
        score: accuracy over all tasks with an outcome.
        corrected: the same without the contaminated tasks; not measured where the split names no task.
        change: corrected minus score, with its interval.
        notes: what was guessed.
    """

    name: str
    tasks: tuple[TaskResult, ...]
    statuses: tuple[TaskStatus, ...]
    split: TaskSplit
    accuracy: Mapping[TaskStatus, Estimate]
    counts: Mapping[TaskStatus, tuple[int, int]]
    difference: Estimate
    score: Estimate
    corrected: Estimate
    change: Estimate
    notes: tuple[str, ...] = ()

    def named(self, status: TaskStatus) -> str:
        """Return the status as it may be printed: where no task is named, the half of the scores that it lies in."""
        return NAMES.get(self.split.basis, {}).get(status, status)

    def rows(self) -> list[dict[str, object]]:
        """Return what is known of each task, for a file: outcome, status, and the places that hold it."""
        rows = []
        for task, status in zip(self.tasks, self.statuses, strict=True):
            row: dict[str, object] = {"id": task.id, "correct": task.correct, "status": self.named(status)}
            if task.problem is not None:
                row["problem"] = task.problem
            # a file says of a task what the scan said: not found, never clean
            if entry := self.split.evidence.get(task.id):
                row |= {"status": entry.status, "places": list(map(asdict, entry.places))}
            elif self.split.basis == "scan":
                row |= {"status": "not in the evidence", "places": []}
            rows.append(row)
        return rows

    def clean_ids(self) -> list[str]:
        """Return the ids of the tasks that are not contaminated, the unknown ones included.

        Raises:
            DataError: no single task is named, so that there is nothing to leave out.
        """
        if not self.split.names_tasks:
            raise DataError(
                "no cleaned list: the audit names no single task; expected --scan, or an audit in which tasks stand out"
            )
        paired = zip(self.tasks, self.statuses, strict=True)
        return [task.id for task, status in paired if status != "contaminated"]


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
    statuses = tuple(split.statuses.get(task.id, "unknown") for task in tasks)
    # None is NaN
    outcomes = np.array(list(map(attrgetter("correct"), tasks)), np.float64)
    has_outcome = ~np.isnan(outcomes)
    scored = list(compress(tasks, has_outcome))
    scored_statuses = np.array(statuses)[has_outcome]
    values = outcomes[has_outcome]
    groups = list(map(split.groups.get, map(attrgetter("id"), scored)))

    def mean(*chosen: TaskStatus) -> Estimate:
        inside = np.isin(scored_statuses, chosen)
        return grouped_mean(values[inside], list(compress(groups, inside)))

    def difference(*chosen: TaskStatus) -> Estimate:
        """Return the mean of the first status minus that of the others."""
        inside = np.isin(scored_statuses, chosen)
        is_first = scored_statuses[inside] == chosen[0]
        return difference_of_means(values[inside], is_first, list(compress(groups, inside)))

    with_outcome = Counter(scored_statuses.tolist())
    named = split.names_tasks
    return AnnotatedTasks(
        name=name,
        tasks=tuple(tasks),
        statuses=statuses,
        split=split,
        accuracy=dict(zip(TASK_STATUSES, map(mean, TASK_STATUSES), strict=True)),
        counts={status: (statuses.count(status), with_outcome[status]) for status in TASK_STATUSES},
        difference=difference("contaminated", "clean"),
        score=mean(*TASK_STATUSES),
        corrected=mean("clean", "unknown") if named else unknown(),
        # against all others, the unknown tasks among them: these are what the corrected score keeps
        change=_change(difference(*TASK_STATUSES), with_outcome["contaminated"] / max(1, len(scored))),
        notes=tuple(notes),
    )


def _change(difference: Estimate, share: float) -> Estimate:
    """Return the mean without a part minus the mean of all, from the mean of the part minus that of the rest.

    With a share p of tasks in the part, the mean of all is p · part + (1 - p) · rest, so that rest minus all is
    p · (rest - part).
    """
    if share == 0:
        return Estimate(0.0, reason="no task is contaminated")
    # the sign turns, so the ends change places
    ends = -share * difference.high, -share * difference.low
    return replace(difference, value=-share * difference.value, low=ends[0], high=ends[1])


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
    chosen = list(map(audit.samples.__getitem__, samples.values()))
    groups = dict(zip(samples, map(attrgetter("group"), chosen), strict=True))
    labels = dict(zip(samples, map(attrgetter("label"), chosen), strict=True))
    # labels of one kind alone would leave one part empty
    if {MEMBER, NONMEMBER} <= set(labels.values()):
        statuses = {task: LABEL_STATUSES[label] for task, label in labels.items() if label in LABEL_STATUSES}
        explanation = "The split rests on the labels of the audited data."
        return TaskSplit(statuses, groups, basis="labels", explanation=explanation)
    named = named_samples(audit)
    if named.score is not None and named.samples:
        scored = _scored(samples, audit.values[named.score])
        ids = set(map(attrgetter("sample_id"), named.samples))
        # of tasks with a value alone: one that was not scored is unknown, not clean
        statuses = {task: PARTS[audit.samples[samples[task]].id in ids] for task in scored}
        explanation = (
            f"The split rests on {number_of(len(named.samples), 'task')} that the audit names ({named.score}, "
            f"q ≤ {named.level:g}). A task that is not named may be contaminated all the same."
        )
        return TaskSplit(statuses, groups, basis="q-values", explanation=explanation)
    # no task is accused: the median makes two parts of one size, whose accuracies can be compared
    scored = _scored(samples, audit.values[audit.primary])
    middle = float(np.median(list(scored.values()))) if scored else 0.0
    # what ties with the median is in the lower part
    statuses = {task: PARTS[value > middle] for task, value in scored.items()}
    explanation = (
        f"The audit names no single task ({named.reason}), so the split rests on the order of the scores: "
        f"'upper half' are the tasks with the higher {audit.primary}, 'lower half' those with the lower one. It shows "
        "a tendency and accuses no task."
    )
    return TaskSplit(statuses, groups, basis="order", explanation=explanation)


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


def split_by_evidence(
    evidence: ScanEvidence, tasks: Sequence[TaskResult], note: Callable[[str], None] = lambda _: None
) -> TaskSplit:
    """Split tasks by what `assay scan` found in training data.

    Of several benchmarks in the evidence, the one with most of the tasks is taken.

    Raises:
        DataError: no task of the log is in the evidence.
    """
    scanned: dict[str, dict[str, TaskEvidence]] = {}
    for entry in evidence.tasks:
        scanned.setdefault(entry.benchmark, {})[entry.task_id] = entry
    name, matches, guessed = "", dict[str, str](), list[str]()
    for benchmark, entries_of in scanned.items():
        notes: list[str] = []
        # what is guessed for a benchmark is reported only if it is the one that is taken
        matched = matched_ids(tasks, list(entries_of), benchmark, note=notes.append)
        if len(matched) > len(matches):
            name, matches, guessed = benchmark, matched, notes
    if not matches:
        raise DataError(
            f"no task of the log is in the evidence, which is on {', '.join(scanned)}: ids such as {tasks[0].id!r} and "
            f"{evidence.tasks[0].task_id!r} differ; expected a scan for the same benchmark, or --columns id=NAME"
        )
    for sentence in guessed:
        note(sentence)
    entries = dict(zip(matches, map(scanned[name].__getitem__, matches.values()), strict=True))
    absent = len(tasks) - len(entries)
    if absent:
        note(f"{absent:,} {'tasks are' if absent > 1 else 'task is'} not in the evidence on {name}")
    if evidence.unread:
        note(f"{evidence.unread:,} texts and files of the data were not read, and may hold tasks that were not found")
    return TaskSplit(
        {task: EVIDENCE_STATUSES[entry.status] for task, entry in entries.items()},
        groups={},
        basis="scan",
        explanation=f"The split rests on a scan of {number_of(evidence.compared, 'text')} for {name}. "
        f"{_compared(entries.values())} A task that was not found may stand in other data, or in other words.",
        evidence=entries,
    )


def _compared(entries: Iterable[TaskEvidence]) -> str:
    """Return a sentence on the text by which tasks were found: prompts alone stand in many places."""
    parts: Counter[str] = Counter()
    for task in entries:
        parts[" and ".join(sorted(set(map(attrgetter("part"), task.places))))] += 1
    del parts[""]  # tasks without a place
    if not parts:
        return "No task was found."
    listed = ", ".join(starmap("{1:,} by their {0}".format, parts.most_common()))
    return f"Tasks were found by the text of their parts: {listed}."
