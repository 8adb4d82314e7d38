"""Intervals drawn by group: what a resample is, when there is none, and how often it holds the truth."""

import math

import numpy as np
import pytest
from scipy import stats

from assay.errors import AssayError
from assay.evaluation import bootstrap as bootstrap_module
from assay.evaluation import grouped_bootstrap, rank_score
from assay.evaluation.bootstrap import FEWEST_FREEDOM, Resamples


def mean_of(values):
    return lambda weights: (weights @ values / weights.sum(-1))[:, None]


def drawn(groups, classes, **options):
    return np.concatenate(list(Resamples.of(groups, classes, **options).weights()))


def test_a_group_is_drawn_as_a_whole():
    weights = drawn(["a", "a", "b", "c"], [0, 0, 0, 0], resamples=50)
    assert (weights[:, 0] == weights[:, 1]).all()


def test_a_resample_has_as_many_groups_as_the_data():
    weights = drawn(list("abcde"), [0] * 5, resamples=50)
    assert (weights.sum(1) == 5).all()


def test_none_is_a_group_of_its_own():
    weights = drawn([None, None, None], [0, 0, 0], resamples=50)
    assert (weights[:, 0] != weights[:, 1]).any()


def test_classes_in_different_groups_keep_their_numbers():
    """Three member projects and two others: every resample has three and two."""
    weights = drawn(list("abcde"), [1, 1, 1, 0, 0], resamples=50)
    assert (weights[:, :3].sum(1) == 3).all()
    assert (weights[:, 3:].sum(1) == 2).all()


def test_a_lone_stratum_is_pooled_so_that_it_varies():
    """One group holds both classes among pure ones: a stratum of its own would be in every resample."""
    weights = drawn(list("aabcdefg"), [1, 0, 1, 1, 1, 0, 0, 0], resamples=200)
    assert set(weights[:, 0]) > {0.0, 1.0}


def test_every_group_is_drawn_about_once_a_resample():
    weights = drawn(list(range(30)), [0] * 30, resamples=2000)
    assert np.abs(weights.mean(0) - 1).max() < 0.12


def test_the_same_seed_draws_the_same():
    assert (drawn(list("abc"), [0] * 3, seed=4) == drawn(list("abc"), [0] * 3, seed=4)).all()


def test_another_seed_draws_otherwise():
    assert (drawn(list("abc"), [0] * 3, seed=4) != drawn(list("abc"), [0] * 3, seed=5)).any()


def test_the_size_of_a_block_changes_only_memory(monkeypatch):
    """Mean and spread of the draws are those of the bootstrap whether blocks hold one resample or all."""
    monkeypatch.setattr(bootstrap_module, "WEIGHTS_AT_ONCE", 1)
    weights = drawn(list(range(10)), [0] * 10, resamples=500)
    assert weights.shape == (500, 10)
    assert weights.var(0).mean() == pytest.approx(0.9, abs=0.1)


def test_the_interval_of_a_mean_is_the_textbooks():
    """Of 400 normal values the mean +- 1.96 standard errors, within the noise of 2,000 resamples."""
    values = np.random.default_rng(1).normal(size=400)
    (estimate,) = grouped_bootstrap(mean_of(values), [None] * 400, resamples=2000)
    error = values.std() / 20
    assert estimate.low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert estimate.high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_copies_of_a_sample_in_one_group_do_not_narrow_the_interval():
    """Each of 50 values five times: by group the width is that of 50, by sample it would shrink by sqrt 5."""
    values = np.repeat(np.random.default_rng(2).normal(size=50), 5)
    (by_group,) = grouped_bootstrap(mean_of(values), np.repeat(np.arange(50), 5).tolist())
    (by_sample,) = grouped_bootstrap(mean_of(values), [None] * 250)
    assert (by_group.high - by_group.low) > 1.8 * (by_sample.high - by_sample.low)


def test_one_group_gives_no_interval():
    (estimate,) = grouped_bootstrap(mean_of(np.arange(5.0)), ["a"] * 5)
    assert estimate.value == 2
    assert not estimate.has_interval


def test_nine_groups_of_a_class_are_too_few():
    """The other class has as many as one likes."""
    scores, positive = np.arange(100.0), np.arange(100) >= 40
    groups = [i % 9 if i < 40 else i for i in range(100)]
    estimate = rank_score("s", scores, positive, groups, resamples=50).auroc
    assert (estimate.groups, estimate.reason) == ((60, 9), "too few groups for an interval: 60 + 9")
    assert math.isnan(estimate.low)
    assert math.isnan(estimate.high)
    enough = rank_score("s", scores, positive, [i % 10 if i < 40 else i for i in range(100)], resamples=50).auroc
    assert enough.has_interval


def test_a_class_from_one_group_gives_no_interval():
    ranking = rank_score("s", [3, 2, 1, 0], [True, True, False, False], ["a", "a", "b", "c"])
    assert ranking.auroc.value == 1
    assert not ranking.auroc.has_interval


def grouped_study(groups, seed=5):
    """Classes that separate by a wide margin, five samples a group."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(2 * groups), 5)
    positive = code < groups
    return rng.normal(size=10 * groups) + 20 * positive, positive, code.tolist()


def test_a_perfect_auroc_has_an_honest_bound():
    """Separated groups: G / (G + t²), whatever the resamples."""
    estimate = rank_score("s", *grouped_study(20), resamples=50).auroc
    t = stats.t.ppf(0.975, 19)
    assert (estimate.value, estimate.high) == (1, 1)
    assert estimate.low == pytest.approx(20 / (20 + t**2))


def test_an_auroc_just_below_one_is_no_more_certain_than_a_perfect_one():
    scores, positive, groups = grouped_study(20)
    perfect = rank_score("s", scores, positive, groups, resamples=100).auroc
    scores[0] = scores[~positive].max() - 1e-9
    nearly = rank_score("s", scores, positive, groups, resamples=100).auroc
    assert 0.999 < nearly.value < 1
    assert perfect.low - 0.05 < nearly.low <= perfect.low
    assert nearly.low < nearly.value <= nearly.high <= 1


def test_groups_of_unequal_weight_have_fewer_degrees_of_freedom():
    """Two of thirty groups hold nearly all samples: the error is that of a few, not of thirty."""
    sizes = [200, 200] + [2] * 28
    values = np.random.default_rng(8).normal(size=30).repeat(sizes)
    equal = Resamples.of(np.arange(60).repeat(8).tolist(), np.zeros(480))
    unequal = Resamples.of(np.arange(30).repeat(sizes).tolist(), np.zeros(sum(sizes)))
    noise = np.random.default_rng(9).normal(size=60).repeat(8)
    assert equal.spread(mean_of(noise)).freedom[0] > 30
    assert unequal.spread(mean_of(values)).freedom[0] == FEWEST_FREEDOM


def test_another_number_of_groups_is_refused():
    with pytest.raises(AssayError, match="2 groups for 3 scores"):
        Resamples.of(["a", "b"], [0, 1, 1])


def test_no_resample_at_all_is_refused():
    with pytest.raises(AssayError, match="0 resamples"):
        Resamples.of(["a", "b"], [0, 1], resamples=0)


def test_nothing_to_resample_is_refused():
    with pytest.raises(AssayError, match="no samples"):
        Resamples.of([], [])
