"""Intervals drawn by group: what a resample is, when there is none, and how often it holds the truth."""

import math

import numpy as np
import pytest
from scipy import stats

from assay.errors import AssayError
from assay.evaluation import auroc, grouped_bootstrap, paired_difference, rank_score
from assay.evaluation import bootstrap as bootstrap_module
from assay.evaluation.bootstrap import FEWEST_FREEDOM, Resamples, auroc_of
from assay.evaluation.ranking import Sweep


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


def test_the_interval_of_the_auroc_holds_the_truth_about_as_often_as_it_says():
    """Clustered data, 200 studies of 40 + 40 groups of 3: nominal 90 %; by sample it would be far less."""
    rng = np.random.default_rng(3)
    truth = 0.5 * (1 + math.erf(1 / 2))  # two normals, 1 apart in units of sd 1: P = Phi(1 / sqrt 2)
    groups = np.repeat(np.arange(80), 3)
    positive = groups < 40
    units = {"group": groups.tolist(), "sample": [None] * 240}
    held = dict.fromkeys(units, 0)
    for study in range(200):
        scores = (rng.normal(size=80) * np.sqrt(0.7))[groups] + rng.normal(size=240) * np.sqrt(0.3) + positive
        sweep = Sweep.over(scores, positive)
        for unit, labels in units.items():
            (estimate,) = grouped_bootstrap(
                lambda weights, sweep=sweep: auroc_of(sweep, weights)[:, None],
                labels,
                positive,
                resamples=100,
                seed=study,
                level=0.9,
                within=(0.0, 1.0),
            )
            held[unit] += estimate.low <= truth <= estimate.high
    assert 0.85 < held["group"] / 200 < 0.96
    assert held["sample"] / 200 < 0.80


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


def test_two_perfect_scores_may_still_differ():
    scores, positive, groups = grouped_study(20)
    other = grouped_study(20, seed=6)[0]
    estimate = paired_difference(scores, other, positive, groups, resamples=50).estimate
    bound = 1 - rank_score("s", scores, positive, groups, resamples=50).auroc.low
    assert (estimate.value, estimate.low, estimate.high) == (0, pytest.approx(-bound), pytest.approx(bound))


def test_the_p_value_of_a_difference_agrees_with_its_interval():
    """At the level at which the interval ends at zero the p-value is what is left of it."""
    a, b, positive = two_scores(0.15)
    groups = [None] * 300
    p_value = paired_difference(a, b, positive, groups).p_value
    at = paired_difference(a, b, positive, groups, level=1 - p_value).estimate
    assert at.low == pytest.approx(0, abs=1e-3)


def test_few_groups_give_no_p_value():
    a, b, positive = two_scores(0.5)
    difference = paired_difference(a, b, positive, [i % 12 for i in range(300)], resamples=50)
    assert not difference.estimate.has_interval
    assert math.isnan(difference.p_value)


def test_groups_of_unequal_weight_have_fewer_degrees_of_freedom():
    """Two of thirty groups hold nearly all samples: the error is that of a few, not of thirty."""
    sizes = [200, 200] + [2] * 28
    values = np.random.default_rng(8).normal(size=30).repeat(sizes)
    equal = Resamples.of(np.arange(60).repeat(8).tolist(), np.zeros(480))
    unequal = Resamples.of(np.arange(30).repeat(sizes).tolist(), np.zeros(sum(sizes)))
    noise = np.random.default_rng(9).normal(size=60).repeat(8)
    assert equal.spread(mean_of(noise)).freedom[0] > 30
    assert unequal.spread(mean_of(values)).freedom[0] == FEWEST_FREEDOM


def two_scores(gap, n=300, seed=7):
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 2 == 0
    shared = rng.normal(size=n)
    return shared + (1 + gap) * positive, shared + rng.normal(size=n) * 0.1 + positive, positive


def test_a_score_does_not_differ_from_itself():
    a, _, positive = two_scores(0)
    difference = paired_difference(a, a, positive, [None] * 300)
    assert (difference.estimate.value, difference.p_value) == (0, 1)


def test_pairing_sees_what_two_intervals_hide():
    """The single intervals overlap, the paired difference is clear."""
    a, b, positive = two_scores(0.15)
    groups = [None] * 300
    difference = paired_difference(a, b, positive, groups)
    assert rank_score("a", a, positive, groups).auroc.low < rank_score("b", b, positive, groups).auroc.high
    assert difference.estimate.low > 0
    assert difference.p_value < 0.05


def test_the_difference_is_that_of_the_metrics():
    a, b, positive = two_scores(0.3)
    difference = paired_difference(a, b, positive, [None] * 300, resamples=10)
    assert difference.estimate.value == pytest.approx(auroc(a, positive) - auroc(b, positive))


def test_only_samples_that_both_score_are_compared():
    a, b, positive = two_scores(0.3)
    a[:10], b[5:20] = np.nan, np.nan
    difference = paired_difference(a, b, positive, [None] * 300, resamples=10)
    assert difference.samples == 280
    assert difference.estimate.value == pytest.approx(auroc(a[20:], positive[20:]) - auroc(b[20:], positive[20:]))


def test_without_a_difference_a_small_p_value_is_rare():
    """Two equally good scores, 150 studies: p <= .1 in about a tenth of them."""
    rng = np.random.default_rng(8)
    positive = np.arange(120) % 2 == 0
    small = 0
    for study in range(150):
        a, b = rng.normal(size=(2, 120)) + positive
        small += paired_difference(a, b, positive, [None] * 120, resamples=199, seed=study).p_value <= 0.1
    assert 5 <= small <= 27


def test_another_number_of_groups_is_refused():
    with pytest.raises(AssayError, match="2 groups for 3 scores"):
        Resamples.of(["a", "b"], [0, 1, 1])


def test_no_resample_at_all_is_refused():
    with pytest.raises(AssayError, match="0 resamples"):
        Resamples.of(["a", "b"], [0, 1], resamples=0)


def test_nothing_to_resample_is_refused():
    with pytest.raises(AssayError, match="no samples"):
        Resamples.of([], [])
