"""One verdict: what decides it, and what stands in its way."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.evaluation import BlindBaseline, DetectableLeak, Estimate, FlagRate, Ranking
from assay.leakage import Audit, Calibration, Distribution, NegativeControl, ScoreSummary
from assay.leakage.description.describing import facts
from assay.leakage.description.statement import statement_of
from assay.leakage.run_folder import summary_of
from assay.types import Sample, Undecided, Verdict

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


def audit(
    p_value: float = 0.001,
    *,
    baseline: BlindBaseline | None = ALIKE,
    control: NegativeControl | None = None,
    rate: Estimate = HIGH,
    score: str = "mid_pit",
    unseen: bool = True,
) -> Audit:
    zeros = np.zeros(1)
    calibration = Calibration("fresh", 200, 0.05, zeros, zeros, flags(rate, p_value), 0.3, control=control)
    nothing = Distribution(math.nan, math.nan, {})
    summary = ScoreSummary(score, 100, 100, nothing, {}, calibration=calibration if unseen else None)
    return Audit(
        kind="audit",
        model="some/model",
        benchmark="humaneval",
        samples=(Sample("a", "x"),),
        values={score: zeros},
        reasons={score: (None,)},
        summaries=(summary,),
        primary=score,
        blind=baseline,
        blind_compares="this benchmark and the unseen text" if baseline else "",
    )


@pytest.mark.parametrize(("p_value", "verdict"), [(0.05, Verdict.CONTAMINATED), (0.051, Verdict.NO_EVIDENCE)])
def test_the_p_value_of_the_flagged_share_decides_where_texts_are_alike(p_value: float, verdict: Verdict):
    decision = audit(p_value).decision()
    assert (decision.verdict, decision.reason) == (verdict, None)
    assert "20\u00a0% of humaneval is flagged" in decision.explanation
    assert "where 5\u00a0% is chance" in decision.explanation


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (audit(unseen=False), Undecided.NO_UNSEEN_TEXT),
        (audit(score="loss"), Undecided.UNFIT_SCORE),
        (audit(rate=FEW), Undecided.TOO_FEW),
        (audit(baseline=None), Undecided.NOT_MEASURED),
        (audit(baseline=BlindBaseline(None, None, False, (), "9 texts")), Undecided.NOT_MEASURED),
        (audit(baseline=DIFFERENT), Undecided.NOT_MEASURED),
        (audit(baseline=blind(0.62, 0.48, 0.74)), Undecided.TOO_FEW),
        (audit(baseline=blind(0.52, math.nan, math.nan)), Undecided.TOO_FEW),
        (audit(baseline=DIFFERENT, control=STEEP), Undecided.CONTROL_NOT_FLAT),
        (audit(baseline=DIFFERENT, control=WIDE), Undecided.CONTROL_NOT_FLAT),
        (audit(baseline=ALIKE, control=STEEP), Undecided.CONTROL_NOT_FLAT),
    ],
)
def test_what_was_not_measured_or_differs_leaves_the_question_open(case: Audit, reason: Undecided):
    decision = case.decision()
    assert (decision.verdict, decision.reason) == (Verdict.CANNOT_TELL, reason)
    assert decision.explanation.endswith(".")


@pytest.mark.parametrize(
    ("baseline", "control"), [(DIFFERENT, FLAT), (None, FLAT), (ALIKE, WIDE)], ids=["differ", "no baseline", "alike"]
)
def test_a_flat_control_permits_a_verdict_on_texts_that_differ(
    baseline: BlindBaseline | None, control: NegativeControl
):
    assert audit(baseline=baseline, control=control).decision().verdict is Verdict.CONTAMINATED


def test_a_control_is_flat_if_its_whole_interval_is_within_the_margin_of_chance():
    assert [control.is_flat for control in (FLAT, STEEP, WIDE)] == [True, False, False]


@pytest.mark.parametrize(
    ("p_value", "excess", "verdict"),
    [
        (0.001, Estimate(0.4, 0.3, 0.5, 0.9), Verdict.CONTAMINATED),
        (0.001, Estimate(0.13, 0.09, 0.17, 0.9), Verdict.CANNOT_TELL),
        (0.4, Estimate(0.05, -0.03, 0.13, 0.9), Verdict.NO_EVIDENCE),
        (0.4, Estimate(0.09, -0.03, 0.18, 0.9), Verdict.CANNOT_TELL),
        (0.001, FEW, Verdict.CANNOT_TELL),
    ],
)
@pytest.mark.parametrize("baseline", [DIFFERENT, ALIKE, None])
def test_where_the_control_reacts_the_excess_over_it_decides(p_value, excess, verdict, baseline):
    control = replace(STEEP, excess=excess)
    decision = audit(p_value, baseline=baseline, control=control).decision()
    assert decision.verdict is verdict
    if verdict is Verdict.CANNOT_TELL:
        assert decision.reason is Undecided.CONTROL_NOT_FLAT
        assert "the audited model flags" in decision.explanation


def test_a_control_below_chance_hides_a_leak_and_clears_nobody():
    low = NegativeControl("builtin:small", flags(Estimate(0.0, 0.0, 0.03), 1.0))
    assert audit(0.4, control=low).decision().reason is Undecided.CONTROL_NOT_FLAT
    assert audit(0.001, control=low).decision().verdict is Verdict.CONTAMINATED


def test_a_control_without_an_interval_is_not_flat():
    assert not NegativeControl("builtin:small", flags(FEW, 0.5)).is_flat


def test_a_narrower_margin_asks_more_of_a_control():
    assert not NegativeControl("builtin:small", FLAT.flagged, margin=0.02).is_flat


LEAK = DetectableLeak(0.07, 0.8, 100, 0, math.nan)


def with_leak(case: Audit, leak: DetectableLeak) -> Audit:
    (summary,) = case.summaries
    assert summary.calibration is not None
    calibration = replace(summary.calibration, detectable=leak, q_values=np.full(1, 0.01))
    return replace(case, summaries=(replace(summary, calibration=calibration),))


def test_the_main_figures_begin_with_the_verdict_and_state_the_detectable_leak():
    names = [fact.name for fact in facts(with_leak(audit(), LEAK))]
    assert names == [
        "Verdict",
        "Samples flagged",
        "Detectable leak",
        "Unseen texts",
        "Samples scored",
    ]


def test_without_a_verdict_nothing_is_counted_that_accuses():
    open_case = with_leak(audit(baseline=DIFFERENT), LEAK)
    assert "Single samples named" not in [fact.name for fact in facts(open_case)]
    assert (
        not {"discoveries", "adaptive_discoveries", "seen_at_least"}
        & summary_of(open_case)["summaries"][0]["calibration"].keys()
    )
    words = " ".join(statement_of(open_case).details)
    assert "No single sample is named" in words
    assert "At least" not in words
    assert summary_of(open_case)["decision"]["verdict"] == "cannot tell"


def test_with_a_verdict_the_summary_counts_the_discoveries_of_a_contrast():
    entry = summary_of(with_leak(audit(score="sr_names"), LEAK))["summaries"][0]
    assert (entry["decision"]["verdict"], entry["calibration"]["discoveries"]) == ("contaminated", 1)


def test_an_audit_that_could_have_detected_nothing_says_so_first_and_clears_nobody():
    ties = DetectableLeak(math.nan, 0.8, 164, 155, 0.0)
    case = with_leak(audit(0.6), ties)
    assert case.decision().reason is Undecided.TOO_FEW
    assert "155 samples of 164 share one value" in case.decision().explanation
    assert statement_of(case).details[0].startswith("155 of 164 samples tie at one value of mid_pit (0)")
