"""Where thresholds come from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.errors import AssayError
from assay_lab.evaluation.thresholds import at_threshold, best_threshold, threshold_at_fpr

EXAMPLES = settings(max_examples=30, deadline=None)  # the first call may import scikit-learn


SCORES = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=40)


@EXAMPLES
@given(SCORES, st.floats(0, 1))
def test_a_threshold_at_a_rate_never_exceeds_it(unseen, fpr):
    threshold = threshold_at_fpr(unseen, fpr)
    assert np.mean(np.array(unseen) >= threshold) <= fpr + 1e-9


@EXAMPLES
@given(SCORES, st.floats(0, 1))
def test_no_lower_threshold_keeps_the_rate(unseen, fpr):
    threshold = threshold_at_fpr(unseen, fpr)
    if np.isfinite(threshold):
        assert np.mean(np.array(unseen) >= np.nextafter(threshold, -np.inf)) > fpr


def test_a_rate_that_counts_cannot_reach_flags_nobody():
    assert threshold_at_fpr([1.0, 2.0], 0.4) > 2


def test_a_rate_of_one_flags_everybody():
    assert threshold_at_fpr([1.0, 2.0], 1.0) == -np.inf


def test_the_best_threshold_lies_between_separated_classes():
    assert best_threshold([5, 4, 2, 1], [True, True, False, False]) == 3


@EXAMPLES
@given(arrays(np.float64, 20, elements=st.floats(-1e300, 1e300)), arrays(np.bool_, 20))
def test_no_other_threshold_has_a_better_macro_f1(scores, positive):
    positive[:2] = True, False
    best = at_threshold(scores, positive, [None] * 20, best_threshold(scores, positive), resamples=1)
    for other in scores[:8]:
        rival = at_threshold(scores, positive, [None] * 20, other, resamples=1)
        assert rival.macro_f1.value <= best.macro_f1.value + 1e-12


def test_youdens_j_may_choose_another_threshold():
    """One positive on top of nine negatives with another below five: F1 wants few flags, J wants recall."""
    scores = np.arange(22.0)[::-1]
    positive = np.isin(np.arange(22), (0, 5))
    assert best_threshold(scores, positive) == 20.5
    assert best_threshold(scores, positive, by="youden") == 15.5


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: threshold_at_fpr([], 0.05), "0 unseen scores"),
        (lambda: threshold_at_fpr([1.0], 2), "rate of 2"),
        (lambda: threshold_at_fpr([np.nan], 0.05), "NaN or infinite"),
        (lambda: at_threshold([1, 2], [True, False], [1, 2], np.nan), "threshold of NaN"),
        (lambda: at_threshold([1, np.nan], [True, False], [1, 2], 0), "expected both classes"),
        (lambda: best_threshold([1, 2], [True, True]), "expected both classes"),
    ],
)
def test_bad_input_is_named_in_one_line(call, says):
    with pytest.raises(AssayError, match=says):
        call()
