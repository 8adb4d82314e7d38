"""The statement of an audit in plain words, with its uncertainty.

The words never go further than the numbers: a score without labels or calibration gives no verdict, whatever its
value, and where a baseline that never sees the model does as well, that is said first.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.evaluation import CHANCE, MINIMUM_GROUPS, DosePoint, Estimate, Ranking, SetTest
from assay.leakage.description.blind import confounding_warning
from assay.leakage.description.methods import titled
from assay.leakage.results import Audit, Calibration, ScoreSummary
from assay.reports import in_cases, listed, number_of, percent, percent_interval


@dataclass(frozen=True, slots=True)
class Statement:
    """The first sentences of a report.

    Attributes:
        text: one or two sentences that stand alone.
        details: sentences that a careful reader needs next.
    """

    text: str
    details: tuple[str, ...] = ()


def statement_of(audit: Audit) -> Statement:
    """Return the statement that the primary score supports, and no more."""
    summary = audit.summary(audit.primary)
    if not summary.scored:
        return _nothing_scored(audit, summary)
    if summary.doses:
        statement = _by_dose(audit, summary)
    elif summary.ranking is not None:
        statement = _labelled(audit, summary.ranking)
    elif summary.calibration is not None:
        statement = _calibrated(audit, summary.calibration)
    else:
        statement = _uncalibrated(audit)
    details = list(statement.details)
    at_threshold = _at_threshold(summary.calibration) if summary.calibration else None
    if at_threshold:
        details.append(at_threshold)
    if confounding_warning(audit):
        details.append("Read the warning above first: the texts themselves differ, model or no model.")
    if summary.scored < summary.total:
        details.append(
            f"{number_of(summary.total - summary.scored, 'sample')} of {summary.total:,} could not be scored by "
            f"{titled(audit.primary)} and count in no figure; the table lists each with its reason."
        )
    return Statement(statement.text, tuple(details))


def sufficient_dose(points: Sequence[DosePoint]) -> float | None:
    """Return the lowest dose from which on a score separates seen from never-seen samples.

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
    """Return an AUROC as what it means: how often the one sample scores higher than the other."""
    return (
        f"in {percent(estimate.value)} of pairs ({percent(estimate.level)} interval {percent_interval(estimate)}; "
        f"chance is 50 %)"
        if estimate.has_interval
        else f"in {percent(estimate.value)} of pairs (chance is 50 %; {estimate.reason})"
    )


def _nothing_scored(audit: Audit, summary: ScoreSummary) -> Statement:
    reason, _ = Counter(summary.unscorable).most_common(1)[0] if summary.unscorable else ("no samples", 0)
    return Statement(
        f"No verdict: none of {number_of(summary.total, 'sample')} of {audit.benchmark} could be scored by "
        f"{titled(audit.primary)}.",
        (f"Most common reason: {reason}.",),
    )


def _by_dose(audit: Audit, summary: ScoreSummary) -> Statement:
    points = sorted(summary.doses, key=lambda p: p.dose)
    first, last = sufficient_dose(points), points[-1]
    never = "distinguished from texts that it never saw"
    if not last.auroc.has_interval:
        statement = f"No verdict: too few groups of samples to bound what {titled(audit.primary)} achieves."
    elif first is None:
        statement = f"Not even texts that {audit.model} saw {_times(last.dose)} can be {never} better than by chance."
    elif first == points[0].dose:
        statement = f"Texts that {audit.model} saw even {_times(first)} can be {never}, better than by chance."
    else:
        statement = f"Texts that {audit.model} saw {_times(first)} or more can be {never}, better than by chance."
    before = [p for p in points if first is None or p.dose < first]
    named = [p for p in points if p.dose == first] + ([last] if last.dose != first else [])
    details = [
        f"By {titled(audit.primary)}, the score chosen before any value was looked at, a sample seen "
        + "; one seen ".join(
            f"{_times(p.dose)} "
            + (
                f"scores higher than a never-seen one {in_pairs(p.auroc)}"
                if i == 0
                else f"does {_pairs_again(p.auroc)}"
            )
            for i, p in enumerate(named)
        )
        + "."
    ]
    if before and first is not None and before[-1].auroc.has_interval:
        nearest = before[-1]
        details.append(
            f"Seen {_times(nearest.dose)}, it does {_pairs_again(nearest.auroc)}, which chance explains: leaks that "
            "small stay invisible to this score on this model."
        )
    return Statement(statement, tuple(details))


def _times(dose: float) -> str:
    names = {1.0: "once", 2.0: "twice"}
    return names.get(dose, f"{dose:g} times")


def _pairs_again(estimate: Estimate) -> str:
    return f"in {percent(estimate.value)} ({percent_interval(estimate)})"


def _labelled(audit: Audit, ranking: Ranking) -> Statement:
    area = ranking.auroc
    if math.isnan(area.value):
        return Statement(
            f"No verdict: {titled(audit.primary)} gave values for {number_of(ranking.positives, 'member')} and "
            f"{number_of(ranking.negatives, 'non-member')}, and both are needed.",
        )
    details = [
        f"By {titled(audit.primary)}, a random member scores higher than a random non-member {in_pairs(area)}.",
    ]
    if area.warning:
        details.append(area.warning)
    members = f"members of {audit.benchmark}"
    if not area.has_interval:
        statement = f"No verdict: too few groups of samples to bound what {titled(audit.primary)} achieves."
    elif area.low > CHANCE:
        statement = f"The {members} can be distinguished from non-members, better than by chance."
    elif area.high < CHANCE:
        statement = f"The score points the wrong way: {members} score lower than non-members."
        details.append("Directions are declared before the data are seen and never flipped, so this stands as it is.")
    else:
        statement = f"The {members} cannot be distinguished from non-members better than by chance."
    details.append("This is about the two groups. A single sample with a high score is a reason to look, not a proof.")
    return Statement(statement, tuple(details))


