"""Differences of a metric between two scores of the same samples."""

import math

import numpy as np
import pytest

from assay.evaluation import Sweep, auroc, grouped_bootstrap, rank_score
from assay_lab.evaluation.differences import auroc_of, paired_difference


def grouped_study(groups, seed=5):
    """Classes that separate by a wide margin, five samples a group."""
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(2 * groups), 5)
    positive = code < groups
    return rng.normal(size=10 * groups) + 20 * positive, positive, code.tolist()


def two_scores(gap, n=300, seed=7):
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 2 == 0
    shared = rng.normal(size=n)
    return shared + (1 + gap) * positive, shared + rng.normal(size=n) * 0.1 + positive, positive


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
