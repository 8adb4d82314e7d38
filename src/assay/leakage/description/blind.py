"""The blind baseline in words: how well the texts separate without the model, beside every membership result."""

from assay.evaluation import CHANCE, SEPARATING_AUROC, Estimate, Ranking
from assay.leakage.deciding import LEVEL
from assay.leakage.results import Audit
from assay.reports import area_with_interval, decimal


def measured_baseline(audit: Audit) -> tuple[str, Ranking] | None:
    """Return the kind of the baseline and its ranking; None where none could be measured."""
    if audit.blind is None or audit.blind.ranking is None:
        return None
    return audit.blind.kind or "text only", audit.blind.ranking


def baseline_separates_labels(audit: Audit) -> bool:
    """Return True where the baseline separates the same classes as the scores, so that both fit one picture."""
    return "non-members" in audit.blind_compares


def control_permits(audit: Audit) -> bool:
    """Return True if a negative control shows that the result is no effect of a difference of the texts."""
    calibration = audit.summary(audit.primary).calibration
    if calibration is None or calibration.control is None:
        return False
    return calibration.control.permits(significant=calibration.flagged.p_value <= LEVEL)


def confounding_warning(audit: Audit) -> str | None:
    """Return why the numbers may not be about the model; None where nothing points to that."""
    measured = measured_baseline(audit)
    if measured is None or audit.blind is None or not audit.blind.separates or control_permits(audit):
        return None
    kind, baseline = measured
    ranking = audit.summary(audit.primary).ranking
    beside = ""
    if ranking and baseline_separates_labels(audit):
        beside = f" {audit.primary} reaches {area_with_interval(ranking.auroc)}."
    return (
        f"A baseline that never sees the model ({kind}) separates {audit.blind_compares}: AUROC "
        f"{area_with_interval(baseline.auroc)}, where chance is .5.{beside} The two groups differ in their very text "
        "(topic, style, length, date), so part or all of what the scores show may come from that and not from training."
    )


def leading_warning(audit: Audit) -> str | None:
    """Return the warning that stands before the statement; None where there is none, or the statement says as much.

    Without labels a baseline that separates the texts is the very reason of the verdict "cannot tell".
    """
    summary = audit.summary(audit.primary)
    is_reason = summary.ranking is None and not summary.doses
    return None if is_reason else confounding_warning(audit)


def baseline_note(audit: Audit) -> str | None:
    """Return what is known of the blind baseline where it does not warn; None where it does."""
    if confounding_warning(audit):
        return None
    measured = measured_baseline(audit)
    if measured is None:
        reason = audit.blind.reason if audit.blind else None
        return f"No blind baseline: {reason}." if reason else None
    kind, baseline = measured
    return _without_warning(audit, f"A baseline that never sees the model ({kind})", baseline.auroc)


def _without_warning(audit: Audit, subject: str, area: Estimate) -> str:
    reached = f"AUROC {area_with_interval(area)}, where chance is .5."
    if audit.blind is not None and audit.blind.separates:
        return (
            f"{subject} separates {audit.blind_compares}: {reached} The negative control takes that difference "
            "into account."
        )
    if area.value >= SEPARATING_AUROC:
        return (
            f"{subject} may separate {audit.blind_compares}: {reached} The data are too few to be sure, so a "
            "difference of the texts themselves cannot be ruled out."
        )
    if not area.has_interval:
        return (
            f"{subject} reaches {reached} Whether {audit.blind_compares} differ in their texts cannot be decided from "
            "so few groups."
        )
    if area.low > CHANCE:
        return (
            f"{subject} separates {audit.blind_compares} a little: {reached} That is below the "
            f"{decimal(SEPARATING_AUROC)} from which on a comparison counts as confounded here, but results no better "
            "than this may come from the texts alone."
        )
    return f"{subject} cannot separate {audit.blind_compares}: {reached}"
