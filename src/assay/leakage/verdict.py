"""The verdict on a benchmark: one rule. Evidence goes in, a `Decision` comes out, and every output reads that value.

**What is claimed.** The claim is as narrow as the evidence:

- *Familiar*: "this benchmark, or text of its form, was in the training data". That is all that a comparison with other
  text (functions of packages) supports.
- *Contaminated*: "this benchmark was in the training data". That takes unseen text of the same form: tasks of the same
  benchmark that were kept private, a randomised release, or labels. Only then are single tasks named.

**What is tested.** One score answers, declared before any value is looked at, in the first of these ways for which
there are data:

- *A randomised release.* A lot chose which copy of each task was published, so the test is exact. The result is
  significant if the p-value, adjusted over all tests of the release, is at most .001; else the other ways
  answer, as a lot that does not show is no evidence of absence.
- *Labels.* Samples are known to be seen and never seen. The result is significant if seen samples rank above the
  others: the whole interval of the AUROC is above one half.
- *A form of its own.* The unseen text differs from the benchmark in its very text (a blind baseline or a negative
  control shows it), or there is a parent model. The residual of the benchmark after the scores of the second model is
  judged against placebos, see `assay.leakage.form_test`.
- *Unseen text that is alike, or of the same form.* A permutation test over groups (a project, a file: texts of one are
  not independent). The result is significant if p ≤ `SIGNIFICANCE`; with text of the same form, if
  p ≤ `SAME_FORM_SIGNIFICANCE`.
- *Flags.* For scores of generated text, for fitted detectors, and where p-values are weighted, the test of the groups
  has not been measured. The result is significant if the unseen text would be flagged as often with p ≤ `SIGNIFICANCE`.

**Obstacles.** A result is a verdict only without an obstacle; what could not be measured never counts as
passed. The first obstacle is the reason of "cannot tell":

1. no sample has a value, or there is nothing to compare with;
2. the score is not declared to carry a verdict (raw likelihoods measure first how predictable a text is);
3. there are too few groups for an interval; of flags, no leak, however large, would have been detected;
4. the texts that are compared differ, and neither a residual nor a flat control shows what that does to the scores;
5. too much of the benchmark is unlike every unseen text, or the nearest unseen texts contradict the residual;
6. against unseen text that is alike, a significant result may be familiarity with the projects of the benchmark: the
   test is made again after an allowance for that, which unseen text of the same projects does not need;
7. where nothing shows, a leak may be hidden: the benchmark ranks clearly below the unseen text, the forms differ by
   more than a leak of a fifth would raise the scores, or the upper bound on the share that was seen `BOUND_AT` times
   or more is above `MARGIN`.

Without an obstacle the verdict is "familiar" or "contaminated" if the result is significant, else "no evidence".
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay.errors import ScoreError
from assay.evaluation import (
    CHANCE,
    GROUPS_FOR_INTERVAL,
    SEPARATING_AUROC,
    SIGNIFICANCE,
    BlindBaseline,
    DetectableLeak,
    Estimate,
    FlagRate,
)
from assay.leakage.form_test import LEAST_SUPPORTED, FormTest
from assay.leakage.results import BEYOND, NO_MORE, NegativeControl
from assay.leakage.unseen_test import BOUND_AT, FAMILIARITY, UnseenTest
from assay.reports import (
    in_cases,
    named_p_value,
    number_of,
    percent,
    percent_interval,
    points_with_interval,
)
from assay.scores import flagged, request
from assay.types import Decision, ReleaseEvidence, Undecided, Verdict

SAME_FORM_SIGNIFICANCE = 0.01
"""Largest p-value of the verdict "contaminated", which accuses a benchmark for its own sake; that of "familiar" is
`assay.evaluation.SIGNIFICANCE`: so many clean benchmarks get it where all assumptions hold."""
MARGIN = 0.15
"""Largest upper bound on the share of texts seen `BOUND_AT` times with which "no evidence" may be said: the largest of
four margins with at most 5 % wrong verdicts on the choice half of the reliability grid."""
COMPARED = "this benchmark and the unseen text"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict rests on.

    Attributes:
        score: that is tested.
        scored: number of samples with a value.
        separation: AUROC of seen samples against samples never seen; None without labels.
        test: against unseen text; None without any, or where flags decide.
        flagged: share of samples that stand out one by one; None without unseen text.
        detectable: the smallest leak that the flags would have shown.
        blind: baseline that never sees the model; None where none was measured.
        control: what a model flags that saw neither set of texts; None where none was run.
        form: the residual after the scores of a second model, beside placebos; None where it was not measured.
        same_form: the unseen text has the form of the benchmark, so that the result is about the benchmark alone.
        release: what the lot of a randomised release shows; None without one.
        compared: the two sets of texts in words.
        level: largest p-value of a significant result; None for that of the whole run, see `significance`.
    """

    score: str
    scored: int
    separation: Estimate | None = None
    test: UnseenTest | None = None
    flagged: FlagRate | None = None
    detectable: DetectableLeak | None = None
    blind: BlindBaseline | None = None
    control: NegativeControl | None = None
    form: FormTest | None = None
    same_form: bool = False
    release: ReleaseEvidence | None = None
    compared: str = COMPARED
    level: float | None = None

    @property
    def largest_p_value(self) -> float:
        """Return the largest p-value of a significant result."""
        return self.level or significance(same_form=self.same_form)

    @property
    def decides_by_form(self) -> bool:
        """True if the residual decides: there is a parent model, or the texts differ in form."""
        if self.form is None or self.same_form or self.separation is not None:
            return False
        if self.form.is_parent or texts_differ(self.blind):
            return True
        # a control that flags more than chance sees a difference that the blind baseline missed
        return self.control is not None and self.control.flagged.p_value <= SIGNIFICANCE

    @property
    def result(self) -> Estimate | None:
        """The figure that the verdict is about; None where there is nothing to compare with."""
        if self.separation is not None:
            return self.separation
        if self.test is not None:
            return self.test.share.estimate
        return self.flagged.rate if self.flagged else None

    @property
    def is_significant(self) -> bool:
        """True if the result is more than chance."""
        if self.separation is not None:
            return self.separation.low > CHANCE  # NaN, no interval, is not above
        if self.decides_by_form:
            return self.form is not None and self.form.is_familiar_at(self.level or SIGNIFICANCE)
        judged = self.test or self.flagged
        return judged is not None and judged.p_value <= self.largest_p_value


