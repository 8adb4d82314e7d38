"""One rule: what decides the verdict, and what stands in its way."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.evaluation import (
    TOP,
    BlindBaseline,
    ContaminatedShare,
    DetectableLeak,
    Estimate,
    FlagRate,
    FormResidual,
    Ranking,
)
from assay.leakage import Compared, Evidence, FormTest, NegativeControl, UnseenTest, decide
from assay.leakage.form_test import placebos
from assay.leakage.unseen_test import BOUND_AT, TIMES_SEEN
from assay.leakage.verdict import MARGIN, more_or_less
from assay.types import ReleaseEvidence, Undecided, Verdict

HIGH = Estimate(0.2, 0.15, 0.27)
FEW = Estimate(0.4, math.nan, math.nan, groups=(1, 200), reason="too few groups for an interval: 1 + 200")


def blind(value: float, low: float, high: float, *, separates: bool = False) -> BlindBaseline:
    area = Estimate(value, low, high)
    rate = {0.01: area, 0.05: area}
    ranking = Ranking("bag of words", 60, 40, 0, 0, 20, area, area, 0.6, rate, np.zeros(2), np.ones(2))
    return BlindBaseline(ranking, ranking.name, separates, (ranking,))


ALIKE = blind(0.51, 0.45, 0.57)
DIFFERENT = blind(0.9, 0.85, 0.94, separates=True)


def flags(rate: Estimate, p_value: float) -> FlagRate:
    return FlagRate(10, 100, 0, 0.05, rate, 0.05, p_value)


FLAT = NegativeControl("builtin:small", flags(Estimate(0.04, 0.02, 0.08), 0.7))
STEEP = NegativeControl("builtin:small", flags(Estimate(0.2, 0.15, 0.27), 1e-6))
WIDE = NegativeControl("builtin:small", flags(Estimate(0.06, 0.01, 0.15), 0.4))


def against(
    p_value: float = 0.5,
    value: float = 0.0,
    upper: float = MARGIN / 2,
    p_beyond: float | None = None,
    share: Estimate | None = None,
) -> UnseenTest:
    top = TIMES_SEEN[BOUND_AT].top
    reached = Estimate(TOP, 0.0, TOP + upper * (top - TOP), 0.9, (40, 40))
    measured = share or Estimate(value, 0.0, upper, 0.9, (40, 40))
    found = ContaminatedShare(measured, reached, 40, 40, "storey")
    return UnseenTest(p_value, p_value if p_beyond is None else p_beyond, found, {1: 0.5, 4: 0.2})


def evidence(test: UnseenTest | None = None, **changes) -> Evidence:
    return replace(Evidence("mid_pit", 40, test=test or against(), blind=ALIKE), **changes)


def flagged(p_value: float = 0.001, rate: Estimate = HIGH, **changes) -> Evidence:
    """What a score of generated text gives: no test of the groups, but flags."""
    return replace(Evidence("sr_black", 100, flagged=flags(rate, p_value), blind=ALIKE), **changes)


PROOF = ReleaseEvidence(1e-6, 1e-5, {"a": 0.01}, 12, 40, valid=True, has_beacon=False)


def by_form(value: float, supported: float = 0.95, nearest: float | None = None, *, parent: bool = False) -> FormTest:
    """A residual with a standard error of .08, beside the placebos that ship."""
    own, error = placebos(parent=parent), 0.08
    interval = Estimate(value, value - 1.7 * error, value + 1.7 * error, 0.9, (100, 35))
    residual = FormResidual(interval, error, 34.0, supported, value if nearest is None else nearest)
    return FormTest(
        residual,
        "control",
        parent,
        margin=own.margin,
        floor=own.floor,
        hidden=own.hidden(value, error),
        effect=own.effect,
        placebos=own.count,
    )


SEEN = against(p_value=0.001, value=0.5, upper=0.6)
TIED = DetectableLeak(math.nan, 0.8, 164, 155, 0.0)
CASES = [
    (evidence(), Verdict.NO_EVIDENCE, None),
    (evidence(SEEN), Verdict.FAMILIAR, None),
    (evidence(against(0.001, p_beyond=0.2)), Verdict.CANNOT_TELL, Undecided.FAMILIAR_PROJECTS),
    (evidence(against(0.001, p_beyond=math.nan)), Verdict.FAMILIAR, None),
    (evidence(against(upper=2 * MARGIN)), Verdict.CANNOT_TELL, Undecided.TOO_FEW),
    (evidence(against(share=FEW)), Verdict.CANNOT_TELL, Undecided.TOO_FEW),
    (Evidence("mid_pit", 40), Verdict.CANNOT_TELL, Undecided.NO_UNSEEN_TEXT),
    (evidence(scored=0), Verdict.CANNOT_TELL, Undecided.NOT_MEASURED),
    (evidence(score="loss"), Verdict.CANNOT_TELL, Undecided.UNFIT_SCORE),
    (evidence(SEEN, blind=None), Verdict.CANNOT_TELL, Undecided.NOT_MEASURED),
    (
        evidence(SEEN, blind=BlindBaseline(None, None, False, (), "9 texts")),
        Verdict.CANNOT_TELL,
        Undecided.NOT_MEASURED,
    ),
    (evidence(SEEN, blind=DIFFERENT), Verdict.CANNOT_TELL, Undecided.NOT_MEASURED),
    (evidence(SEEN, blind=blind(0.62, 0.48, 0.74)), Verdict.CANNOT_TELL, Undecided.TOO_FEW),
    (evidence(SEEN, blind=blind(0.52, math.nan, math.nan)), Verdict.CANNOT_TELL, Undecided.TOO_FEW),
    (evidence(SEEN, control=STEEP), Verdict.CANNOT_TELL, Undecided.CONTROL_NOT_FLAT),
    (evidence(SEEN, blind=DIFFERENT, control=WIDE), Verdict.CANNOT_TELL, Undecided.CONTROL_NOT_FLAT),
    (evidence(SEEN, blind=DIFFERENT, control=FLAT), Verdict.FAMILIAR, None),
    (evidence(SEEN, blind=None, control=FLAT), Verdict.FAMILIAR, None),
    (evidence(SEEN, control=WIDE), Verdict.FAMILIAR, None),
    (evidence(SEEN, same_form=True), Verdict.CONTAMINATED, None),
    (evidence(against(0.02, value=0.3), same_form=True), Verdict.NO_EVIDENCE, None),
    (evidence(SEEN, same_form=True, blind=DIFFERENT), Verdict.CANNOT_TELL, Undecided.NOT_MEASURED),
    (evidence(SEEN, form=by_form(1.5), blind=DIFFERENT), Verdict.FAMILIAR, None),
    (evidence(SEEN, form=by_form(1.5), same_form=True), Verdict.CONTAMINATED, None),
    (evidence(form=by_form(0.3), control=STEEP), Verdict.CANNOT_TELL, Undecided.FORM),
    (evidence(form=by_form(-1.6), blind=DIFFERENT), Verdict.NO_EVIDENCE, None),
    (evidence(form=by_form(-2.5), blind=DIFFERENT), Verdict.CANNOT_TELL, Undecided.EASIER),
    (evidence(form=by_form(1.5, supported=0.7), blind=DIFFERENT), Verdict.CANNOT_TELL, Undecided.OUTSIDE),
    (evidence(form=by_form(1.5, nearest=-0.1), blind=DIFFERENT), Verdict.CANNOT_TELL, Undecided.OUTSIDE),
    (evidence(form=by_form(0.3, parent=True)), Verdict.CANNOT_TELL, Undecided.TOO_FEW),
    (evidence(form=by_form(0.6, parent=True)), Verdict.FAMILIAR, None),
    (evidence(form=by_form(0.1, parent=True)), Verdict.NO_EVIDENCE, None),
    (evidence(replace(against(), superiority=Estimate(0.3, 0.25, 0.4))), Verdict.CANNOT_TELL, Undecided.EASIER),
    (evidence(release=PROOF), Verdict.CONTAMINATED, None),
    (evidence(SEEN, release=replace(PROOF, adjusted_p_value=0.01)), Verdict.FAMILIAR, None),
    (evidence(release=replace(PROOF, valid=False)), Verdict.NO_EVIDENCE, None),
    (evidence(release=replace(PROOF, adjusted_p_value=None)), Verdict.NO_EVIDENCE, None),
    (Evidence("mid_pit", 40, release=PROOF), Verdict.CONTAMINATED, None),
    (
        Evidence("mid_pit", 40, release=replace(PROOF, adjusted_p_value=0.4)),
        Verdict.CANNOT_TELL,
        Undecided.NO_UNSEEN_TEXT,
    ),
    (flagged(0.05), Verdict.FAMILIAR, None),
    (flagged(0.051), Verdict.NO_EVIDENCE, None),
    (flagged(rate=FEW), Verdict.CANNOT_TELL, Undecided.TOO_FEW),
    (flagged(0.6, detectable=TIED), Verdict.CANNOT_TELL, Undecided.TOO_FEW),
    (Evidence("loss", 9, separation=Estimate(0.8, 0.7, 0.9), blind=ALIKE), Verdict.CONTAMINATED, None),
    (Evidence("loss", 9, separation=Estimate(0.6, 0.4, 0.8), blind=ALIKE), Verdict.NO_EVIDENCE, None),
    (Evidence("loss", 9, separation=FEW, blind=ALIKE), Verdict.CANNOT_TELL, Undecided.TOO_FEW),
]


@pytest.mark.parametrize(("measured", "verdict", "reason"), CASES)
def test_what_stands_in_the_way_of_a_verdict_comes_first(measured, verdict, reason):
    decision = decide(measured, "words", "model")
    assert (decision.verdict, decision.reason) == (verdict, reason)
    assert decision.explanation.endswith(".")


def test_texts_that_may_differ_can_be_compared_on_request_and_the_decision_says_so():
    different = evidence(SEEN, blind=DIFFERENT)
    strict, allowed = (decide(different, "words", "model", allow_confounded=allow) for allow in (False, True))
    assert (allowed.verdict, allowed.set_aside) == (Verdict.FAMILIAR, strict.explanation)
    assert strict.set_aside is None
    explained = evidence(against(0.001, p_beyond=0.2))
    assert "same projects" in decide(explained, "words", "model").explanation
    assert decide(explained, "words", "model", allow_confounded=True).verdict is Verdict.FAMILIAR


def test_a_control_is_flat_if_its_whole_interval_is_within_the_margin_of_chance():
    assert [control.is_flat for control in (FLAT, STEEP, WIDE)] == [True, False, False]
    assert not NegativeControl("builtin:small", flags(FEW, 0.5)).is_flat


@pytest.mark.parametrize(
    ("test", "excess", "verdict"),
    [
        (SEEN, Estimate(0.4, 0.3, 0.5, 0.9), Verdict.FAMILIAR),
        (SEEN, Estimate(0.13, 0.09, 0.17, 0.9), Verdict.CANNOT_TELL),
        (against(), Estimate(0.05, -0.03, 0.13, 0.9), Verdict.NO_EVIDENCE),
        (against(), Estimate(0.09, -0.03, 0.18, 0.9), Verdict.CANNOT_TELL),
        (SEEN, FEW, Verdict.CANNOT_TELL),
    ],
)
@pytest.mark.parametrize("baseline", [DIFFERENT, ALIKE, None])
def test_where_the_control_reacts_the_excess_over_it_decides(test, excess, verdict, baseline):
    decision = decide(evidence(test, blind=baseline, control=replace(STEEP, excess=excess)), "words", "model")
    assert decision.verdict is verdict
    if verdict is Verdict.CANNOT_TELL:
        assert decision.reason is Undecided.CONTROL_NOT_FLAT
        assert "the audited model flags" in decision.explanation


def test_an_excess_is_worded_by_its_sign():
    assert more_or_less(Estimate(0.03, -0.05, 0.11, 0.9)).startswith("more by 3 percentage points")
    assert more_or_less(Estimate(-0.03, -0.11, 0.05, 0.9)).startswith("less by 3 percentage points")
    assert "-5" in more_or_less(Estimate(-0.03, -0.11, 0.05, 0.9))


def test_a_control_below_chance_hides_a_leak_from_flags_and_clears_nobody():
    low = NegativeControl("builtin:small", flags(Estimate(0.0, 0.0, 0.03), 1.0))
    assert decide(flagged(0.4, control=low), "words", "model").reason is Undecided.CONTROL_NOT_FLAT
    assert decide(flagged(0.001, control=low), "words", "model").verdict is Verdict.FAMILIAR


def shifted(by: float, groups: str = "", unseen_groups: str = "unseen ") -> Compared:
    """A benchmark that scores higher by so many standard deviations; 60 texts a side, of 30 groups."""
    random = np.random.default_rng(3)
    names = [[f"{kind}{at // 2}" for at in range(60)] for kind in (groups, unseen_groups)]
    return Compared(random.normal(by, 1, 60), random.normal(0, 1, 60), *names)


def test_an_allowance_is_made_for_projects_that_the_model_may_know():
    weak, strong = shifted(0.6), shifted(2.0)
    assert weak.p_value() <= 0.05 < weak.p_beyond()
    assert weak.p_beyond(0.1) <= 0.05
    assert max(strong.p_value(), strong.p_beyond()) <= 0.05


def test_no_allowance_is_made_where_the_unseen_text_is_of_the_same_projects():
    texts = shifted(0.6, unseen_groups="")
    assert texts.allowance() == 0.0
    assert texts.p_value() <= 0.05
    assert math.isnan(texts.p_beyond())
    few = replace(texts, unseen_groups=[f"other {at}" for at in range(52)] + texts.unseen_groups[:8])
    assert few.allowance() > 0


def test_the_smallest_share_that_is_revealed_falls_with_the_times_seen():
    found = shifted(0.0).test()
    assert list(found.detectable) == [1, 2, 4, 8]
    assert found.detectable[1] > found.detectable[8] > 0


def test_what_a_lot_shows_is_said_with_what_it_supposes():
    honest = decide(evidence(release=PROOF), "words", "model").explanation
    assert "if the publisher drew honestly" in honest
    assert "at least 12 of 40 tasks" in honest
    assert "honestly" not in decide(evidence(release=replace(PROOF, has_beacon=True)), "words", "model").explanation
    nothing = Evidence("mid_pit", 40, release=replace(PROOF, adjusted_p_value=0.4))
    assert "no evidence of absence" in decide(nothing, "words", "model").explanation
