"""Annotated tasks as a report."""

import math
from operator import itemgetter

from assay._version import __version__
from assay.annotation.annotating import TASK_STATUSES, AnnotatedTasks
from assay.codec import encode
from assay.evaluation import Estimate
from assay.reports import Column, Report, Table, describe, number_of, percent

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
    sentence = _for_a_paper(annotated)
    return Report(
        title=f"Does {annotated.name} score higher on contaminated tasks?",
        statement=_statement(annotated),
        tables=(table, *[_score_table(annotated)] * annotated.split.names_tasks),
        notes=tuple(filter(None, (sentence, *annotated.notes, CAUSE))),
        data={
            "name": annotated.name,
            "basis": annotated.split.basis,
            "explanation": annotated.split.explanation,
            "counts": {annotated.named(status): annotated.counts[status][0] for status in TASK_STATUSES},
            "accuracy": encode({annotated.named(status): value for status, value in annotated.accuracy.items()}),
            "difference": encode(annotated.difference),
            "score": encode(annotated.score),
            "corrected": encode(annotated.corrected),
            "change": encode(annotated.change),
            "for_a_paper": sentence,
            "notes": list(annotated.notes),
            "per_task": annotated.rows(),
        },
        kind="annotated evaluation",
    )


def _score_table(annotated: AnnotatedTasks) -> Table:
    items = (("all tasks", annotated.score), ("corrected", annotated.corrected), ("difference", annotated.change))
    return Table.of(
        name="corrected",
        title="Score, and score without the contaminated tasks",
        items=items,
        columns=(
            Column("score", get=lambda item: item[0]),
            Column("value", "share", lambda item: item[1], missing="no such task has an outcome"),
        ),
        caption=("The corrected score leaves out the contaminated tasks and keeps the unknown ones.",),
    )


def _statement(annotated: AnnotatedTasks) -> str:
    first, second = map(annotated.named, TASK_STATUSES[:2])
    difference = annotated.difference
    correction = f" {_correction(annotated)}" * annotated.split.names_tasks
    if math.isnan(difference.value):
        # a part may have tasks and yet no outcome among them
        absent = [repr(annotated.named(status)) for status in TASK_STATUSES[:2] if not annotated.counts[status][1]]
        none = f"of the tasks with an outcome none is {' or '.join(absent)}"
        return f"No difference could be measured: {none}.{correction}"
    on_first, on_second = (percent(annotated.accuracy[status].value) for status in TASK_STATUSES[:2])
    parts = f"Accuracy is {on_first} on {first} and {on_second} on {second} tasks"
    return f"{parts}: {_points(difference)}.{correction}"


def _correction(annotated: AnnotatedTasks) -> str:
    if math.isnan(annotated.corrected.value):
        return f"The score is {percent(annotated.score.value)} on all tasks; no other task has an outcome."
    left_out = number_of(annotated.counts["contaminated"][1], f"{annotated.named('contaminated')} task")
    return (
        f"The score is {percent(annotated.score.value)} on all tasks and {percent(annotated.corrected.value)} without "
        f"the {left_out}: {_points(annotated.change)}."
    )


def _points(difference: Estimate) -> str:
    """Return a difference in percentage points with its interval, or why it has none."""
    bounds = difference.reason
    if difference.has_interval:
        bounds = f"95 % interval {100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
    # a sum with zero is never minus zero
    return f"{100 * difference.value + 0.0:+.1f} percentage points ({bounds})"


def _for_a_paper(annotated: AnnotatedTasks) -> str:
    """Return one sentence that a paper can print as it is; "" where no score could be corrected."""
    if math.isnan(annotated.corrected.value):
        return ""
    scored = sum(map(itemgetter(1), annotated.counts.values()))
    left_out = annotated.counts["contaminated"][1]
    basis = {"scan": "found in the scanned training data", "labels": "labelled as members of the training data"}
    reason = basis.get(annotated.split.basis, "named by an audit of the model")
    scores = percent(annotated.score.value), percent(annotated.corrected.value)
    return (
        f"For a paper: of {number_of(scored, 'task')} with an outcome, {left_out:,} were {reason} "
        f"(assay {__version__}); the score is {scores[0]} on all of them and {scores[1]} without these, a difference "
        f"of {_points(annotated.change)}."
    )