def texts_differ(blind: BlindBaseline | None) -> bool:
    """Return True unless a baseline that never sees the model shows that texts are alike."""
    return blind is None or blind.ranking is None or blind.separates


def significance(*, same_form: bool) -> float:
    """Return the largest p-value of a significant result."""
    if same_form:
        return SAME_FORM_SIGNIFICANCE
    return SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a result is not a verdict.

    Attributes:
        reason: by category.
        explanation: one sentence with the figures.
        is_confound: the result may have another cause than training; `--allow-confounded` sets these obstacles aside.
    """

    reason: Undecided
    explanation: str
    is_confound: bool = False


def decide(
    evidence: Evidence, benchmark: str, model: str, *, allow_confounded: bool = False, margin: float = MARGIN
) -> Decision:
    """Return the verdict.

    Args:
        evidence: what was measured.
        benchmark: its name.
        model: name of the audited model.
        allow_confounded: decide although the result may have another cause than training; the decision says so.
        margin: see `MARGIN`.
    """
    # an exact test needs no unseen text, so no obstacle of the other ways can stand in its way
    if evidence.release is not None and evidence.release.is_proof:
        return Decision(Verdict.CONTAMINATED, release_finding(evidence.release, benchmark, model))
    set_aside = None
    for obstacle in obstacles(evidence, benchmark, model, margin=margin):
        if not (allow_confounded and obstacle.is_confound):
            return Decision(Verdict.CANNOT_TELL, obstacle.explanation, reason=obstacle.reason, set_aside=set_aside)
        # the first one would have been the reason
        set_aside = set_aside or obstacle.explanation
    verdict = Verdict.NO_EVIDENCE
    if evidence.is_significant:
        verdict = Verdict.FAMILIAR
        if evidence.separation is not None or evidence.same_form:
            verdict = Verdict.CONTAMINATED
    return Decision(verdict, finding(evidence, benchmark, model), set_aside=set_aside)


def in_pairs(area: Estimate) -> str:
    """Return an AUROC as what it means, for a sentence: how often the one sample scores higher than the other."""
    share = f"in {percent(area.value)} of pairs"
    if not area.has_interval:
        return f"{share} (chance is 50\u00a0%; {area.reason or 'no interval'})"
    return f"{share} ({percent(area.level)} interval {percent_interval(area)}; chance is 50\u00a0%)"


def finding(evidence: Evidence, benchmark: str, model: str) -> str:
    """Return the result in one sentence, with its figures."""
    if evidence.separation is not None:
        return (
            f"By {evidence.score}, a seen sample of {benchmark} ranks above one that was never seen "
            f"{in_pairs(evidence.separation)}."
        )
    if evidence.decides_by_form and evidence.form is not None:
        return form_finding(evidence.form, benchmark, model)
    if evidence.test is not None:
        share = evidence.test.share.estimate
        return (
            f"Under {model}, {percent(share.value)} ({percent(share.level)} interval {percent(share.low)} to "
            f"{percent(share.high)}) of {benchmark} looks trained on; a benchmark that did not leak scores this high "
            f"{in_cases(evidence.test.p_value)}."
        )
    if evidence.flagged is None:
        raise ValueError("evidence without a result has an obstacle, and no finding")
    return (
        f"{percent(evidence.flagged.rate.value)} of {benchmark} is flagged as familiar to {model}, where "
        f"{percent(evidence.flagged.chance)} is chance; a benchmark that did not leak has as many or more "
        f"flagged {in_cases(evidence.flagged.p_value)}."
    )


def obstacles(evidence: Evidence, benchmark: str, model: str, *, margin: float = MARGIN) -> Iterator[Obstacle]:
    """Yield every obstacle to a verdict, in the order of the head of this file."""
    if not evidence.scored:
        yield Obstacle(Undecided.NOT_MEASURED, f"No sample of {benchmark} could be scored by {evidence.score}.")
        return
    result = evidence.result
    if result is None:
        explanation = f"There is no unseen text to compare the scores of {model} with."
        if evidence.release is not None:
            explanation = f"{release_finding(evidence.release, benchmark, model)} {explanation}"
        yield Obstacle(Undecided.NO_UNSEEN_TEXT, explanation)
        return
    possible: list[Obstacle | None] = []
    if evidence.separation is None:
        possible.append(unfit_score(evidence.score))
    if evidence.decides_by_form and evidence.form is not None:
        possible += form_obstacles(evidence.form, benchmark, model, significant=evidence.is_significant)
    else:
        possible += _obstacles_of_groups(evidence, result, benchmark, margin=margin)
    yield from filter(None, possible)


def _obstacles_of_groups(
    evidence: Evidence, result: Estimate, benchmark: str, *, margin: float
) -> Iterator[Obstacle | None]:
    """Yield obstacles, or None, to a verdict by labels, by the permutation test or by flags."""
    significant = evidence.is_significant
    by_flags = None
    if evidence.separation is None and evidence.test is None:
        by_flags = evidence.flagged
    sides = "benchmark + unseen text" if evidence.separation is None else "members + non-members"
    yield _missing_interval(result, sides)
    yield _without_power(by_flags, evidence.detectable)
    yield comparability(evidence.blind, evidence.control, evidence.compared, significant=significant)
    yield _hiding_control(by_flags, evidence.control)
    if significant:
        yield _familiar_projects(evidence, benchmark)
    else:
        yield _easier_unseen_text(evidence, benchmark)
        yield _unnoticed_leak(evidence, benchmark, margin)


def unfit_score(score: str) -> Obstacle | None:
    """Return an obstacle if a score is not declared to carry a verdict; None if it is."""
    try:
        flags = request(score).definition.flags
    except ScoreError:  # a fitted detector, or a score of another version
        flags = frozenset()
    if "verdict" in flags or score in flagged("verdict"):
        return None
    return Obstacle(
        Undecided.UNFIT_SCORE,
        f"{score} is not declared to carry a verdict: it measures first of all how predictable a text is, so a "
        "benchmark that is easier than the unseen text would look seen.",
        is_confound=True,
    )


def _missing_interval(result: Estimate, sides: str) -> Obstacle | None:
    if result.has_interval:
        return None
    reason = result.reason or "too few values for an interval"
    if len(result.groups) > 1:
        reason += f" ({sides})"
    needed = f"a verdict needs at least {GROUPS_FOR_INTERVAL} groups on each side"
    return Obstacle(Undecided.TOO_FEW, f"{reason[:1].upper()}{reason[1:]}; {needed}.")


def _without_power(flags: FlagRate | None, leak: DetectableLeak | None) -> Obstacle | None:
    """Return an obstacle if nothing stands out and no leak, however large, would have."""
    if flags is None or leak is None or not math.isnan(leak.share) or flags.p_value <= SIGNIFICANCE:
        return None
    cause = f"{number_of(leak.samples, 'sample')} and the unseen texts are too few"
    if leak.tied:
        cause = f"{number_of(leak.tied, 'sample')} of {leak.samples:,} share one value"
    return Obstacle(Undecided.TOO_FEW, f"This audit could have detected nothing: {cause}.")


def comparability(
    blind: BlindBaseline | None, control: NegativeControl | None = None, compared: str = COMPARED, *, significant: bool
) -> Obstacle | None:
    """Return why two sets of texts may not be compared; None if they may.

    Args:
        blind: baseline that never sees the model; None where none was measured.
        control: the same comparison under a model that saw neither set; None where none was run.
        compared: the two sets in words.
        significant: the result is more than chance.
    """
    if control is None:
        return _blind_obstacle(blind, compared)
    if control.permits(significant=significant):
        return None
    # a control that shows nothing says too little to set aside what the texts show by themselves
    if control.flagged.p_value <= SIGNIFICANCE or _blind_obstacle(blind, compared) is not None:
        return _not_flat(control)
    return None


def _not_flat(control: NegativeControl) -> Obstacle:
    flags = control.flagged
    return Obstacle(
        Undecided.CONTROL_NOT_FLAT,
        f"{control.model}, which never saw the benchmark, flags {percent(flags.rate.value)} of it "
        f"({percent_interval(flags.rate)}), where {percent(flags.chance)} is chance; {_excess_in_words(control)}.",
        is_confound=True,
    )


def _excess_in_words(control: NegativeControl) -> str:
    """Return why the excess over a control does not decide."""
    excess = control.excess
    if excess is None:
        return "as the texts are weighted, its whole interval would have to be near chance"
    if not excess.has_interval:
        return f"how much more the audited model flags has no interval ({excess.reason})"
    return (
        f"the audited model flags {more_or_less(excess)}: neither clearly more than {100 * BEYOND:g} points more nor "
        f"clearly less than {100 * NO_MORE:g}"
    )


def more_or_less(excess: Estimate) -> str:
    """Return an excess over a control in words, by its sign."""
    if excess.value >= 0:
        return f"more by {points_with_interval(excess)}"
    # an interval that is mirrored swaps its ends
    negative = replace(excess, value=-excess.value, low=-excess.high, high=-excess.low)
    return f"less by {points_with_interval(negative)}"


def _blind_obstacle(blind: BlindBaseline | None, compared: str) -> Obstacle | None:
    """Return why a blind baseline does not show that texts are alike; None if it does."""
    if blind is None or blind.ranking is None:
        reason = blind.reason if blind is not None and blind.reason else "there is no blind baseline of them"
        explanation = f"Whether {compared} differ in their very text was not measured: {reason}."
        return Obstacle(Undecided.NOT_MEASURED, explanation, is_confound=True)
    area = blind.ranking.auroc
    if blind.separates:
        return Obstacle(
            Undecided.NOT_MEASURED,
            f"A classifier that never sees the model ranks {compared} rightly {in_pairs(area)}, and no negative "
            "control shows whether the score reacts to that difference.",
            is_confound=True,
        )
    # a high value whose interval reaches down shows neither a difference nor that there is none
    if not area.has_interval or area.value >= SEPARATING_AUROC:
        return Obstacle(
            Undecided.TOO_FEW,
            f"A classifier that never sees the model ranks {compared} rightly {in_pairs(area)}: the texts are too few "
            "to show that they are alike.",
            is_confound=True,
        )
    return None


def _hiding_control(flags: FlagRate | None, control: NegativeControl | None) -> Obstacle | None:
    """Return an obstacle if nothing stands out where the difference of the texts lowers the scores: it hides a leak."""
    if flags is None or control is None or flags.p_value <= SIGNIFICANCE or not control.is_below_chance:
        return None
    return Obstacle(
        Undecided.CONTROL_NOT_FLAT,
        f"{control.model}, which never saw the benchmark, flags less of it than chance "
        f"({percent_interval(control.flagged.rate)}, where {percent(control.flagged.chance)} is chance): the unseen "
        "text scores higher for a reason other than training, which would hide a leak.",
        is_confound=True,
    )


def release_finding(lot: ReleaseEvidence, benchmark: str, model: str) -> str:
    """Return what the lot of a release shows, in one sentence with its figures."""
    adjusted, condition = lot.adjusted_p_value, ", if the publisher drew honestly"
    # a public beacon leaves the publisher no choice of the draw
    if lot.has_beacon:
        condition = ""
    if not lot.valid:
        return f"The release of {benchmark} was made with a chosen key, so its lot proves nothing."
    if adjusted is None:
        p_value = named_p_value(lot.p_value)
        return f"The log of the release of {benchmark} is not full, so its p-value ({p_value}) is unadjusted."
    if not lot.is_proof:
        shown = f"The lot of the release does not show in {model} ({named_p_value(adjusted)})"
        return f"{shown}, which is no evidence of absence."
    return (
        f"{model} prefers the copies of {benchmark} that a lot chose: a model without the publication shows a result "
        f"this clear {in_cases(adjusted)}{condition}; it knows at least {lot.memorised} of "
        f"{number_of(lot.tasks, 'task')}."
    )


def form_finding(form: FormTest, benchmark: str, model: str) -> str:
    """Return the residual of a benchmark in one sentence, beside what placebos reach."""
    measured = form.residual.estimate
    direction = "higher" if measured.value >= 0 else "lower"
    ends = [measured.low, measured.high]
    if measured.low * measured.high > 0:  # the direction says on which side of 0 the interval lies
        ends = sorted(map(abs, ends))
    # the sum makes 0 of -0
    low, high = (round(end, 1) + 0.0 for end in ends)
    interval = f"{low:.1f} to {high:.1f}".replace("-", "−")
    return (
        f"Under {model}, {benchmark} scores {abs(measured.value):.1f} standard deviations {direction} than the unseen "
        f"text ({percent(measured.level)} interval {interval}) after its scores under {form.model} are taken off; of "
        f"{form.placebos} benchmarks that a model saw nothing of, 95 % stay below {form.margin:.1f}."
    )


def form_obstacles(form: FormTest, benchmark: str, model: str, *, significant: bool) -> Iterator[Obstacle]:
    """Yield what stands in the way of a verdict by the residual, see the head of this file."""
    residual = form.residual
    if not residual.estimate.has_interval:
        yield Obstacle(Undecided.TOO_FEW, f"There is no interval of the residual: {residual.estimate.reason}.")
        return
    if residual.supported < LEAST_SUPPORTED:
        yield Obstacle(
            Undecided.OUTSIDE,
            f"{percent(1 - residual.supported)} of {benchmark} is unlike the unseen text by its scores under "
            f"{form.model}, so nothing can be compared with it; at least {percent(LEAST_SUPPORTED)} has to be alike.",
            is_confound=True,
        )
    sentence = form_finding(form, benchmark, model)
    if significant:
        # a straight line fits badly at the edge of the unseen text; the nearest neighbours do not depend on it
        if not residual.nearest > 0:
            yield Obstacle(
                Undecided.OUTSIDE,
                f"{sentence} The nearest unseen text of each task contradicts that.",
                is_confound=True,
            )
        return
    # the whole interval lies below every clean form, so the comparison itself is off and not the benchmark clean
    if residual.estimate.high < form.floor:
        floor = f"{form.floor:.1f}".replace("-", "−")
        yield Obstacle(
            Undecided.EASIER, f"{sentence} That is below all of those benchmarks ({floor}), which would hide a leak."
        )
    if not form.rules_out:
        yield Obstacle(
            Undecided.TOO_FEW if form.can_decide else Undecided.FORM,
            f"{sentence} Up to {percent(form.hidden_share)} of the tasks may have been seen twice without showing.",
        )


def _easier_unseen_text(evidence: Evidence, benchmark: str) -> Obstacle | None:
    """Return an obstacle where nothing shows because the unseen text ranks above the benchmark by itself."""
    if evidence.separation is not None or evidence.same_form or evidence.test is None:
        return None
    above = evidence.test.superiority
    # NaN, no interval, is not below chance
    if above is None or not above.high < CHANCE:
        return None
    return Obstacle(
        Undecided.EASIER,
        f"A task of {benchmark} scores higher than an unseen text in only {percent(above.value)} of pairs "
        f"({percent_interval(above)}), where half is chance: the unseen text is easier, which would hide a leak.",
    )


def _familiar_projects(evidence: Evidence, benchmark: str) -> Obstacle | None:
    """Return an obstacle where a benchmark shows no more than text of projects of which other texts were trained on."""
    test = evidence.test
    # NaN: no allowance is made
    if evidence.separation is not None or test is None or not test.p_beyond > evidence.largest_p_value:
        return None
    return Obstacle(
        Undecided.FAMILIAR_PROJECTS,
        f"{benchmark} scores higher than the unseen text ({named_p_value(test.p_value)}), but a model that was "
        "trained on other texts of the same projects would show such a difference, too "
        f"({named_p_value(test.p_beyond)} after an allowance of {FAMILIARITY:g} standard deviations). Unseen text "
        "of the same projects, with the same groups, needs no allowance.",
        is_confound=True,
    )


def _unnoticed_leak(evidence: Evidence, benchmark: str, margin: float) -> Obstacle | None:
    """Return an obstacle where nothing shows, but a large part might have leaked unnoticed."""
    if evidence.separation is not None or evidence.test is None:
        return None
    bound = evidence.test.upper_bound()
    # the bound is that of the 95 % interval: a leak above it would have been missed in one case of twenty
    if bound <= margin:
        return None
    return Obstacle(
        Undecided.TOO_FEW,
        f"Nothing shows, but up to {percent(bound)} of {benchmark} could have been seen {BOUND_AT} times or more: the "
        f"texts are too few to say less than {percent(margin)}.",
    )
