"""The sentences below the first screen of an audit: the figures behind the verdict, and what they do not say."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.evaluation import CHANCE, DosePoint, Estimate, FlagRate
from assay.leakage.description.blind import baseline_sentence
from assay.leakage.description.methods import titled
from assay.leakage.form_test import LEAK, FormTest, groups_needed, power
from assay.leakage.naming import named_samples
from assay.leakage.results import Audit, Calibration, ScoreSummary
from assay.leakage.unseen_test import BOUND_AT, FAMILIARITY
from assay.leakage.verdict import in_pairs, more_or_less
from assay.reports import four_digits, in_cases, listed, number_of, percent, percent_interval
from assay.types import Undecided, Verdict

FAMILIAR_FORM = (
    "Where a part of a benchmark was trained on, its other part looks more familiar too, because the model learns the "
    "form of the benchmark. So texts may be counted that were not seen; texts that were seen once are mostly missed."
)
ALLOWANCE = (
    "The verdict and the lower end of the share allow for that: texts that were not trained on may score "
    f"{FAMILIARITY:g} standard deviations higher than the unseen text."
)
UNCALIBRATED = (
    "The distributions below describe the benchmark; by themselves they cannot say whether it leaked, however high the "
    "scores are."
)


SMALLEST_SHOWN = 0.005
"""Bound on a share below which "at most 0 %" would be printed, as if no text could have been seen."""


def details_of(audit: Audit) -> tuple[str, ...]:
    """Return the figures behind the verdict in sentences, the most important first."""
    summary = audit.summary(audit.primary)
    return (*_verdict_sentences(audit, summary), *_measured(audit, summary), *_limits(audit, summary))


def _measured(audit: Audit, summary: ScoreSummary) -> Iterable[str]:
    if not summary.scored:
        return ()
    if summary.doses:
        return dose_sentences(audit, summary)
    if summary.ranking is not None:
        return ranking_sentences(audit, summary.ranking.auroc)
    if summary.calibration is not None:
        return calibrated_sentences(audit, summary.calibration)
    # beside the proof of a lot it would take back what was just said
    return (UNCALIBRATED,) if summary.is_open else ()


def _verdict_sentences(audit: Audit, summary: ScoreSummary) -> Iterator[str]:
    decision, bound = summary.decision, audit.upper_bound()
    if decision.set_aside is not None:
        yield set_aside_sentence(decision.set_aside)
    yield decision.explanation
    if bound is not None:
        yield f"{bound_sentence(bound)} Both are measured by {titled(audit.primary)}."
    # against text of the same form the spillover cancels out
    if decision.verdict is Verdict.FAMILIAR:
        yield FAMILIAR_FORM
        if summary.test is not None and not math.isnan(summary.test.p_beyond) and decision.set_aside is None:
            yield ALLOWANCE


def _limits(audit: Audit, summary: ScoreSummary) -> Iterator[str]:
    if summary.calibration is not None and summary.calibration.false_positives is not None:
        yield from _at_threshold(summary.calibration, summary.calibration.false_positives)
    # beside a finding, or a reason that more texts would not remove, it would be no answer to any question
    may_hide = summary.decision.verdict is Verdict.NO_EVIDENCE or summary.decision.reason is Undecided.TOO_FEW
    if summary.test is not None and may_hide:
        yield power_sentence(summary.test.detectable)
    # a residual that ruled the leak out did find out; how often one would is a question before the run
    if summary.form is not None and summary.is_open:
        yield form_power_sentence(summary.form)
    if audit.blind is not None:
        yield baseline_sentence(audit)
    if summary.scored < summary.total:
        yield (
            f"{number_of(summary.total - summary.scored, 'sample')} of {summary.total:,} could not be scored by "
            f"{titled(audit.primary)} and count in no figure; the table lists each with its reason."
        )


def set_aside_sentence(explanation: str) -> str:
    """Return what was set aside on request."""
    return f"Conditions were set aside (--allow-confounded). With them the verdict is “cannot tell”: {explanation}"


def bound_sentence(bound: float) -> str:
    """Return the upper bound in words."""
    # "at most 100 %" would read as a finding
    if bound >= 1:
        return f"All of the texts may have been seen {BOUND_AT} times or more (95 % confidence)."
    if bound < SMALLEST_SHOWN:
        return f"Fewer than {percent(0.01)} of the texts were seen {BOUND_AT} times or more (95 % confidence)."
    return f"At most {percent(bound)} of the texts were seen {BOUND_AT} times or more (95 % confidence)."


def power_sentence(detectable: Mapping[int, float]) -> str:
    """Return the smallest shares that a test can reveal, in words."""
    shown = []
    for times, share in detectable.items():
        # infinite where no share is enough
        shown.append(f"{f'{percent(share)} of the texts' if share <= 1 else 'no leak'} if seen {_times(times)}")
    assumed = "This assumes that the model remembers as well as `builtin:small`."
    return f"Smallest leak that such a run finds in 80 % of cases: {', '.join(shown)}. {assumed}"


def form_power_sentence(form: FormTest) -> str:
    """Return how often the rule finds the leak that "no evidence" rules out, and what would find it."""
    groups = form.residual.estimate.groups[1]
    needed = groups_needed(parent=form.is_parent)
    enough = "more unseen text changes little" if needed is None else f"{number_of(needed, 'group')} find it in 80 %"
    # an error between groups takes two of them
    chance = percent(power(max(2, groups), parent=form.is_parent))
    return (
        f"With {number_of(groups, 'group')} of unseen text, a leak of {percent(LEAK)} of the tasks, seen twice, would "
        f"be called familiar in {chance} of cases; {enough}. This assumes that it raises the residual by "
        f"{form.effect:.1f}: of such leaks in models of known truth, three quarters raised it by more."
    )


def sufficient_dose(points: Sequence[DosePoint]) -> float | None:
    """Return the lowest dose from which on a score separates seen from never-seen samples.

    That is the lowest dose whose AUROC interval lies wholly above one half, and stays so for every larger dose; None
    where there is none.
    """
    sufficient = None
    # from the largest dose down, so that a low dose that separates by luck does not count
    for point in sorted(points, key=lambda p: p.dose, reverse=True):
        if not point.auroc.low > CHANCE:  # NaN, no interval, is not above chance
            break
        sufficient = point.dose
    return sufficient


def dose_sentences(audit: Audit, summary: ScoreSummary) -> Iterator[str]:
    """Yield from which number of exposures on samples can be told from others, and what a threshold flags."""
    points = sorted(summary.doses, key=lambda point: point.dose)
    first, last = sufficient_dose(points), points[-1]
    never = "distinguished from texts that it never saw, better than by chance"
    if first is not None:
        times = f"even {_times(first)}" if first == points[0].dose else f"{_times(first)} or more"
        yield f"Texts that {audit.model} saw {times} can be {never}."
    elif last.auroc.has_interval:
        yield f"Not even texts that {audit.model} saw {_times(last.dose)} can be {never}."
    # the least dose that shows, and the largest; the table has the others
    named = [point for point in points if point.dose in (first, last.dose)]
    pairs = "; one seen ".join(f"{_times(point.dose)} ranks higher {in_pairs(point.auroc)}" for point in named)
    yield f"By {titled(audit.primary)}, a sample seen {pairs}."


def ranking_sentences(audit: Audit, area: Estimate) -> Iterator[str]:
    """Yield how well members can be told from non-members."""
    # a verdict by labels has said so
    if audit.deciding.is_open and not math.isnan(area.value):
        yield f"By {titled(audit.primary)}, a random member scores higher than a random non-member {in_pairs(area)}."
    # a direction that is chosen after a look at the data makes any score detect something
    if area.high < CHANCE:
        yield "Directions are declared before the data are seen and never flipped, so this stands as it is."
    yield "This is about the two groups. A single sample with a high score is a reason to look, not a proof."


def calibrated_sentences(audit: Audit, calibration: Calibration) -> Iterator[str]:
    """Yield what stands out one by one, under the audited model and under the control, and which samples are named."""
    flags, leak, control = calibration.flagged, calibration.detectable, calibration.control
    # ties have one p-value, so most samples could not stand out whatever leaked
    if leak is not None and 2 * leak.tied > leak.samples:
        yield (
            f"{leak.tied:,} of {number_of(leak.samples, 'sample')} tie at one value of {audit.primary} "
            f"({four_digits(leak.tied_value)}), and on these it cannot show a leak."
        )
    bounds = percent_interval(flags.rate) if flags.rate.has_interval else "no interval"
    yield (
        f"Flagged one by one: {percent(flags.rate.value)} of the samples ({bounds}), where {percent(flags.chance)} is "
        f"chance; a benchmark that did not leak has as many or more flagged {in_cases(flags.p_value)}."
    )
    if control is not None:
        rate = control.flagged.rate
        yield (
            f"Negative control: {control.model}, which never saw the benchmark, flags {percent(rate.value)} of it "
            f"({percent_interval(rate)})."
        )
        if control.excess is not None and control.excess.has_interval:
            yield f"Beside the control the audited model flags {more_or_less(control.excess)}."
    yield from _planted(calibration)
    own = audit.summary(audit.primary)
    # in texts of another form the flags have causes beside training
    if not own.is_open and own.form is None and calibration.seen_at_least > 0:
        yield (
            f"At least {percent(calibration.seen_at_least)} of the samples score unlike unseen text "
            f"({percent(0.95)} confidence)."
        )
    yield _single_samples(audit)
    yield (
        f"Compared with {number_of(calibration.unseen, 'unseen text')} from {calibration.source}. This holds as far as "
        "benchmark and unseen text are alike in everything but exposure: same language, same kind, same period."
    )


def _planted(calibration: Calibration) -> Iterator[str]:
    """Yield what is flagged of planted texts, and the smallest leak of each dose that would have been detected."""
    planted = calibration.planted
    if planted is None or planted.barred:
        return
    flags: list[str] = []
    leaks = []
    for entry in filter(lambda entry: entry.dose, planted.doses):
        seen = f"seen {_times(entry.dose)}"
        flags.append(f"{percent(entry.flagged.rate.value)} {'' if flags else 'of the texts '}{seen}")
        # infinite where no share is enough
        if entry.detectable <= 1:
            leaks.append(f"{percent(entry.detectable)} {seen}")
    reach = f"a leak of the samples has to reach {', or '.join(leaks)}" if leaks else "no leak of these doses is enough"
    yield (
        f"Planted in a copy of the model, {listed(flags)} are flagged. To be called familiar with 80 % "
        f"probability, {reach}."
    )


def _single_samples(audit: Audit) -> str:
    """Return how many single samples are named, or why none is."""
    named = named_samples(audit)
    if named.score is None or not named.samples:
        return f"No single sample is named: {named.reason}."
    return (
        f"Single samples: {named.score} names {len(named.samples):,} of {named.tested:,}, corrected for testing all of "
        f"them (Benjamini-Hochberg, q ≤ {named.level:g}). {named.false_share}"
    )


def _at_threshold(calibration: Calibration, negatives: FlagRate) -> Iterator[str]:
    """Yield the finds of a threshold set beforehand, and their cost; nothing without non-members."""
    if not negatives.samples:
        return
    shares: list[str] = []
    for dose, flagged in sorted(calibration.by_dose.items()):
        if dose:
            share = percent(flagged.rate.value)
            shares.append(f"{share} {'' if shares else 'of those '}seen {_times(dose)}")
    others = "never-seen ones" if shares else "non-members"
    if not shares and calibration.true_positives is not None:
        shares = [f"{percent(calibration.true_positives.rate.value)} of the members"]
    finds = f"flags {listed(shares)}, and " if shares else ""
    # at the level of the interval beside it, so that both say the same
    holds = negatives.p_value > 1 - negatives.rate.level
    verdict = "is chance" if holds else "would be chance: the calibration does not hold here"
    yield (
        f"A threshold set beforehand on {number_of(calibration.unseen, 'other unseen text')} {finds}falsely flags "
        f"{percent(negatives.rate.value)} ({percent_interval(negatives.rate)}) of {negatives.samples:,} "
        f"{others}, where {percent(negatives.chance)} {verdict}."
    )


def _times(dose: float) -> str:
    names = {1.0: "once", 2.0: "twice"}
    return names.get(dose, f"{dose:g} times")
