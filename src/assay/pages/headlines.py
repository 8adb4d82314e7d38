"""What an audit found, in plain words with its uncertainty.

The words never go further than the numbers: a score without labels or calibration gives no verdict, whatever its
value, and where a baseline that never sees the model does as well, that is said first.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.evaluation import MINIMUM_GROUPS, DosePoint, Estimate, Ranking, SetTest
from assay.leakage import Audit, Calibration, ScoreSummary
from assay.pages.blind import confounding_warning
from assay.pages.methods import named
from assay.pages.wording import count, listed, percent, percent_interval, probability

CHANCE = 0.5


@dataclass(frozen=True, slots=True)
class Headline:
    """What the report says first.

    Attributes:
        statement: one or two sentences that stand alone.
        details: sentences that a careful reader needs next.
    """

    statement: str
    details: tuple[str, ...] = ()


def headline(audit: Audit) -> Headline:
    """The statement that the primary score supports, and no more."""
    summary = audit.summary(audit.primary)
    if not summary.scored:
        return _nothing_scored(audit, summary)
    if summary.doses:
        found = _by_dose(audit, summary)
    elif summary.ranking is not None:
        found = _labelled(audit, summary.ranking)
    elif summary.calibration is not None:
        found = _calibrated(audit, summary.calibration)
    else:
        found = _bare(audit)
    extra = []
    checked = _at_threshold(summary.calibration) if summary.calibration else None
    if checked:
        extra.append(checked)
    if confounding_warning(audit):
        extra.append("Read the warning above first: the texts themselves differ, model or no model.")
    if summary.scored < summary.total:
        extra.append(
            f"{count(summary.total - summary.scored, 'sample')} of {summary.total:,} could not be scored by "
            f"{named(audit.primary)} and count in no figure; the table lists each with its reason."
        )
    return Headline(found.statement, (*found.details, *extra))


def sufficient_dose(points: Sequence[DosePoint]) -> float | None:
    """The lowest dose from which on a score can tell.

    That is the lowest dose whose AUROC interval lies wholly above one half, and stays so for every larger dose; None
    where there is none.
    """
    sufficient = None
    for point in sorted(points, key=lambda p: p.dose, reverse=True):
        if not point.auroc.low > CHANCE:  # NaN, no interval, is not above chance
            break
        sufficient = point.dose
    return sufficient


def in_pairs(estimate: Estimate) -> str:
    """An AUROC as what it means: how often the one sample scores higher than the other."""
    return (
        f"in {percent(estimate.value)} of pairs ({percent(estimate.level)} interval {percent_interval(estimate)}; "
        f"chance is 50 %)"
        if estimate.has_interval
        else f"in {percent(estimate.value)} of pairs (chance is 50 %; too few groups for an interval)"
    )


def _nothing_scored(audit: Audit, summary: ScoreSummary) -> Headline:
    reason, _ = Counter(summary.unscorable).most_common(1)[0] if summary.unscorable else ("no samples", 0)
    return Headline(
        f"No verdict: none of {count(summary.total, 'sample')} of {audit.benchmark} could be scored by "
        f"{named(audit.primary)}.",
        (f"Most common reason: {reason}.",),
    )


def _by_dose(audit: Audit, summary: ScoreSummary) -> Headline:
    points = sorted(summary.doses, key=lambda p: p.dose)
    first, last = sufficient_dose(points), points[-1]
    never = "from what it never saw"
    if first is None:
        statement = f"Not even what {audit.model} saw {_times(last.dose)} can be told {never} better than by chance."
    elif first == points[0].dose:
        statement = f"What {audit.model} saw even {_times(first)} can be told {never}, better than by chance."
    else:
        statement = f"What {audit.model} saw {_times(first)} or more can be told {never}, better than by chance."
    before = [p for p in points if first is None or p.dose < first]
    told = [p for p in points if p.dose == first] + ([last] if last.dose != first else [])
    details = [
        f"By {named(audit.primary)}, the score chosen before any value was looked at, a sample seen "
        + "; one seen ".join(
            f"{_times(p.dose)} "
            + (
                f"scores higher than a never-seen one {in_pairs(p.auroc)}"
                if i == 0
                else f"does {_pairs_again(p.auroc)}"
            )
            for i, p in enumerate(told)
        )
        + "."
    ]
    if before and first is not None:
        nearest = before[-1]
        details.append(
            f"Seen {_times(nearest.dose)}, it does {_pairs_again(nearest.auroc)}, which chance explains: leaks that "
            "small stay invisible to this score on this model."
        )
    return Headline(statement, tuple(details))


def _times(dose: float) -> str:
    names = {1.0: "once", 2.0: "twice"}
    return names.get(dose, f"{dose:g} times")


def _pairs_again(estimate: Estimate) -> str:
    return f"in {percent(estimate.value)} ({percent_interval(estimate)})"


def _labelled(audit: Audit, ranking: Ranking) -> Headline:
    found = ranking.auroc
    if math.isnan(found.value):
        return Headline(
            f"No verdict: {named(audit.primary)} gave values for {count(ranking.positives, 'member')} and "
            f"{count(ranking.negatives, 'non-member')}, and both are needed.",
        )
    details = [
        f"By {named(audit.primary)}, a random member scores higher than a random non-member {in_pairs(found)}.",
    ]
    members = f"members of {audit.benchmark}"
    if not found.has_interval:
        statement = f"No verdict: too few groups of samples to bound what {named(audit.primary)} achieves."
    elif found.low > CHANCE:
        statement = f"The {members} can be told from non-members, better than by chance."
    elif found.high < CHANCE:
        statement = f"The score points the wrong way: {members} score lower than non-members."
        details.append("Directions are declared before the data are seen and never flipped, so this stands as it is.")
    else:
        statement = f"The {members} cannot be told from non-members better than by chance."
    details.append("This is about the two groups. A single sample with a high score is a reason to look, not a proof.")
    return Headline(statement, tuple(details))


def _calibrated(audit: Audit, calibration: Calibration) -> Headline:
    flags = calibration.flagged
    rate = flags.rate
    looks = f"{percent(rate.value)} of {audit.benchmark} looks familiar to {audit.model}"
    surprising = flags.p_value <= 1 - rate.level
    if confounding_warning(audit):
        statement = (
            f"No verdict: {audit.benchmark} and the unseen text that should calibrate it are of different kinds."
        )
        difference = (
            f"Taken at its word, {looks}, where {percent(flags.chance)} would by chance; but unseen text of another "
            "kind is no yardstick. Give --unseen text of the benchmark's own kind."
        )
        return Headline(statement, (difference, *_calibration_details(calibration)))
    if surprising and rate.low > flags.chance:
        statement = f"{looks}, where {percent(flags.chance)} would by chance."
    elif rate.high < flags.chance:
        statement = f"Only {looks}, where {percent(flags.chance)} would by chance."
    else:
        statement = f"{looks}, no more than chance explains ({percent(flags.chance)})."
    familiar = (
        f"Familiar: {named(audit.primary)} as high as in the top {percent(flags.chance)} of unseen text. The share "
        f"has a {percent(rate.level)} interval of {percent_interval(rate)}; had nothing leaked, a share this high "
        f"would come up {probability(flags.p_value)}."
    )
    whole = () if calibration.whole is None else (_as_a_whole(calibration.whole),)
    return Headline(statement, (familiar, *whole, *_calibration_details(calibration)))


UNGROUPED = (
    " Each unseen text counts as independent: where some are siblings, of one project or file, give their groups, or"
    " this comes up more often by chance than it says."
)


def _as_a_whole(found: SetTest) -> str:
    compared = (
        f"{count(found.samples, 'sample')} of {count(found.groups, 'group')} against "
        f"{count(found.unseen, 'unseen text')} of {count(found.unseen_groups, 'group')}"
    )
    if math.isnan(found.p_value):
        return f"The set as a whole: no p-value, since that takes {MINIMUM_GROUPS} groups on either side ({compared})."
    return (
        f"The set as a whole: a sample of it scores above an unseen text in {percent(found.superiority)} of pairs "
        f"(chance is 50 %); had nothing leaked, that much would come up {probability(found.p_value)} ({compared}, "
        f"permuted).{UNGROUPED if found.unseen_groups == found.unseen else ''}"
    )


def _calibration_details(calibration: Calibration) -> tuple[str, ...]:
    alone = (
        f"Samples that stand out one by one, corrected for testing all of them (Benjamini-Hochberg, "
        f"q ≤ {calibration.alpha:g}): {calibration.discoveries:,}"
    ) + _adaptive(calibration)
    source = (
        f"Calibrated on {count(calibration.unseen, 'unseen text')} from {calibration.source}. This holds as far as "
        "benchmark and unseen text are alike in everything but exposure: same language, same kind, same period."
    )
    return alone, source


def _adaptive(calibration: Calibration) -> str:
    """The rest of the sentence that counts what stands out."""
    if calibration.adaptive_discoveries is None or calibration.member_share is None:
        return "."
    return (
        f"; {calibration.adaptive_discoveries:,} where the correction takes into account that an estimated "
        f"{percent(calibration.member_share)} are not unseen (Storey)."
    )


def _at_threshold(calibration: Calibration) -> str | None:
    """What a threshold set beforehand finds, and what it costs; None without labelled non-members."""
    held = calibration.false_positives
    if held is None or not held.samples:
        return None
    seen = [(dose, rate) for dose, rate in sorted(calibration.by_dose.items()) if dose]
    found = [
        f"{percent(rate.rate.value)} {'of those ' if i == 0 else ''}seen {_times(dose)}"
        for i, (dose, rate) in enumerate(seen)
    ]
    if not found and calibration.true_positives is not None:
        found = [f"{percent(calibration.true_positives.rate.value)} of the members"]
    finds = f"flags {listed(found)}, and " if found else ""
    return (
        f"A threshold set beforehand on {count(calibration.unseen, 'other unseen text')} {finds}falsely flags "
        f"{percent(held.rate.value)} ({percent_interval(held.rate)}) of {held.samples:,} "
        f"{'never-seen ones' if seen else 'non-members'}, where {percent(held.chance)} "
        + ("is chance" if held.p_value > 1 - held.rate.level else "would be chance: the calibration does not hold here")
        + f"; as many or more would come up {probability(held.p_value)}."
    )


def _bare(audit: Audit) -> Headline:
    describe = (
        f"The distributions below describe {audit.benchmark}; by themselves they cannot say whether it leaked, "
        "however high the scores are."
    )
    advice = (
        "Add --unseen DATA with text of the same language and kind that the model certainly has not seen (written "
        "after its training ended, say): then this line gives a calibrated rate beside the one expected by chance."
    )
    return Headline(
        f"No verdict: nothing here says what {audit.model} scores on text that it has not seen.", (describe, advice)
    )
