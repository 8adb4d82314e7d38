"""The blind baseline in words: what can be told without the model, said wherever a membership result stands."""

from assay.evaluation import CHANCE, SEPARATING_AUROC, Ranking
from assay.leakage import Audit
from assay.pages.wording import auroc, decimal


def measured_baseline(audit: Audit) -> tuple[str, Ranking] | None:
    """The kind of the baseline and what it achieved; None where none could be measured."""
    if audit.blind is None or audit.blind.ranking is None:
        return None
    return audit.blind.kind or "text only", audit.blind.ranking


def compares_labels(audit: Audit) -> bool:
    """Whether the baseline tells the same classes apart as the scores do, so that both belong in one picture."""
    return "non-members" in audit.blind_compares


def confounding_warning(audit: Audit) -> str | None:
    """Why the numbers may not be about the model; None where nothing says so."""
    found = measured_baseline(audit)
    if found is None or audit.blind is None or not audit.blind.separates:
        return None
    kind, baseline = found
    ranking = audit.summary(audit.primary).ranking
    beside = f" {audit.primary} reaches {auroc(ranking.auroc)}." if ranking and compares_labels(audit) else ""
    return (
        f"A baseline that never sees the model ({kind}) tells {audit.blind_compares} apart: AUROC "
        f"{auroc(baseline.auroc)}, where chance is .5.{beside} The two groups differ in their very text (topic, "
        "style, length, date), so part or all of what the scores show may come from that and not from training."
    )


def baseline_note(audit: Audit) -> str | None:
    """What is known of the blind baseline where it does not warn; None where it does."""
    if confounding_warning(audit):
        return None
    found = measured_baseline(audit)
    if found is None:
        reason = audit.blind.reason if audit.blind else None
        return f"No blind baseline: {reason}." if reason else None
    kind, baseline = found
    found_it = f"A baseline that never sees the model ({kind})"
    area = baseline.auroc
    reached = f"AUROC {auroc(area)}, where chance is .5."
    if area.value >= SEPARATING_AUROC:
        return (
            f"{found_it} may tell {audit.blind_compares} apart: {reached} The data are too few to be sure, so a "
            "difference of the texts themselves cannot be ruled out."
        )
    if area.low > CHANCE:
        return (
            f"{found_it} tells {audit.blind_compares} apart a little: {reached} That is below the "
            f"{decimal(SEPARATING_AUROC)} from which on a comparison counts as confounded here, but results no better "
            "than this may come from the texts alone."
        )
    return f"{found_it} cannot tell {audit.blind_compares} apart: {reached}"
