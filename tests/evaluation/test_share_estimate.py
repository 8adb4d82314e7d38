"""The contaminated share: known mixtures, honest intervals, and what a test can detect."""

import numpy as np
import pytest
from scipy.special import ndtr

from assay.errors import DataError
from assay.evaluation import TOP, Effect, contaminated_share, detectable_share, robust_spread, set_test


def mixture(share, n=400, m=600, shift=4.0, seed=0):
    random = np.random.default_rng(seed)
    seen = round(share * n)
    return np.concatenate([random.normal(shift, 1, seen), random.normal(0, 1, n - seen)]), random.normal(0, 1, m)


def share_of(scores, unseen, **settings):
    return contaminated_share(scores, unseen, [None] * len(scores), [None] * len(unseen), resamples=200, **settings)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_mixture_with_members_far_above_is_recovered(share):
    result = share_of(*mixture(share))
    assert result.estimate.value == pytest.approx(share, abs=0.12)
    assert result.estimate.low <= share <= result.estimate.high
    assert result.upper_at(float(ndtr(4 - 1.2816))) >= share


def test_nine_in_ten_intervals_contain_the_truth():
    covered = 0
    for seed in range(60):
        estimate = share_of(*mixture(0.3, 150, 150, seed=seed)).estimate
        covered += estimate.low <= 0.3 <= estimate.high
    assert covered >= 48


def test_members_that_score_like_unseen_text_are_not_counted():
    assert share_of(*mixture(0.5, shift=0.0)).estimate.value < 0.15


def test_the_bound_on_members_that_show_in_part_is_wider():
    result = share_of(*mixture(0.1))
    assert result.upper_at(1.0) == pytest.approx((result.top.high - TOP) / (1 - TOP))
    assert result.upper_at(0.55) == pytest.approx(min(1.0, 2 * result.upper_at(1.0)))
    assert result.upper_at(TOP) == 1.0


def test_an_allowance_lowers_the_lower_end_alone():
    scores, unseen = mixture(0.5)
    plain, allowed = share_of(scores, unseen).estimate, share_of(scores, unseen, allowance=1.0).estimate
    assert (plain.value, plain.high) == (allowed.value, allowed.high)
    assert 0.3 < allowed.low < plain.low


def test_texts_that_only_look_familiar_are_within_the_allowance():
    scores, unseen = mixture(0.0)
    assert share_of(scores + 0.5, unseen).estimate.low > 0.15
    assert share_of(scores + 0.5, unseen, allowance=0.5).estimate.low == 0.0


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


def test_with_an_allowance_the_detectable_share_has_the_power_that_it_states():
    n, m, shift, allowance, turns = 100, 150, 2.5, 0.5, 60
    effect = Effect(float(ndtr((shift - allowance) / np.sqrt(2))), float(ndtr(shift - allowance - 1.2816)))
    unseen = np.random.default_rng(0).normal(size=m)
    smallest = detectable_share([None] * n, unseen, [None] * m, effect, allowance=allowance)
    assert smallest > 1.5 * detectable_share([None] * n, unseen, [None] * m, effect)
    significant = 0
    for seed in range(turns):
        scores, others = mixture(smallest, n, m, shift, seed)
        lowered = scores - allowance
        test = set_test(lowered, others, [None] * n, [None] * m, top=TOP, permutations=199, seed=seed)
        significant += test.p_value <= 0.05
    assert 0.65 <= significant / turns <= 0.95


def test_the_effect_of_a_shift_is_that_of_the_normal_distribution():
    random = np.random.default_rng(0)
    effect = Effect.of(random.normal(1, 1, 4000), random.normal(0, 1, 4000))
    assert effect.superiority == pytest.approx(ndtr(1 / np.sqrt(2)), abs=0.02)
    assert effect.top == pytest.approx(ndtr(1 - 1.2816), abs=0.03)


def test_the_robust_spread_is_that_of_the_bulk():
    values = np.random.default_rng(0).normal(0, 2, 4000)
    assert robust_spread(values) == pytest.approx(2, rel=0.05)
    assert robust_spread([*values, 1e9, np.nan]) == pytest.approx(2, rel=0.05)
    assert robust_spread([]) == 0.0


def test_dependent_samples_and_small_effects_need_a_larger_share():
    random = np.random.default_rng(0)
    groups = list(np.repeat(np.arange(20), 10))
    unseen = np.repeat(random.normal(size=20), 10) + 0.1 * random.normal(size=200)
    strong = Effect(0.9, 0.7)
    alone = detectable_share([None] * 200, random.normal(size=200), [None] * 200, strong)
    assert detectable_share(groups, unseen, groups, strong) > 2 * alone
    assert detectable_share([None] * 200, unseen, [None] * 200, Effect(0.5, TOP)) == np.inf
