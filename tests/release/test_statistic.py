"""The statistic: exact under the null, whatever the values are."""

import numpy as np
import pytest
from scipy.stats import binom

from assay.evaluation import holm_adjusted, sequential_p
from assay.release.statistic import (
    by_cluster,
    chernoff_bound,
    evidence,
    likelihood_ratios,
    lot_test,
    memorised_at_least,
    pooled_outcome,
    residuals,
    standardised_within,
)

LOTS = 400


def rejected_within_limits(p_values, level: float) -> bool:
    """The share of rejections is no more than a level allows, with chance .999."""
    return int((np.array(p_values) <= level).sum()) <= binom.ppf(0.999, len(p_values), level)


def skewed_values(generator, tasks: int = 30, copies: int = 8):
    """Copies that are far from exchangeable: the first is always the most natural one, and tails are heavy."""
    return generator.standard_t(2, (tasks, copies)) + np.linspace(5, 0, copies) * generator.random((tasks, 1))


def test_the_mean_of_the_likelihood_ratio_over_the_lot_is_one():
    d = standardised_within(skewed_values(np.random.default_rng(0)))
    np.testing.assert_allclose(likelihood_ratios(d).mean(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(evidence(d)).mean(axis=1), 1.0)


def test_copies_without_a_difference_have_no_evidence():
    assert (evidence(standardised_within(np.ones((3, 4)))) == 0.0).all()
    result = lot_test(np.zeros((5, 4)), np.zeros(5, int))
    assert result.p_value == 1.0  # ties count against rejection
    assert result.z == 0.0
    assert result.e_value == pytest.approx(1.0)


@pytest.mark.parametrize("covariates", [0, 1, 2])
def test_p_values_are_valid_over_lots_whatever_the_copies_and_covariates_are(covariates):
    generator = np.random.default_rng(1)
    values = skewed_values(generator)
    others = [values + generator.normal(size=values.shape) for _ in range(covariates)]
    table = evidence(standardised_within(residuals(values, others)))
    drawn = [lot_test(table, generator.integers(0, 8, len(table)), draws=500, seed=lot).p_value for lot in range(LOTS)]
    assert rejected_within_limits(drawn, 0.05)
    assert rejected_within_limits(drawn, 0.01)
    assert np.mean(np.array(drawn) <= 0.5) == pytest.approx(0.5, abs=0.1)  # and not needlessly conservative


def test_clusters_are_drawn_as_a_whole():
    generator = np.random.default_rng(2)
    # five tasks of a cluster have the same values: drawn one by one they would look like five witnesses
    values = np.repeat(generator.normal(size=(6, 8)), 5, axis=0)
    names = [str(row // 5) for row in range(30)]
    table, members = by_cluster(evidence(standardised_within(values)), names)
    assert table.shape == (6, 8)
    assert [group.tolist() for group in members][1] == [5, 6, 7, 8, 9]
    whole, single = [], []
    for lot in range(LOTS):
        number = generator.integers(0, 8, 6)
        whole.append(lot_test(table, number, draws=500, seed=lot).p_value)
        single.append(
            lot_test(evidence(standardised_within(values)), np.repeat(number, 5), draws=500, seed=lot).p_value
        )
    assert rejected_within_limits(whole, 0.05)
    assert not rejected_within_limits(single, 0.05)


def test_the_e_value_of_clusters_has_a_mean_of_one():
    table, _ = by_cluster(evidence(standardised_within(np.random.default_rng(3).normal(size=(6, 5)))), list("aabbcc"))
    every = [
        lot_test(table, np.array([a, b, c]), draws=1).e_value for a in range(5) for b in range(5) for c in range(5)
    ]
    assert np.mean(every) == pytest.approx(1.0)


def test_the_chernoff_bound_bounds_the_exact_probability():
    table = np.random.default_rng(4).normal(size=(4, 5))
    sums = np.array([a + b + c + d for a in table[0] for b in table[1] for c in table[2] for d in table[3]])
    for observed in np.quantile(sums, [0.5, 0.9, 0.99, 1.0]):
        assert chernoff_bound(table, observed) >= (sums >= observed).mean()


def test_a_lot_that_reached_the_model_is_found_below_the_resolution_of_the_draws():
    values = np.zeros((60, 20))
    values[:, 3] = 1.0
    result = lot_test(evidence(standardised_within(values)), np.full(60, 3), draws=1000)
    assert result.p_value < 1e-20
    assert result.e_value > 1e10


def test_residuals_take_off_what_a_covariate_explains_and_nothing_else():
    generator = np.random.default_rng(5)
    covariate = generator.normal(size=(40, 6))
    trace = np.zeros((40, 6))
    trace[:, 2] = 1.0
    left = residuals(3 * covariate + trace, [covariate])
    assert lot_test(standardised_within(left), np.full(40, 2), draws=500).z > 5
    assert (
        lot_test(standardised_within(residuals(3 * covariate, [covariate])), np.full(40, 2), draws=500).p_value > 0.01
    )


def test_the_bound_of_memorised_tasks_holds_in_95_percent_of_lots():
    generator = np.random.default_rng(6)
    held = [
        memorised_at_least(int(30 + binom.rvs(70, 0.1, random_state=generator)), 100, 10) <= 30 for _ in range(LOTS)
    ]
    assert binom.cdf(sum(held), LOTS, 0.95) > 0.001
    assert memorised_at_least(0, 100, 10) == 0
    assert memorised_at_least(100, 100, 10) >= 97


def test_sequential_p_values_are_valid_and_count_ties():
    generator = np.random.default_rng(7)
    p_values = []
    for _ in range(1000):
        values = generator.normal(size=201)
        p_values.append(sequential_p(values[0], values[1:]))
    assert rejected_within_limits(p_values, 0.05)
    assert rejected_within_limits(p_values, 0.01)
    assert sequential_p(1.0, [1.0] * 10) == 1.0
    assert sequential_p(2.0, [1.0] * 199) == pytest.approx(1 / 200)


def test_holm_adjusts_as_by_hand():
    assert holm_adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_adjusted([0.9, 0.8]) == [1.0, 1.0]
    assert holm_adjusted([0.02]) == [0.02]


def test_twins_are_compared_by_the_exact_binomial_over_discordant_tasks():
    one, minus, none = (np.array([value]) for value in (1.0, -1.0, 0.0))
    assert pooled_outcome([one] * 8 + [minus] + [none] * 20) == pytest.approx(binom.sf(7, 9, 0.5))
    assert pooled_outcome([none] * 5) == 1.0
    shared = pooled_outcome([np.ones(3), np.ones(1), np.ones(1)], draws=20_000)  # a cluster flips as a whole
    assert shared == pytest.approx(1 / 8, abs=0.02)