def _calibrated(audit: Audit, calibration: Calibration) -> Statement:
    flags = calibration.flagged
    rate = flags.rate
    share = f"{percent(rate.value)} of {audit.benchmark} is flagged as familiar to {audit.model}"
    surprising = flags.p_value <= 1 - rate.level
    if confounding_warning(audit):
        statement = (
            f"No verdict: {audit.benchmark} and the unseen text that should calibrate it are of different kinds."
        )
        difference = (
            f"By the numbers alone, {share}, where chance flags {percent(flags.chance)}; but unseen text of another "
            "kind cannot calibrate a score. `assay unseen build REPOSITORY… --like BENCHMARK` makes text of the "
            "benchmark's own form; --variants 10 and --reference BASE compare within the benchmark."
        )
        return Statement(statement, (difference, *_calibration_details(calibration)))
    if not rate.has_interval:
        statement = f"No verdict: {share}, and there are {rate.reason} of that share."
    elif surprising and rate.low > flags.chance:
        statement = f"{share}, where chance flags {percent(flags.chance)}."
    elif rate.high < flags.chance:
        statement = f"Only {share}, where chance flags {percent(flags.chance)}."
    else:
        statement = f"{share}, no more than chance explains ({percent(flags.chance)})."
    bounds = f"a {percent(rate.level)} interval of {percent_interval(rate)}" if rate.has_interval else "no interval"
    flagged = (
        f"Flagged: {titled(audit.primary)} as high as in the top {percent(flags.chance)} of unseen text. The share "
        f"has {bounds}; had nothing leaked, a share this high would come up {in_cases(flags.p_value)}."
    )
    whole = () if calibration.whole is None else (_as_a_whole(calibration.whole),)
    return Statement(statement, (flagged, *whole, *_calibration_details(calibration)))


UNGROUPED = (
    " Each unseen text counts as independent: where some are siblings, of one project or file, give their groups, or"
    " this comes up more often by chance than it says."
)


def _as_a_whole(whole: SetTest) -> str:
    compared = (
        f"{number_of(whole.samples, 'sample')} of {number_of(whole.groups, 'group')} against "
        f"{number_of(whole.unseen, 'unseen text')} of {number_of(whole.unseen_groups, 'group')}"
    )
    if math.isnan(whole.p_value):
        return f"The set as a whole: no p-value, since that takes {MINIMUM_GROUPS} groups on either side ({compared})."
    return (
        f"The set as a whole: a sample of it scores above an unseen text in {percent(whole.superiority)} of pairs "
        f"(chance is 50 %); had nothing leaked, that much would come up {in_cases(whole.p_value)} ({compared}, "
        f"permuted).{UNGROUPED if whole.unseen_groups == whole.unseen else ''}"
    )


def _calibration_details(calibration: Calibration) -> tuple[str, ...]:
    alone = (
        f"Samples that stand out one by one, corrected for testing all of them (Benjamini-Hochberg, "
        f"q ≤ {calibration.alpha:g}): {calibration.discoveries:,}"
    ) + _adaptive(calibration)
    source = (
        f"Calibrated on {number_of(calibration.unseen, 'unseen text')} from {calibration.source}. This holds as far as "
        "benchmark and unseen text are alike in everything but exposure: same language, same kind, same period."
    )
    return alone, source


def _adaptive(calibration: Calibration) -> str:
    """Return the end of the sentence that counts the samples which stand out."""
    if calibration.adaptive_discoveries is None or calibration.member_share is None:
        return "."
    return (
        f". A less strict correction uses the estimate that {percent(calibration.member_share)} of the samples were "
        f"seen (Storey); the number is then {calibration.adaptive_discoveries:,}."
    )


def _at_threshold(calibration: Calibration) -> str | None:
    """The finds of a threshold set beforehand, and their cost; None without labelled non-members."""
    negatives = calibration.false_positives
    if negatives is None or not negatives.samples:
        return None
    seen = [(dose, rate) for dose, rate in sorted(calibration.by_dose.items()) if dose]
    shares = [
        f"{percent(rate.rate.value)} {'of those ' if i == 0 else ''}seen {_times(dose)}"
        for i, (dose, rate) in enumerate(seen)
    ]
    if not shares and calibration.true_positives is not None:
        shares = [f"{percent(calibration.true_positives.rate.value)} of the members"]
    holds = negatives.p_value > 1 - negatives.rate.level
    finds = f"flags {listed(shares)}, and " if shares else ""
    return (
        f"A threshold set beforehand on {number_of(calibration.unseen, 'other unseen text')} {finds}falsely flags "
        f"{percent(negatives.rate.value)} ({percent_interval(negatives.rate)}) of {negatives.samples:,} "
        f"{'never-seen ones' if seen else 'non-members'}, where {percent(negatives.chance)} "
        f"{'is chance' if holds else 'would be chance: the calibration does not hold here'}; as many or more would "
        f"come up {in_cases(negatives.p_value)}."
    )


def _uncalibrated(audit: Audit) -> Statement:
    values = (
        f"The distributions below describe {audit.benchmark}; by themselves they cannot say whether it leaked, "
        "however high the scores are."
    )
    advice = (
        "Add --unseen DATA with text of the same language and kind that the model certainly has not seen (written "
        "after its training ended, say): then this line gives a calibrated rate beside the one expected by chance. "
        "`assay unseen build REPOSITORY… --like BENCHMARK --after DATE` makes it."
    )
    return Statement(
        f"No verdict: nothing here says what {audit.model} scores on text that it has not seen.", (values, advice)
    )
