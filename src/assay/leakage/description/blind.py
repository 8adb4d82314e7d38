"""The blind baseline in words: how well the texts separate without the model, beside every membership result."""

from assay.evaluation import CHANCE, SEPARATING_AUROC, Estimate, Ranking
from assay.leakage.results import Audit
from assay.leakage.verdict import in_pairs
from assay.reports import percent
from assay.types import Verdict


def measured_baseline(audit: Audit) -> tuple[str, Ranking] | None:
    """Return the kind of the baseline and its ranking; None where none could be measured."""
    if audit.blind is None or audit.blind.ranking is None:
        return None
    return audit.blind.kind or "text only", audit.blind.ranking


def baseline_separates_labels(audit: Audit) -> bool:
    """Return True where the baseline separates the same classes as the scores, so that both fit one picture."""
    return "non-members" in audit.blind_compares


def baseline_sentence(audit: Audit) -> str:
    """Return what the baseline reached, and what that means for the comparison."""
    measured = measured_baseline(audit)
    if measured is None:
        return f"No blind baseline: {audit.blind.reason if audit.blind else 'none was measured'}."
    kind, baseline = measured
    verb, meaning = _meaning(audit, baseline.auroc)
    reached = f"{audit.blind_compares}: it ranks them rightly {in_pairs(baseline.auroc)}."
    return f"A classifier that never sees the model ({kind}) {verb} {reached} {meaning}".rstrip()


def _meaning(audit: Audit, area: Estimate) -> tuple[str, str]:
    separates = audit.blind is not None and audit.blind.separates
    if separates and audit.decision.verdict is not Verdict.CANNOT_TELL and not audit.decision.set_aside:
        return "separates", "The negative control takes that difference into account."
    if separates:
        return "separates", (
            "They differ in their very text (topic, style, length, date), so part or all of what the scores show may "
            "come from that and not from training."
        )
    if area.value >= SEPARATING_AUROC or not area.has_interval:
        return "may separate", (
            "The data are too few to be sure, so a difference of the texts themselves cannot be ruled out."
        )
    if area.low > CHANCE:
        return "separates a little", (
            f"That is below the {percent(SEPARATING_AUROC)} from which on a comparison counts as confounded here, but "
            "results no better than this may come from the texts alone."
        )
    return "cannot separate", ""
