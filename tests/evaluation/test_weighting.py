"""Weighted conformal p-values and the density ratio behind them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError, DataError
from assay.evaluation import DensityRatio, conformal_p_values, density_ratio, weighted_p_values

REPEATS = 60
ALPHA = 0.1


@settings(max_examples=50)
@given(
    scores=st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=30),
    unseen=st.lists(st.integers(-5, 5).map(float), min_size=20, max_size=60),
    weight=st.floats(0.01, 100),
)
def test_equal_weights_give_the_plain_p_values(scores, unseen, weight):
    equal = DensityRatio(np.full(len(scores), weight), np.full(len(unseen), weight))
    np.testing.assert_allclose(weighted_p_values(scores, unseen, equal), conformal_p_values(scores, unseen))


def test_an_unseen_text_of_weight_k_counts_as_k_texts():
    scores, unseen = [0.5, 2.5], np.arange(30.0)
    counts = np.arange(30) % 3 + 1
    weighted = weighted_p_values(scores, unseen, DensityRatio(np.ones(2), counts.astype(float)))
    np.testing.assert_allclose(weighted, conformal_p_values(scores, np.repeat(unseen, counts)))


def test_without_a_score_or_a_weight_there_is_no_p_value():
    ratio = DensityRatio(np.array([1.0, 1.0, np.nan]), np.ones(20))
    p_values = weighted_p_values([0.0, np.nan, 0.0], np.arange(20.0), ratio)
    assert np.isnan(p_values).tolist() == [False, True, True]


def test_too_few_weighted_texts_are_refused():
    weights = np.ones(25)
    weights[:6] = np.nan
    with pytest.raises(AssayError, match="19 unseen samples with a score and a weight"):
        weighted_p_values([0.0], np.arange(25.0), DensityRatio(np.ones(1), weights))


def test_lengths_must_agree():
    with pytest.raises(DataError, match="2 and 20 weights for 1 scores"):
        weighted_p_values([0.0], np.arange(20.0), DensityRatio(np.ones(2), np.ones(20)))


def test_effective_unseen_is_their_number_for_equal_weights():
    assert DensityRatio(np.ones(3), np.full(40, 0.2)).effective_unseen == pytest.approx(40)


def test_no_sample_gets_less_than_its_smallest_p_value():
    ratio = DensityRatio(np.array([1.0, 30.0]), np.ones(29))
    np.testing.assert_allclose(weighted_p_values([99.0, 99.0], np.arange(29.0), ratio), ratio.smallest_p_values)
    np.testing.assert_allclose(ratio.smallest_p_values, [1 / 30, 30 / 59])


@pytest.mark.slow
def test_the_ratio_of_two_normal_densities_is_found():
    """N(1, 1) over N(0, 1) is exp(x - 1/2)."""
    random = np.random.default_rng(0)
    samples, unseen = random.normal(1, 1, (3000, 1)), random.normal(0, 1, (3000, 1))
    ratio = density_ratio(samples, unseen, range(6000))
    inner = np.abs(unseen[:, 0]) < 2
    np.testing.assert_allclose(np.log(ratio.unseen[inner]), unseen[inner, 0] - 0.5, atol=0.4)


def test_samples_of_the_same_kind_get_weights_near_one():
    random = np.random.default_rng(1)
    ratio = density_ratio(random.normal(size=(1000, 3)), random.normal(size=(1000, 3)), range(2000))
    assert np.abs(np.log(ratio.unseen)).mean() < 0.3
    assert ratio.effective_unseen > 800


@pytest.mark.slow
def test_a_shift_that_the_features_show_is_repaired():
    """Clean samples score higher by a covariate that the control sees: plain p-values flag them, weighted do not."""
    random = np.random.default_rng(2)
    plain, weighted = [], []
    for _ in range(REPEATS):
        covariate = random.normal(0.8, 0.8, 200)
        other = random.normal(0, 1, 400)
        scores, unseen = covariate + random.normal(0, 0.5, 200), other + random.normal(0, 0.5, 400)
        ratio = density_ratio(
            (covariate + random.normal(0, 0.1, 200))[:, None],
            (other + random.normal(0, 0.1, 400))[:, None],
            range(600),
        )
        plain.append(np.mean(conformal_p_values(scores, unseen) <= ALPHA))
        weighted.append(np.mean(weighted_p_values(scores, unseen, ratio) <= ALPHA))
    error = np.std(weighted, ddof=1) / REPEATS**0.5
    assert np.mean(plain) > 2 * ALPHA
    assert np.mean(weighted) < ALPHA + 3 * error


@pytest.mark.slow
def test_without_a_shift_clean_samples_are_flagged_at_the_nominal_rate():
    random = np.random.default_rng(3)
    rates = []
    for _ in range(REPEATS):
        features = random.normal(size=(500, 2))
        scores = features[:, 0] + random.normal(0, 0.5, 500)
        ratio = density_ratio(features[:150], features[150:], range(500))
        rates.append(np.mean(weighted_p_values(scores[:150], scores[150:], ratio) <= ALPHA))
    error = np.std(rates, ddof=1) / REPEATS**0.5
    assert abs(np.mean(rates) - ALPHA) < 3 * error + 1 / 351


def test_a_text_without_all_features_gets_no_weight():
    random = np.random.default_rng(4)
    samples = random.normal(size=(40, 2))
    samples[3, 1] = np.nan
    ratio = density_ratio(samples, random.normal(size=(40, 2)), range(80))
    assert np.flatnonzero(np.isnan(ratio.samples)).tolist() == [3]


def test_features_need_enough_texts_of_each_set():
    with pytest.raises(AssayError, match="5 samples with all features"):
        density_ratio(np.zeros((5, 1)), np.zeros((40, 1)), range(45))
    with pytest.raises(DataError, match=r"\(5, 1\) and \(5, 2\)"):
        density_ratio(np.zeros((5, 1)), np.zeros((5, 2)), range(10))
