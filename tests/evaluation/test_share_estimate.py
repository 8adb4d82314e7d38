"""The contaminated share: known mixtures, honest intervals, and what a test can detect."""

import numpy as np
import pytest
from scipy.special import ndtr

from assay.errors import DataError
from assay.evaluation import TOP, Effect, contaminated_share, detectable_share, set_test

DENSITIES = ("storey", "boundary")


def mixture(share, n=400, m=600, shift=4.0, seed=0):
    random = np.random.default_rng(seed)
    seen = round(share * n)
    return np.concatenate([random.normal(shift, 1, seen), random.normal(0, 1, n - seen)]), random.normal(0, 1, m)


def share_of(scores, unseen, **settings):
    return contaminated_share(scores, unseen, [None] * len(scores), [None] * len(unseen), resamples=200, **settings)


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_mixture_with_members_far_above_is_recovered(density, share):
    result = share_of(*mixture(share), density=density)
    assert result.estimate.value == pytest.approx(share, abs=0.12)
    assert result.estimate.low <= share <= result.estimate.high
    assert result.upper_at(float(ndtr(4 - 1.2816))) >= share


@pytest.mark.parametrize("density", DENSITIES)
def test_nine_in_ten_intervals_contain_the_truth(density):
    covered = 0
    for seed in range(60):
        estimate = share_of(*mixture(0.3, 150, 150, seed=seed), density=density).estimate
        covered += estimate.low <= 0.3 <= estimate.high
    assert covered >= 48


def test_members_that_score_like_unseen_text_are_not_counted():
    assert share_of(*mixture(0.5, shift=0.0)).estimate.value < 0.15


def test_the_bound_on_members_that_show_in_part_is_wider():
    result = share_of(*mixture(0.1))
    assert result.upper_at(1.0) == pytest.approx((result.top.high - TOP) / (1 - TOP))
    assert result.upper_at(0.55) == pytest.approx(min(1.0, 2 * result.upper_at(1.0)))
    assert result.upper_at(TOP) == 1.0


def test_texts_that_look_familiar_without_training_lower_the_least_share():
    result = share_of(*mixture(0.5))
    assert result.at_least(0.0) == result.estimate.low
    assert result.at_least(0.2) == pytest.approx((result.estimate.low - 0.2) / 0.8)
    assert result.at_least(0.9) == 0.0


def test_nineteen_in_twenty_bounds_are_above_the_truth():
    """A tenth of the samples, of which ndtr(2 - 1.28) reach the top tenth of unseen text."""
    reached = float(ndtr(2 - 1.2816))
    above = sum(share_of(*mixture(0.1, 150, 150, 2.0, seed)).upper_at(reached) >= 0.1 for seed in range(60))
    assert above >= 53


def test_samples_of_one_group_count_as_one():
    scores, unseen = mixture(0.3, 200, 200)
    alone = share_of(scores, unseen).estimate
    random = np.random.default_rng(5)
    level = random.normal(0, 1, 20)
    grouped = contaminated_share(
        np.repeat(level, 10) + scores * 0.1, unseen, list(np.repeat(np.arange(20), 10)), [None] * 200, resamples=200
    ).estimate
    assert grouped.high - grouped.low > alone.high - alone.low


def test_too_few_groups_give_a_value_without_an_interval():
    result = contaminated_share(np.arange(9.0), np.arange(30.0), [None] * 9, [None] * 30)
    assert result.estimate.reason is not None
    assert np.isnan(result.upper_at(1.0))


def test_unscorable_samples_are_left_out():
    scores, unseen = mixture(0.3)
    scores[:5] = np.nan
    assert share_of(scores, unseen).samples == 395


def test_another_number_of_groups_is_refused():
    with pytest.raises(DataError, match="groups"):
        contaminated_share([1.0, 2.0], [1.0], [None], [None])


def test_the_detectable_share_has_the_power_that_it_states():
    n, m, shift, turns = 100, 150, 1.5, 60
    effect = Effect(float(ndtr(shift / np.sqrt(2))), float(ndtr(shift - 1.2816)))
    unseen = np.random.default_rng(0).normal(size=m)
    smallest = detectable_share([None] * n, unseen, [None] * m, effect)
    significant = 0
    for seed in range(turns):
        scores, others = mixture(smallest, n, m, shift, seed)
        test = set_test(scores, others, [None] * n, [None] * m, top=TOP, permutations=199, seed=seed)
        significant += test.p_value <= 0.05
    assert 0.65 <= significant / turns <= 0.95


def test_dependent_samples_and_small_effects_need_a_larger_share():
    random = np.random.default_rng(0)
    groups = list(np.repeat(np.arange(20), 10))
    unseen = np.repeat(random.normal(size=20), 10) + 0.1 * random.normal(size=200)
    strong = Effect(0.9, 0.7)
    alone = detectable_share([None] * 200, random.normal(size=200), [None] * 200, strong)
    assert detectable_share(groups, unseen, groups, strong) > 2 * alone
    assert detectable_share([None] * 200, unseen, [None] * 200, Effect(0.5, TOP)) == np.inf
