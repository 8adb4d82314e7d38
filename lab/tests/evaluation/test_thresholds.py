"""What a stated threshold decides, and where thresholds come from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay_lab.evaluation.thresholds import at_threshold

EXAMPLES = settings(max_examples=30, deadline=None)  # the first call may import scikit-learn

SCORES = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=40)


def test_counts_by_hand():
    got = at_threshold([4, 3, 2, 1, np.nan], [True, False, True, False, True], [None] * 5, 2, resamples=20)
    counts = (got.true_positives, got.false_positives, got.true_negatives, got.false_negatives)
    assert counts == (2, 1, 1, 0)
    assert got.unscorable == 1


def test_metrics_by_hand():
    """TP 2, FP 1, TN 1, FN 0."""
    got = at_threshold([4, 3, 2, 1], [True, False, True, False], [None] * 4, 2, resamples=20)
    assert got.accuracy.value == 3 / 4
    assert got.macro_precision.value == pytest.approx((2 / 3 + 1) / 2)
    assert got.macro_recall.value == pytest.approx((1 + 1 / 2) / 2)
    assert got.macro_f1.value == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_a_score_at_the_threshold_is_positive():
    got = at_threshold([1.0, 0.0], [True, False], [None] * 2, 1.0, resamples=20)
    assert got.true_positives == 1


def test_a_strict_rule_is_the_next_float():
    """SrDetection's "> 0": a score of exactly 0 is not flagged."""
    got = at_threshold([0.0, -1.0], [True, False], [None] * 2, np.nextafter(0, np.inf), resamples=20)
    assert got.true_positives == 0


@EXAMPLES
@given(
    arrays(np.float64, 30, elements=st.integers(-4, 4).map(float)),
    arrays(np.bool_, 30),
    st.integers(-5, 5),
)
def test_agrees_with_scikit_learn(scores, positive, threshold):
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    positive[:2] = True, False
    got = at_threshold(scores, positive, [None] * 30, threshold, resamples=2)
    macro = precision_recall_fscore_support(positive, scores >= threshold, average="macro", zero_division=0)
    ours = (got.macro_precision.value, got.macro_recall.value, got.macro_f1.value)
    assert ours == pytest.approx(macro[:3])
    assert got.accuracy.value == pytest.approx(accuracy_score(positive, scores >= threshold))


def test_the_interval_of_the_accuracy_is_the_binomials():
    """70 % of 400 right: 1.96 standard errors are 4.5 points."""
    right = np.arange(400) % 10 < 7
    positive = np.arange(400) % 2 == 0
    got = at_threshold(np.where(right == positive, 1.0, 0.0), positive, [None] * 400, 0.5)
    assert got.accuracy.value == pytest.approx(0.7)
    assert got.accuracy.high - got.accuracy.low == pytest.approx(2 * 1.96 * np.sqrt(0.21 / 400), rel=0.15)
