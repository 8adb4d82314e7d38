"""What a ranking reports, and what it says about samples without a score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.evaluation import auroc, rank_all, rank_score, tpr_at_fpr
from assay.evaluation.ranking import roc_curve
from assay.evaluation.ranking_result import thinned

EXAMPLES = settings(max_examples=20, deadline=None)  # the first call may import scikit-learn


def study(n=200, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 2 == 0
    return rng.normal(size=n) + shift * positive, positive


def test_an_unscorable_sample_is_counted_and_changes_no_metric():
    scores, positive = study()
    holes = scores.copy()
    holes[:3] = np.nan
    ranking = rank_score("s", holes, positive, [None] * 200, resamples=20)
    assert (ranking.unscorable_positives, ranking.unscorable_negatives) == (2, 1)
    assert (ranking.positives, ranking.negatives) == (98, 99)
    assert ranking.coverage == 197 / 200
    assert ranking.auroc.value == pytest.approx(auroc(scores[3:], positive[3:]))


def test_the_value_lies_within_its_interval():
    scores, positive = study(1000)
    ranking = rank_score("s", scores, positive, [None] * 1000, resamples=100)
    for estimate in (ranking.auroc, ranking.auprc, *ranking.tpr_at_fpr.values()):
        assert estimate.low <= estimate.value <= estimate.high


def test_the_rates_are_those_of_the_pure_functions():
    scores, positive = study()
    ranking = rank_score("s", scores, positive, [None] * 200, resamples=20)
    assert {r: e.value for r, e in ranking.tpr_at_fpr.items()} == {
        r: pytest.approx(tpr_at_fpr(scores, positive, r)) for r in (0.01, 0.05)
    }


def test_chance_for_the_auprc_is_the_share_of_positives():
    ranking = rank_score("s", [4, 3, 2, 1], [True, False, False, False], [None] * 4, resamples=20)
    assert ranking.auprc_chance == 0.25


def test_scores_ranked_together_rank_as_alone():
    scores, positive = study()
    other, _ = study(seed=1)
    groups = [i // 4 for i in range(200)]
    together = rank_all({"a": scores, "b": other}, positive, groups, resamples=50)
    assert together["b"].auroc == rank_score("b", other, positive, groups, resamples=50).auroc


def test_a_score_that_never_applies_is_reported_as_such():
    scores, positive = study()
    rankings = rank_all({"good": scores, "none": np.full(200, np.nan)}, positive, [None] * 200, resamples=20)
    none = rankings["none"]
    assert (none.coverage, none.groups, len(none.fpr)) == (0, 0, 0)
    assert np.isnan(none.auroc.value)
    assert none.notes == ("0 positives and 0 negatives could be scored: no metric.",)


def test_too_few_negatives_for_one_percent_are_pointed_out():
    scores, positive = study(n=100)
    ranking = rank_score("s", scores, positive, [None] * 100, resamples=20)
    assert ranking.notes == (
        "TPR at 1% FPR allows no false positive at all with 50 negatives (it takes 100 to allow one).",
    )


def test_a_rate_that_allows_few_false_positives_has_no_interval():
    scores, positive = study(n=200)
    rates = rank_score("s", scores, positive, [None] * 200, resamples=50).tpr_at_fpr
    assert rates[0.01].reason == "too few non-members for an interval: 100, expected 500"
    assert rates[0.05].has_interval


def test_few_groups_are_pointed_out():
    scores, positive = study(n=400)
    few = rank_score("s", scores, positive, [i % 14 for i in range(400)], resamples=20)
    assert few.auroc.groups == (7, 7)
    assert few.notes[0] == "Too few groups for an interval: 7 + 7 (members + non-members); it takes 10 a class."
    some = rank_score("s", scores, positive, [i % 30 for i in range(400)], resamples=20)
    assert some.notes == ("The interval rests on 15 + 15 groups only; 20 a class are advised.",)


def test_enough_data_need_no_note():
    scores, positive = study(n=400)
    assert rank_score("s", scores, positive, [None] * 400, resamples=20).notes == ()


def test_groups_are_counted_among_the_scored():
    ranking = rank_score("s", [3, 2, np.nan, 1], [True, False, True, False], ["a", "a", "b", "c"], resamples=20)
    assert ranking.groups == 2


def test_resamples_that_lose_a_class_are_counted():
    """Pooled lone groups: some resamples miss every positive."""
    ranking = rank_score("s", [4, 3, 2, 1], [True, True, False, False], ["a", "b", "b", "c"], resamples=200)
    assert 0 < ranking.ignored_resamples < 100


def test_labels_of_one_class_are_refused():
    with pytest.raises(AssayError, match="2 positive and 0 negative"):
        rank_score("s", [1, 2], [True, True], [None, None])


def test_an_infinite_score_is_refused_by_name():
    with pytest.raises(AssayError, match="scores of 'lrr' are infinite"):
        rank_score("lrr", [np.inf, 2], [True, False], [None, None])


def test_a_missing_score_is_refused():
    with pytest.raises(AssayError, match="one label a score"):
        rank_score("s", [1], [True, False], [None, None])


@EXAMPLES
@given(st.integers(0, 1000), st.sampled_from([5, 300, 3000]), st.floats(0, 3))
def test_a_thinned_curve_stays_close(seed, n, shift):
    scores, positive = study(n, shift, seed)
    fpr, tpr, _ = roc_curve(scores, positive)
    x, y = thinned(fpr, tpr)
    assert len(x) <= 200
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    # the ROC is a staircase: hold its upper and lower step against the thinned curve at the same fpr + tpr
    assert np.abs(np.interp(fpr + tpr, x + y, y) - tpr).max() < 0.03


def test_dropping_points_inside_straight_runs_changes_nothing():
    fpr, tpr, _ = roc_curve(np.arange(1000), np.arange(1000) >= 500)
    x, y = thinned(fpr, tpr)
    assert list(zip(x, y, strict=True)) == [(0, 0), (0, 1), (1, 1)]


def test_the_left_edge_of_the_curve_keeps_its_points():
    """Below 1 % FPR, where membership is decided, TPR is off by at most 1 %."""
    scores, positive = study(20_000)
    fpr, tpr, _ = roc_curve(scores, positive)
    x, y = thinned(fpr, tpr)
    edge = fpr < 0.01
    assert np.abs(np.interp((fpr + tpr)[edge], x + y, y) - tpr[edge]).max() < 0.01
