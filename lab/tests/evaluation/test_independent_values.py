"""A proportion's interval, and rank correlation."""

import numpy as np
import pytest
from scipy import stats

from assay.errors import AssayError
from assay_lab.evaluation.independent import spearman, wilson


@pytest.mark.parametrize("successes", [0, 3, 20])
def test_the_interval_of_a_share_is_scipys(successes):
    theirs = stats.binomtest(successes, 20).proportion_ci(method="wilson")
    assert (wilson(successes, 20).low, wilson(successes, 20).high) == pytest.approx((theirs.low, theirs.high))


def test_no_trial_says_nothing():
    assert np.isnan(wilson(0, 0).value)


def test_only_the_order_counts():
    x = np.array([0.1, 0.5, 2.0, 9.0])
    assert spearman(x, np.exp(x)) == 1
    assert spearman(x, -np.exp(x)) == -1


def test_a_constant_side_has_no_correlation():
    assert np.isnan(spearman([1, 1, 1], [1, 2, 3]))


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1]), ([], [])])
def test_what_is_no_pair_is_refused(x, y):
    with pytest.raises(AssayError, match="expected pairs"):
        spearman(x, y)
