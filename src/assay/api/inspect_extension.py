"""The scorer `assay/contamination` for inspect_ai: it annotates the samples of any evaluation.

inspect_ai finds it through its entry points. `inspect score LOG.eval --scorer assay/contamination -S index=DIR` adds it
to a finished log, and a task may name it among its scorers.
"""

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    metric,
    scorer,
)
from inspect_ai.solver import TaskState

from assay.annotation import TaskResult, TaskSplit, split_by_audit, split_by_index
from assay.errors import DataError
from assay.leakage import Audit, read_run
from assay.provenance import open_for_search

VALUES: Mapping[str, float] = {"contaminated": 1.0, "clean": 0.0, "unknown": math.nan}
"""Value of the scorer by status."""


@metric
def contaminated_rate() -> Metric:
    """Return the metric: share of contaminated samples among those that are not unknown."""

    def share(scores: list[SampleScore]) -> float:
        values = [value for entry in scores if not math.isnan(value := entry.score.as_float())]
        if not values:
            return math.nan
        return sum(values) / len(values)

    return share


@scorer(metrics=[contaminated_rate()])
def contamination(index: str | None = None, audit: str | None = None) -> Scorer:
    """Return a scorer whose value is 1 for a contaminated sample, 0 for a clean one and NaN for an unknown one.

    Args:
        index: folder or address of an index of training data.
        audit: instead of it: run folder of an audit of the same samples.

    Raises:
        DataError: not exactly one of them is given.
    """
    if (index is None) == (audit is None):
        raise DataError("the scorer assay/contamination takes index=DIR or audit=RUN")

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  the form of a scorer
        task = TaskResult(str(state.sample_id), state.input_text)
        status, explanation = _status(task, index, audit)
        return Score(value=VALUES[status], answer=status, explanation=explanation, metadata={"status": status})

    return score


def _status(task: TaskResult, index: str | None, audit: str | None) -> tuple[str, str]:
    try:
        split = _split(task, index, audit)
    except DataError as error:  # a sample without a text, or one that the audit lacks
        return "unknown", str(error)
    status = "unknown"
    if split.names_tasks:
        status = split.statuses.get(task.id, status)
    return status, split.explanation


def _split(task: TaskResult, index: str | None, audit: str | None) -> TaskSplit:
    if index is not None:
        with open_for_search(index) as opened:
            return split_by_index(opened, [task])
    return split_by_audit(_run(str(audit)), [task])


@cache
def _run(folder: str) -> Audit:
    """Return the audit of a run folder, read once for all samples."""
    return read_run(Path(folder))[0]
