"""Spearman's correlation, weighted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.evaluation import weighted_spearman

PAIRS = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(0, 3)), min_size=3, max_size=30)


def varies(values):
    return len(set(values.tolist())) > 1


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_agrees_with_scipy_where_a_weight_repeats_a_pair(pairs):
    x, y, weights = np.array(pairs, float).T
    again = np.repeat(np.arange(len(x)), weights.astype(int))
    got = weighted_spearman(x, y, weights)
    if len(again) and varies(x[again]) and varies(y[again]):
        assert got == pytest.approx(stats.spearmanr(x[again], y[again]).statistic)
    else:
        assert np.isnan(got)


def test_a_block_of_weights_is_each_row_alone():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, (2, 30)).astype(float)
    weights = rng.integers(0, 3, (4, 30)).astype(float)
    assert weighted_spearman(x, y, weights) == pytest.approx([float(weighted_spearman(x, y, w)) for w in weights])
