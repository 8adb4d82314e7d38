"""The demonstration: an audit of the built-in model on functions of known dose."""

from assay.datasets import Dataset, split_by_group
from assay.ground_truth.doses import known_dose_functions
from assay.leakage import Audit, AuditLabels, ComparisonData, DecisionSettings, audit
from assay.scoring import Plan, Progress
from assay.types import NONMEMBER

CALIBRATION_SHARE = 0.4
SEED = 0
NEVER_SEEN = 6
"""Never-seen functions per function of each dose, as in the corpus: they calibrate, and all doses share them."""


def demo_functions(per_dose: int | None = None) -> Dataset:
    """Return standard-library functions with known doses, from the running interpreter.

    Args:
        per_dose: at most so many functions of each dose, and `NEVER_SEEN` times as many that were never seen;
            None for all.
    """
    library = known_dose_functions()
    counts: dict[object, int] = {}
    samples = []
    for sample in library.samples:
        dose = sample.metadata["dose"]
        counts[dose] = counts.get(dose, 0) + 1
        if per_dose is None or counts[dose] <= per_dose * (1 if dose else NEVER_SEEN):
            samples.append(sample)
    note = (
        f"{library.matched} of {library.listed} standard-library functions of known dose are in this Python "
        f"unchanged (the model was trained on Python {library.trained_on})."
    )
    return Dataset.of("standard-library functions", samples, source="this interpreter's standard library", notes=[note])


def demo_audit(functions: Dataset, plan: Plan, *, progress: Progress | None = None) -> Audit:
    """Audit `builtin:small`: part of the never-seen functions calibrates, the rest is judged with the seen ones.

    The never-seen functions that calibrate and those that are judged come from different modules.
    """
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
