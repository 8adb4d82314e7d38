"""Scores against how often the model saw a sample."""

import numpy as np
import pytest
from scipy import stats

from assay.errors import AssayError
from assay.evaluation import auroc, dose_correlation, dose_response, tpr_at_fpr

DOSES = np.repeat([0, 0, 1, 4, 16], 60)
ALONE = [None] * len(DOSES)


def scores(seed=0, effect=0.5):
    return np.random.default_rng(seed).normal(size=len(DOSES)) + effect * np.log2(DOSES + 1)


def test_each_dose_is_held_against_dose_zero():
    s = scores()
    points = dose_response("s", s, DOSES, ALONE, resamples=20)
    assert [p.dose for p in points] == [1, 4, 16]
    for point in points:
        against = np.isin(DOSES, (0, point.dose))
        truth = DOSES[against] > 0
        assert point.samples == 60
        assert point.mean.value == pytest.approx(s[against][truth].mean())
        assert point.auroc.value == pytest.approx(auroc(s[against], truth))
        assert point.tpr_at_fpr_5.value == pytest.approx(tpr_at_fpr(s[against], truth, 0.05))


def test_a_score_that_rises_with_the_dose_has_a_rising_curve():
    points = dose_response("s", scores(), DOSES, ALONE, resamples=200)
    assert points[0].auroc.value < points[1].auroc.value < points[2].auroc.value
    assert points[-1].auroc.low > points[0].auroc.high


def test_every_point_lies_in_its_interval():
    for point in dose_response("s", scores(), DOSES, ALONE, resamples=200):
        for estimate in (point.mean, point.auroc, point.tpr_at_fpr_5):
            assert estimate.low <= estimate.value <= estimate.high


def test_the_correlation_is_spearmans():
    s = scores()
    estimate = dose_correlation(s, DOSES, ALONE, resamples=200)
    assert estimate.value == pytest.approx(stats.spearmanr(s, DOSES).statistic)
    assert 0 < estimate.low < estimate.value < estimate.high < 1


def test_without_an_effect_the_correlation_holds_zero():
    estimate = dose_correlation(scores(effect=0), DOSES, ALONE, resamples=200)
    assert estimate.low < 0 < estimate.high


def test_an_unscorable_sample_is_counted_at_its_dose():
    s = scores()
    s[DOSES == 4] = np.nan
    s[0] = np.nan
    low, gone, high = dose_response("s", s, DOSES, ALONE, resamples=20)
    assert (gone.samples, gone.unscorable, low.unscorable, high.unscorable) == (0, 60, 0, 0)
    assert np.isnan(gone.auroc.value)
    assert not np.isnan(low.auroc.value)


def test_an_unscorable_sample_leaves_the_correlation_alone():
    s = scores()
    holes = s.copy()
    holes[:5] = np.nan
    value = dose_correlation(holes, DOSES, ALONE, resamples=20).value
    assert value == pytest.approx(stats.spearmanr(s[5:], DOSES[5:]).statistic)


def test_no_score_has_no_correlation():
    assert np.isnan(dose_correlation(np.full(300, np.nan), DOSES, ALONE).value)


def test_a_dose_from_one_group_has_no_interval():
    groups = [f"module {dose}" if dose == 4 else i for i, dose in enumerate(DOSES)]
    _, four, sixteen = dose_response("s", scores(), DOSES, groups, resamples=50)
    assert not four.auroc.has_interval
    assert sixteen.auroc.has_interval


def test_groups_across_doses_are_drawn_as_a_whole():
    """What a group shares moves its dosed and its unseen samples alike, so pairing narrows the interval."""
    rng = np.random.default_rng(1)
    groups = np.arange(200) % 100
    doses = np.repeat([0, 8], 100)
    s = 5 * rng.normal(size=100)[groups] + rng.normal(size=200) + 2 * (doses > 0)
    (within,) = dose_response("s", s, doses, groups.tolist(), resamples=300)
    (apart,) = dose_response("s", s, doses, [None] * 200, resamples=300)
    assert within.auroc.high - within.auroc.low < 0.8 * (apart.auroc.high - apart.auroc.low)


@pytest.mark.parametrize(
    ("doses", "says"),
    [
        ([1, 2, 4], "doses from 1 to 4; expected dose 0"),
        ([0, 0, 0], "doses from 0 to 0; expected dose 0 and doses above it"),
        ([0, -1, 4], "a dose of -1"),
        ([0, 1], "3 scores and 2 doses"),
        ([0, np.nan, 1], "doses are NaN"),
    ],
)
def test_bad_doses_are_named_in_one_line(doses, says):
    with pytest.raises(AssayError, match=says):
        dose_response("s", [1, 2, 3], doses, [None] * 3)
