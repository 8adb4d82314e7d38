"""The leak that an audit would have detected, and the least leak that its flags prove."""

import numpy as np
import pytest

from assay.evaluation import UnseenTail, conformal_p_values, detectable_leak, flag_rate, seen_share_bound

RANDOM = np.random.default_rng(0)
UNSEEN = RANDOM.normal(size=400)
TAIL = UnseenTail.of(UNSEEN, None)


def test_a_leak_of_the_detectable_share_is_detected_with_the_stated_power():
    """Simulated: that share of 164 samples is moved above every unseen text, 400 times."""
    leak = detectable_leak(RANDOM.normal(size=164), UNSEEN, TAIL)
    moved = round(leak.share * 164)
    detected = 0
    for _ in range(400):
        scores, unseen = RANDOM.normal(size=164), RANDOM.normal(size=400)
        scores[:moved] = 9
        detected += flag_rate(conformal_p_values(scores, unseen), unseen=400).p_value <= 0.05
    assert 0.72 < detected / 400 < 0.9


def test_more_samples_and_more_unseen_texts_detect_a_smaller_leak():
    few, many = (detectable_leak(RANDOM.normal(size=n), UNSEEN, TAIL).share for n in (50, 1000))
    small = RANDOM.normal(size=50)
    coarse = detectable_leak(RANDOM.normal(size=1000), small, UnseenTail.of(small, None)).share
    assert many < few
    assert many < coarse


def test_where_most_samples_tie_nothing_can_be_detected():
    """155 of 164 samples at the floor of the score, as in a black-box audit of a model that reproduces nothing."""
    scores, unseen = np.zeros(164), np.zeros(200)
    scores[:9], unseen[:6] = RANDOM.random(9), RANDOM.random(6)
    leak = detectable_leak(scores, unseen, UnseenTail.of(unseen, None))
    assert np.isnan(leak.share)
    assert (leak.tied, leak.samples, leak.tied_value) == (155, 164, 0)


def test_scores_that_all_differ_have_no_ties():
    leak = detectable_leak(RANDOM.normal(size=30), UNSEEN, TAIL)
    assert (leak.tied, np.isnan(leak.tied_value)) == (0, True)


@pytest.mark.parametrize("scores", [[], [np.nan, np.nan]])
def test_without_a_score_nothing_is_detectable(scores: list[float]):
    assert np.isnan(detectable_leak(scores, UNSEEN, TAIL).share)


def bound(leaked: int) -> float:
    scores = RANDOM.normal(size=200)
    scores[:leaked] += 3
    p_values = conformal_p_values(scores, UNSEEN)
    return seen_share_bound([flag_rate(p_values, level, unseen=400) for level in (0.05, 0.5)])


def test_the_bound_of_the_seen_share_is_below_the_truth_and_near_it_where_much_leaked():
    bounds = [bound(120) for _ in range(50)]
    assert np.mean(np.array(bounds) > 0.6) <= 0.1
    assert np.mean(bounds) > 0.4


def test_a_clean_benchmark_proves_no_seen_share():
    assert np.mean([bound(0) > 0 for _ in range(200)]) <= 0.1


def test_without_an_interval_there_is_no_bound():
    rate = flag_rate([0.01, 0.9] * 20, groups=["a", "b"] * 20, unseen=99)
    assert np.isnan(seen_share_bound([rate]))
