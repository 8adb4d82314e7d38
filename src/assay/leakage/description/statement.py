"""The statement of an audit in plain words, with its uncertainty.

The headline is the verdict of `assay.leakage.deciding`, with its figures. The words never go further than the numbers:
where the verdict is "cannot tell", no sample is counted as seen.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.evaluation import CHANCE, MINIMUM_GROUPS, DosePoint, Estimate, Ranking, SetTest
from assay.leakage.deciding import decision_of
from assay.leakage.description.blind import leading_warning
from assay.leakage.description.methods import titled
from assay.leakage.naming import FALSE_SHARE, named_samples
from assay.leakage.results import Audit, Calibration, NegativeControl, ScoreSummary
from assay.reports import four_digits, in_cases, listed, number_of, percent, percent_interval, points_with_interval
from assay.types import Decision, Undecided, Verdict


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
    summary, decision = audit.summary(audit.primary), decision_of(audit)
    if not summary.scored:
        return _nothing_scored(audit, summary)
    if summary.doses:
        statement = _by_dose(audit, summary, decision)
    elif summary.ranking is not None:
        statement = _labelled(audit, summary.ranking, decision)
    elif summary.calibration is not None:
        statement = _calibrated(audit, summary.calibration, decision)
    else:
        statement = _uncalibrated(audit, decision)
    details = list(statement.details)
    at_threshold = _at_threshold(summary.calibration) if summary.calibration else None
    if at_threshold:
        details.append(at_threshold)
    if decision.verdict is Verdict.CONTAMINATED and not summary.doses and summary.ranking is None:
        details.append(
            "Training on other texts of the same projects can lead to this verdict although the benchmark itself was "
            "not seen; the verdict of `assay dataset` allows for that."
        )
    if leading_warning(audit):
        details.append("Read the warning above first: the texts themselves differ, model or no model.")
    if summary.scored < summary.total:
        details.append(
            f"{number_of(summary.total - summary.scored, 'sample')} of {summary.total:,} could not be scored by "
            f"{titled(audit.primary)} and count in no figure; the table lists each with its reason."
        )
    return Statement(statement.text, tuple(details))


def undecided(decision: Decision) -> str:
    """Return the headline of a verdict that cannot be given."""
    return f"Cannot tell ({decision.reason}): {decision.explanation}"


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
        f"Cannot tell ({Undecided.NOT_MEASURED}): none of {number_of(summary.total, 'sample')} of {audit.benchmark} "
        f"could be scored by {titled(audit.primary)}.",
        (f"Most common reason: {reason}.",),
    )


def _by_dose(audit: Audit, summary: ScoreSummary, decision: Decision) -> Statement:
    points = sorted(summary.doses, key=lambda p: p.dose)
    first, last = sufficient_dose(points), points[-1]
    never = "distinguished from texts that it never saw"
    if decision.verdict is Verdict.CANNOT_TELL or not last.auroc.has_interval:
        statement = undecided(decision) if decision.reason else _without_bounds(audit)
    elif first is None:
        statement = f"Not even texts that {audit.model} saw {_times(last.dose)} can be {never} better than by chance."
    elif first == points[0].dose:
        statement = f"Texts that {audit.model} saw even {_times(first)} can be {never}, better than by chance."
    else:
        statement = f"Texts that {audit.model} saw {_times(first)} or more can be {never}, better than by chance."
    statement += _flagged_at_least_dose(summary.calibration)
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


def _flagged_at_least_dose(calibration: Calibration | None) -> str:
    """Return the flagged share at the smallest dose beside chance: how little of a small leak a threshold shows."""
    doses = [dose for dose in calibration.by_dose if dose] if calibration else []
    if calibration is None or not doses:
        return ""
    rate = calibration.by_dose[min(doses)]
    return f" Seen {_times(min(doses))}: {percent(rate.rate.value)} flagged where {percent(rate.chance)} is chance."


def _without_bounds(audit: Audit) -> str:
    return (
        f"Cannot tell ({Undecided.TOO_FEW}): too few groups of samples to bound what {titled(audit.primary)} achieves."
    )


def _times(dose: float) -> str:
    names = {1.0: "once", 2.0: "twice"}
    return names.get(dose, f"{dose:g} times")


def _pairs_again(estimate: Estimate) -> str:
    return f"in {percent(estimate.value)} ({percent_interval(estimate)})"


def _labelled(audit: Audit, ranking: Ranking, decision: Decision) -> Statement:
    area = ranking.auroc
    if math.isnan(area.value):
        return Statement(
            f"Cannot tell ({Undecided.NOT_MEASURED}): {titled(audit.primary)} gave values for "
            f"{number_of(ranking.positives, 'member')} and {number_of(ranking.negatives, 'non-member')}, and both are "
            "needed.",
        )
    details = [
        f"By {titled(audit.primary)}, a random member scores higher than a random non-member {in_pairs(area)}.",
    ]
    if area.warning:
        details.append(area.warning)
    members = f"members of {audit.benchmark}"
    if not area.has_interval:
        statement = _without_bounds(audit)
    elif decision.verdict is Verdict.CANNOT_TELL:
        statement = undecided(decision)
    elif area.low > CHANCE:
        statement = f"The {members} can be distinguished from non-members, better than by chance."
    elif area.high < CHANCE:
        statement = f"The score points the wrong way: {members} score lower than non-members."
        details.append("Directions are declared before the data are seen and never flipped, so this stands as it is.")
    else:
        statement = f"The {members} cannot be distinguished from non-members better than by chance."
    details.append("This is about the two groups. A single sample with a high score is a reason to look, not a proof.")
    return Statement(statement, tuple(details))


def _calibrated(audit: Audit, calibration: Calibration, decision: Decision) -> Statement:
    flags = calibration.flagged
    rate = flags.rate
    share = f"{percent(rate.value)} of {audit.benchmark} is flagged as familiar to {audit.model}"
    chance = f"where {percent(flags.chance)} is chance"
    source = (
        f"Calibrated on {number_of(calibration.unseen, 'unseen text')} from {calibration.source}. This holds as far as "
        "benchmark and unseen text are alike in everything but exposure: same language, same kind, same period."
    )
    if decision.verdict is Verdict.CANNOT_TELL:
        numbers = f"By the numbers alone, {share}, {chance}; no verdict follows from that{_remedy(decision)}"
        sentences = (*_ties(audit, calibration), decision.explanation, numbers, *_control(calibration))
        details = (*sentences, *_single_samples(audit), source)
        return Statement(f"Cannot tell ({decision.reason}): {_open_question(audit, decision)}.", details)
    bounds = f"a {percent(rate.level)} interval of {percent_interval(rate)}" if rate.has_interval else "no interval"
    flagged = (
        f"Flagged: {titled(audit.primary)} as high as in the top {percent(flags.chance)} of unseen text. The share "
        f"has {bounds}; had nothing leaked, a share this high would come up {in_cases(flags.p_value)}."
    )
    whole = () if calibration.whole is None else (_as_a_whole(calibration.whole),)
    power = (*_power(calibration), *_planted(calibration))
    details = (*_ties(audit, calibration), flagged, *power, *_control(calibration), *whole)
    headline = f"{decision.verdict.capitalize()}: {share}, {chance}."
    bound = _share_bound(calibration)
    return Statement(headline, (*details, *bound, *_single_samples(audit), source))


def _open_question(audit: Audit, decision: Decision) -> str:
    """Return in a few words why there is no verdict; the explanation with its figures follows below."""
    return {
        Undecided.CONTROL_NOT_FLAT: f"a model that never saw {audit.benchmark} reacts to it as well",
        Undecided.NOT_MEASURED: f"{audit.benchmark} and the unseen text may differ in more than training",
        Undecided.UNFIT_SCORE: f"{audit.primary} may not carry a verdict",
    }.get(decision.reason or Undecided.TOO_FEW, "the data are too few")


REMEDIES: Mapping[Undecided, str] = {
    Undecided.CONTROL_NOT_FLAT: "give --unseen text that is more like the benchmark",
    Undecided.NOT_MEASURED: "`assay unseen build REPOSITORY… --like BENCHMARK` makes text of the benchmark's own form, "
    "and --control MODEL measures whether the score reacts to the difference",
    Undecided.TOO_FEW: "give more unseen texts, of more groups",
    Undecided.UNFIT_SCORE: "choose a score that may carry one with --primary (`assay score --list`)",
}


def _remedy(decision: Decision) -> str:
    remedy = REMEDIES.get(decision.reason) if decision.reason else None
    return f": {remedy}." if remedy else "."


def _ties(audit: Audit, calibration: Calibration) -> tuple[str, ...]:
    """Return a sentence where most samples share one value, so that the score says nothing of them."""
    leak = calibration.detectable
    if leak is None or 2 * leak.tied <= leak.samples:
        return ()
    nothing = " So the test could detect nothing." if math.isnan(leak.share) else ""
    sentence = (
        f"{leak.tied:,} of {number_of(leak.samples, 'sample')} tie at one value of {audit.primary} "
        f"({four_digits(leak.tied_value)}), and on these it cannot show a leak.{nothing}"
    )
    return (sentence,)


def _power(calibration: Calibration) -> tuple[str, ...]:
    """Return the smallest leak that this audit would have detected."""
    leak = calibration.detectable
    if leak is None or math.isnan(leak.share):
        return ()
    sentence = (
        f"Power: a leak of {percent(leak.share)} of the samples would be detected with {percent(leak.power)} "
        f"probability, if it lifts them above all but {percent(calibration.flagged.chance)} of the unseen texts. One "
        "that lifts them less has to be larger."
    )
    return (sentence,)


def _planted(calibration: Calibration) -> tuple[str, ...]:
    """Return what is flagged of planted texts, and the smallest leak of each dose that would have been detected."""
    planted = calibration.planted
    if planted is None or planted.barred:
        return ()
    doses = [entry for entry in planted.doses if entry.dose]
    flags = [
        f"{percent(entry.flagged.rate.value)} {'of the texts ' if i == 0 else ''}seen {_times(entry.dose)}"
        for i, entry in enumerate(doses)
    ]
    power = calibration.detectable.power if calibration.detectable else 0.8
    smallest = [(entry.dose, entry.detectable(power)) for entry in doses]
    leaks = [f"{percent(share)} seen {_times(dose)}" for dose, share in smallest if not math.isnan(share)]
    reach = f"a leak of the samples has to reach {', or '.join(leaks)}" if leaks else "no leak of these doses is enough"
    sentence = (
        f"Planted in a copy of the model, {listed(flags)} are flagged. To be called contaminated with "
        f"{percent(power)} probability, {reach}."
    )
    return (sentence,)


def _control(calibration: Calibration) -> tuple[str, ...]:
    """Return what the negative control flags, beside the audit."""
    control = calibration.control
    if control is None:
        return ()
    flags = control.flagged
    sentence = (
        f"Negative control: {control.model}, which never saw the benchmark, flags {percent(flags.rate.value)} of it "
        f"({percent_interval(flags.rate)}), where {percent(flags.chance)} is chance."
    )
    return (sentence, *excess_sentence(control))


def excess_sentence(control: NegativeControl) -> tuple[str, ...]:
    """Return how much more the audited model flags than the control; nothing where that is not known."""
    excess = control.excess
    if excess is None or not excess.has_interval:
        return ()
    return (f"Excess of the audited model over the control: {points_with_interval(excess)}.",)


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


def _share_bound(calibration: Calibration) -> tuple[str, ...]:
    """Return the least share that must differ from unseen text, where there is one."""
    bound = calibration.seen_at_least
    if not bound > 0:
        return ()
    return (f"At least {percent(bound)} of the samples score unlike unseen text ({percent(0.95)} confidence).",)


def _single_samples(audit: Audit) -> tuple[str, ...]:
    """Return how many single samples are named, or why none is."""
    named = named_samples(audit)
    if named.score is None or not named.samples:
        return (f"No single sample is named: {named.reason}.",)
    calibration = audit.summary(named.score).calibration
    adaptive = calibration.adaptive_discoveries if calibration else len(named.samples)
    sentence = (
        f"Single samples: {named.score} names {len(named.samples):,} of {named.tested:,}, corrected for testing all of "
        f"them (Benjamini-Hochberg, q ≤ {named.level:g}). With Storey's less strict correction the number is "
        f"{adaptive:,}. {FALSE_SHARE}"
    )
    return (sentence,)


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


def _uncalibrated(audit: Audit, decision: Decision) -> Statement:
    values = (
        f"The distributions below describe {audit.benchmark}; by themselves they cannot say whether it leaked, "
        "however high the scores are."
    )
    advice = (
        "Add --unseen DATA with text of the same language and kind that the model certainly has not seen (written "
        "after its training ended, say): then this line gives a calibrated rate beside the one expected by chance. "
        "`assay unseen build REPOSITORY… --like BENCHMARK --after DATE` makes it."
    )
    return Statement(undecided(decision), (values, advice))
