"""The few figures worth reading right after the headline."""

from dataclasses import dataclass

from assay.evaluation import Estimate
from assay.leakage import Audit
from assay.pages.wording import auroc, percent, percent_interval


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure: what it is, its value, and what to hold it against."""

    name: str
    value: str
    note: str


def facts(audit: Audit) -> tuple[Fact, ...]:
    """Figures of the primary score and of its coverage, each beside its interval or its chance level."""
    summary = audit.summary(audit.primary)
    found = []
    if summary.ranking is not None:
        found.append(_auroc(f"AUROC of {audit.primary}", summary.ranking.auroc))
        found += [
            Fact(
                f"TPR at {percent(rate)} FPR",
                percent(estimate.value),
                f"{_interval(estimate, percent_interval(estimate))}; chance {percent(rate)}",
            )
            for rate, estimate in sorted(summary.ranking.tpr_at_fpr.items(), reverse=True)
        ]
    held = summary.calibration
    if held is not None and held.false_positives is not None:
        rate = held.false_positives.rate
        found.append(
            Fact(
                "Never-seen samples flagged" if summary.doses else "Non-members flagged",
                percent(rate.value),
                f"{_interval(rate, percent_interval(rate))}; chance {percent(held.false_positives.chance)}",
            )
        )
    elif held is not None:
        found.append(
            Fact("Samples flagged", percent(held.flagged.rate.value), f"by chance {percent(held.flagged.chance)}")
        )
        found.append(Fact("Stand out one by one", f"{held.discoveries:,}", f"q ≤ {held.alpha:g}"))
        found.append(Fact("Unseen texts", f"{held.unseen:,}", held.source))
    missing = summary.total - summary.scored
    found.append(
        Fact("Samples scored", f"{summary.scored:,}", f"{missing:,} could not be" if missing else "all of them")
    )
    return tuple(found)


def _auroc(name: str, estimate: Estimate) -> Fact:
    value, _, bounds = auroc(estimate).partition(" ")
    return Fact(name, value, _interval(estimate, bounds.strip("[]").replace(", ", " to ")) + "; chance .5")


def _interval(estimate: Estimate, bounds: str) -> str:
    return f"{percent(estimate.level)} interval {bounds}" if estimate.has_interval else "no interval"
