"""Annotated tasks as a report."""

import math

from assay.annotation.annotating import TASK_STATUSES, AnnotatedTasks
from assay.codec import encode
from assay.reports import Column, Report, Table, describe, percent

CAUSE = (
    "A difference is no proof that contamination helped: contaminated and clean tasks may differ in kind and "
    "difficulty."
)


@describe.register
def _(annotated: AnnotatedTasks) -> Report:
    """Return the report: accuracy on each part, and the difference."""
    table = Table.of(
        name="accuracy",
        title=f"Accuracy of {annotated.name}",
        items=TASK_STATUSES,
        columns=(
            Column("tasks", get=annotated.named),
            Column("n", "count", lambda status: annotated.counts[status][0]),
            Column("with an outcome", "count", lambda status: annotated.counts[status][1]),
            Column("accuracy", "share", get=annotated.accuracy.get, missing="no such task has an outcome"),
        ),
        caption=("In brackets: 95 % intervals over groups of tasks.", annotated.split.explanation),
    )
    per_task = []
    for task, status in zip(annotated.tasks, annotated.statuses, strict=True):
        per_task.append({"id": task.id, "correct": task.correct, "status": annotated.named(status)})
    return Report(
        title=f"Does {annotated.name} score higher on contaminated tasks?",
        statement=_statement(annotated),
        tables=(table,),
        notes=(CAUSE, *annotated.notes),
        data={
            "name": annotated.name,
            "basis": annotated.split.basis,
            "explanation": annotated.split.explanation,
            "counts": {annotated.named(status): annotated.counts[status][0] for status in TASK_STATUSES},
            "accuracy": encode({annotated.named(status): value for status, value in annotated.accuracy.items()}),
            "difference": encode(annotated.difference),
            "notes": list(annotated.notes),
            "per_task": per_task,
        },
        kind="annotated evaluation",
    )


def _statement(annotated: AnnotatedTasks) -> str:
    first, second = (annotated.named(status) for status in TASK_STATUSES[:2])
    difference = annotated.difference
    if math.isnan(difference.value):
        return f"No difference could be measured: there are not {first} and {second} tasks with an outcome."
    accuracies = [percent(annotated.accuracy[status].value) for status in TASK_STATUSES[:2]]
    points = f"{100 * difference.value:+.1f} percentage points"
    bounds = difference.reason
    if difference.has_interval:
        bounds = f"95 % interval {100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
    return f"Accuracy is {accuracies[0]} on {first} and {accuracies[1]} on {second} tasks: {points} ({bounds})."
