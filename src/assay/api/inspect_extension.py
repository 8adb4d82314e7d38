"""The scorer `assay/contamination` for inspect_ai: it annotates the samples of any evaluation.

inspect_ai finds it through its entry points. `inspect score LOG.eval --scorer assay/contamination -S scan=EVIDENCE`
adds it to a finished log, and a task may name it among its scorers.
"""

import math
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
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

from assay.annotation import TaskResult, TaskSplit, split_by_audit, split_by_evidence
from assay.errors import DataError
from assay.leakage import Audit, read_run
from assay.scan import ScanEvidence, read_evidence

# its scanners are registered where their module is imported
if find_spec("inspect_scout") is not None:
    import_module("assay.api.scout_scanner")

VALUES: Mapping[str, float] = {"contaminated": 1.0, "clean": 0.0, "unknown": math.nan}
"""Value of the scorer by status."""


@metric
def contaminated_rate() -> Metric:
    """Return the metric: share of contaminated samples among those that are not unknown."""

    def share(scores: list[SampleScore]) -> float:
        # unknown samples count in neither part of the share
        values = [value for entry in scores if not math.isnan(value := entry.score.as_float())]
        if not values:
            return math.nan
        return sum(values) / len(values)

    return share


@scorer(metrics=[contaminated_rate()])
def contamination(scan: str | None = None, audit: str | None = None) -> Scorer:
    """Return a scorer whose value is 1 for a contaminated sample, 0 for a clean one and NaN for an unknown one.

    Args:
        scan: file with the evidence of `assay scan` for the same benchmark.
        audit: instead of it: run folder of an audit of the same samples.

    Raises:
        DataError: not exactly one of them is given.
    """
    if (scan is None) == (audit is None):
        raise DataError("the scorer assay/contamination takes scan=EVIDENCE or audit=RUN")

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001  the form of a scorer
        task = TaskResult(str(state.sample_id), state.input_text)
        status, explanation = _status(task, scan, audit)
        return Score(value=VALUES[status], answer=status, explanation=explanation, metadata={"status": status})

    return score


def _status(task: TaskResult, scan: str | None, audit: str | None) -> tuple[str, str]:
    try:
        split = _split(task, scan, audit)
    except DataError as error:  # a sample without a text, or one that the audit lacks
        return "unknown", str(error)
    status = "unknown"
    if split.names_tasks:
        status = split.statuses.get(task.id, status)
    return status, split.explanation


def _split(task: TaskResult, scan: str | None, audit: str | None) -> TaskSplit:
    if scan is not None:
        return split_by_evidence(_evidence(scan), [task])
    return split_by_audit(_run(str(audit)), [task])


@cache
def _run(folder: str) -> Audit:
    """Return the audit of a run folder, read once for all samples."""
    return read_run(Path(folder))[0]


@cache
def _evidence(path: str) -> ScanEvidence:
    """Return the evidence of a file, read once for all samples."""
    return read_evidence(Path(path))
