"""The audit of the demonstration: the built-in model on functions of known dose."""

from assay.datasets import Dataset, split_by_group
from assay.leakage import Audit, AuditLabels, ComparisonData, DecisionSettings, audit
from assay.scoring import Plan, Progress
from assay.types import NONMEMBER

CALIBRATION_SHARE = 0.4
SEED = 0


def demo_audit(functions: Dataset, plan: Plan, *, progress: Progress | None = None) -> Audit:
    """Audit `builtin:small`: part of the never-seen functions calibrates, the rest is judged with the seen ones.

    The never-seen functions that calibrate and those that are judged come from different modules.
    """
    # whole modules go to one side: functions of one module resemble each other
    seen = tuple(sample for sample in functions.samples if sample.label != NONMEMBER)
    parts = split_by_group(
        functions.nonmembers, {"calibration": CALIBRATION_SHARE, "judged": 1 - CALIBRATION_SHARE}, seed=SEED
    )
    return audit(
        [*parts["judged"], *seen],
        plan,
        benchmark=functions.name,
        comparison=ComparisonData(unseen=parts["calibration"], unseen_source="never-seen functions of other modules"),
        decision=DecisionSettings(seed=SEED),
        labels=AuditLabels(kind="demo", notes=functions.notes),
        progress=progress,
    )
