"""A benchmark as a whole against unseen text."""

import numpy as np
import pytest

from assay.errors import DataError
from assay.evaluation.permutation_test import MINIMUM_GROUPS, TOP, set_test, studentised


def alone(*sizes):
    return [[None] * size for size in sizes]


def test_a_set_that_scores_higher_is_revealed():
    random = np.random.default_rng(0)
    test = set_test(random.normal(0.5, 1, 80), random.normal(0, 1, 100), *alone(80, 100), permutations=499)
    assert test.p_value == pytest.approx(1 / 500, abs=0.01)
    assert 0.55 < test.superiority < 0.75
    assert (test.samples, test.groups, test.unseen, test.unseen_groups) == (80, 80, 100, 100)


def test_the_question_is_one_sided():
    test = set_test(np.arange(20.0), np.arange(20.0) + 9, *alone(20, 20), permutations=199)
    assert test.p_value > 0.9
    assert test.superiority < 0.5


def test_superiority_counts_ties_half():
    assert set_test([1, 1, 1, 1, 2], [1, 1, 1, 1, 1], *alone(5, 5), permutations=9).superiority == pytest.approx(0.6)


@pytest.mark.parametrize("top", [0.0, TOP])
def test_a_clean_set_is_called_no_more_often_than_promised_though_groups_differ_from_each_other(top):
    """200 clean sets whose groups have levels of their own: at 5 %, where permuting samples would find a third."""
    random, significant = np.random.default_rng(1), 0
    for turn in range(200):
        groups = np.repeat(np.arange(24), random.integers(1, 12, 24))
        scores = random.normal(0, 1, 24)[groups] + 0.3 * random.normal(0, 1, len(groups))
        inside = groups < 10
        test = set_test(
            scores[inside],
            scores[~inside],
            groups[inside].tolist(),
            groups[~inside].tolist(),
            top=top,
            permutations=99,
            seed=turn,
        )
        significant += test.p_value <= 0.05
    assert significant <= 18


def test_a_few_samples_far_above_all_others_are_revealed_by_the_top_of_the_ranking():
    """15 of 150 samples far above the rest lift the mean rank little, and fill the top of the ranking."""
    unseen = np.linspace(0, 100, 150)
    scores = np.concatenate([np.linspace(0, 100, 135), np.linspace(1000, 1001, 15)])
    ranks_alone, both = (
        set_test(scores, unseen, *alone(150, 150), top=top, permutations=499).p_value for top in (0.0, TOP)
    )
    assert both < 0.02 < ranks_alone


def test_groups_on_both_sides_are_compared_within():
    """Tasks differ far more than the two forms of each, of which one scores a little higher."""
    level = 10.0 * np.arange(30)
    tasks = [f"task {i}" for i in range(30)]
    paired = set_test(level + 0.1, level, tasks, tasks, permutations=499)
    assert paired.p_value < 0.01
    unpaired = set_test(level + 0.1, level, *alone(30, 30), permutations=499)
    assert unpaired.p_value > 0.3


def test_unscorable_samples_are_left_out_and_counted():
    test = set_test([np.nan, *range(9)], [*range(8), np.nan], *alone(10, 9), permutations=9)
    assert (test.samples, test.groups, test.unseen) == (9, 9, 8)


@pytest.mark.parametrize(("mine", "others"), [(MINIMUM_GROUPS - 1, 20), (20, MINIMUM_GROUPS - 1), (0, 20), (20, 0)])
def test_too_few_groups_give_no_p_value(mine, others):
    assert np.isnan(set_test(np.arange(float(mine)), np.arange(float(others)), *alone(mine, others)).p_value)


def test_the_same_seed_gives_the_same_p_value():
    random = np.random.default_rng(2)
    a, b = random.normal(0.1, 1, 30), random.normal(0, 1, 40)
    first, second = (set_test(a, b, *alone(30, 40), permutations=99, seed=3) for _ in range(2))
    assert first == second


def test_equal_scores_say_nothing():
    assert set_test(np.ones(9), np.ones(9), *alone(9, 9), permutations=19).p_value == 1


def test_without_groups_the_statistic_is_welch_of_the_ranks():
    ranks, inside = np.array([5.0, 1, 4, 2, 3, 6]), np.array([True, False, True, False, False, True])
    a, b = ranks[inside], ranks[~inside]
    expected = (a.mean() - b.mean()) / np.sqrt(a.var() / 3 + b.var() / 3)
    assert studentised(inside[None, :], ranks, np.arange(6))[0] == pytest.approx(expected)


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="a top part of 1"):
        set_test([1, 2], [1, 2], *alone(2, 2), top=1)
    with pytest.raises(DataError, match="1 groups for 2 scores"):
        set_test([1, 2], [1, 2], [None], [None, None, None])
    with pytest.raises(DataError, match="0 permutations"):
        set_test([1, 2], [1, 2], *alone(2, 2), permutations=0)
