"""Matching by propensity."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation import matched

NORMAL = np.random.default_rng(0).normal


def test_of_a_mixture_those_are_chosen_that_look_like_the_targets():
    targets = NORMAL(0, 1, (100, 2))
    like, unlike = NORMAL(0, 1, (300, 2)), NORMAL(6, 1, (300, 2))
    chosen = matched(targets, np.vstack([like, unlike]), rounds=1)
    assert len(chosen) > 70
    assert (chosen < 300).all()


def test_candidates_without_overlap_are_not_chosen():
    assert len(matched(NORMAL(0, 1, (50, 2)), NORMAL(9, 1, (50, 2)))) == 0


def test_more_rounds_choose_more():
    targets, candidates = NORMAL(0, 1, (50, 1)), NORMAL(0, 1, (1000, 1))
    sizes = [len(matched(targets, candidates, rounds=rounds)) for rounds in (1, 2, 5)]
    assert sizes == sorted(sizes)
    assert sizes[0] <= 50 < sizes[2] <= 250


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 4))
def test_each_candidate_is_chosen_once_and_no_target_has_more_than_rounds(n, m, rounds):
    chosen = matched(np.zeros((n, 2)), np.zeros((m, 2)), rounds=rounds)
    assert len(chosen) == min(m, n * rounds)
    assert list(chosen) == sorted(set(chosen))
