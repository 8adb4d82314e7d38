"""What the ranking metrics are, by hand, by invariance, and by agreement with scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.errors import AssayError
from assay.evaluation import Sweep, auprc, auroc, tpr_at_fpr
from assay.evaluation.ranking import roc_curve

EXAMPLES = settings(max_examples=25, deadline=None)  # the first call may import scikit-learn

METRICS = [auroc, auprc, lambda s, y, w=None: tpr_at_fpr(s, y, 0.25, w)]


@st.composite
def labelled(draw, *, weighted=False):
    """Scores with many ties, labels of both classes, and small integer weights where wanted."""
    n = draw(st.integers(2, 40))
    scores = draw(arrays(np.float64, n, elements=st.integers(-5, 5).map(float)))
    positive = draw(arrays(np.bool_, n))
    positive[0], positive[1] = True, False
    if not weighted:
        return scores, positive
    weights = draw(arrays(np.int64, n, elements=st.integers(0, 3)))
    weights[:2] = np.maximum(weights[:2], 1)
    return scores, positive, weights


def test_auroc_by_hand():
    """Pairs (4 > 3), (4 > 1), (2 < 3), (2 > 1): three of four."""
    assert auroc([4, 3, 2, 1], [True, False, True, False]) == 0.75


def test_a_tie_counts_half_in_the_auroc():
    assert auroc([1, 1, 0], [True, False, False]) == 0.75


def test_auprc_by_hand():
    """Recall one half at precision 1, the other half at precision 2/3."""
    assert auprc([4, 3, 2, 1], [True, False, True, False]) == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)


@pytest.mark.parametrize(("fpr", "tpr"), [(0, 0.5), (0.49, 0.5), (0.5, 1.0), (1.0, 1.0)])
def test_tpr_at_fpr_does_not_interpolate(fpr, tpr):
    assert tpr_at_fpr([4, 3, 2, 1], [True, False, True, False], fpr) == tpr


def test_a_threshold_takes_all_equal_scores():
    """The positive ties with a negative: it cannot be flagged without the false alarm."""
    assert tpr_at_fpr([1, 1, 0], [True, False, False], 0.49) == 0


@pytest.mark.parametrize("hundredths", range(101))
def test_a_rate_that_is_exactly_reached_is_allowed(hundredths):
    """With 100 negatives above 100 positives, x % FPR allows exactly x false alarms, however x rounds."""
    scores = np.concatenate([np.arange(100) + 0.5, np.arange(100)])
    positive = np.arange(200) >= 100
    assert tpr_at_fpr(scores, positive, hundredths / 100) == pytest.approx(hundredths / 100)


def test_a_wrong_direction_stays_below_one_half():
    assert auroc([0, 1], [True, False]) == 0


def test_the_curve_starts_at_nothing_and_ends_at_everything():
    fpr, tpr, thresholds = roc_curve([3, 2, 2, 1], [True, True, False, False])
    assert (fpr.tolist(), tpr.tolist()) == ([0, 0, 0.5, 1], [0, 0.5, 1, 1])
    assert thresholds.tolist() == [np.inf, 3, 2, 1]


@EXAMPLES
@given(labelled())
def test_auroc_does_not_see_a_monotone_transform(case):
    scores, positive = case
    assert auroc(np.exp(scores), positive) == auroc(scores, positive)


@EXAMPLES
@given(labelled())
def test_turning_the_score_turns_the_auroc(case):
    scores, positive = case
    assert auroc(-scores, positive) == pytest.approx(1 - auroc(scores, positive))


@EXAMPLES
@given(labelled(), st.randoms(use_true_random=False))
def test_the_order_of_the_samples_does_not_matter(case, random):
    scores, positive = case
    order = list(range(len(scores)))
    random.shuffle(order)
    for metric in METRICS:
        assert metric(scores[order], positive[order]) == pytest.approx(metric(scores, positive))


@EXAMPLES
@given(labelled(weighted=True))
def test_a_weight_of_two_is_a_sample_twice(case):
    scores, positive, weights = case
    again = np.repeat(np.arange(len(scores)), weights)
    for metric in METRICS:
        assert metric(scores, positive, weights) == pytest.approx(metric(scores[again], positive[again]))


@EXAMPLES
@given(labelled(weighted=True))
def test_agrees_with_scikit_learn(case):
    from sklearn.metrics import average_precision_score, roc_auc_score
    from sklearn.metrics import roc_curve as peer_curve

    scores, positive, weights = case
    assert auroc(scores, positive, weights) == pytest.approx(roc_auc_score(positive, scores, sample_weight=weights))
    assert auprc(scores, positive, weights) == pytest.approx(
        average_precision_score(positive, scores, sample_weight=weights)
    )
    fpr, tpr, _ = peer_curve(positive, scores, sample_weight=weights, drop_intermediate=False)
    for rate in (0, 0.05, 0.3):
        assert tpr_at_fpr(scores, positive, rate, weights) == pytest.approx(tpr[fpr <= rate + 1e-12].max())


def test_the_whole_curve_is_scikit_learns():
    from sklearn.metrics import roc_curve as peer_curve

    rng = np.random.default_rng(5)
    scores, positive = np.round(rng.normal(size=300), 1), rng.random(300) < 0.3
    ours, theirs = roc_curve(scores, positive), peer_curve(positive, scores, drop_intermediate=False)
    for a, b in zip(ours, theirs, strict=True):
        assert np.allclose(a, b)


def test_a_block_of_weights_is_each_row_alone():
    rng = np.random.default_rng(6)
    scores, positive = np.round(rng.normal(size=50), 1), rng.random(50) < 0.5
    weights = rng.integers(0, 3, (7, 50)).astype(float)
    counts = Sweep.over(scores, positive).counts(weights)
    assert counts.auroc() == pytest.approx([auroc(scores, positive, w) for w in weights])
    assert counts.auprc() == pytest.approx([auprc(scores, positive, w) for w in weights])
    assert counts.tpr_at_fpr(0.1) == pytest.approx([tpr_at_fpr(scores, positive, 0.1, w) for w in weights])


def test_a_resample_without_negatives_measures_nothing():
    counts = Sweep.over(np.array([1.0, 0.0]), np.array([True, False])).counts(np.array([[2.0, 0.0]]))
    assert np.isnan([counts.auroc()[0], counts.tpr_at_fpr(0.05)[0]]).all()


@pytest.mark.parametrize(
    ("scores", "positive", "weights", "says"),
    [
        ([np.nan, 1], [True, False], None, "NaN or infinite"),
        ([np.inf, 1], [True, False], None, "NaN or infinite"),
        ([2, 1], [True, True], None, "2 positive and 0 negative"),
        ([2, 1], [True, False], [1, 0], "1 positive and 0 negative"),
        ([2, 1], [True, False], [1, -1], "a weight of -1.0"),
        ([2, 1], [True, False], [1], "1 weights for 2 scores"),
        ([2, 1], [True], None, "one label a score"),
        ([2, 1], [2, 0], None, "neither true nor false"),
        ([[2, 1]], [True, False], None, "one dimension"),
        ([], [], None, "0 positive and 0 negative"),
    ],
)
def test_bad_input_is_named_in_one_line(scores, positive, weights, says):
    with pytest.raises(AssayError, match=says):
        auroc(scores, positive, weights)


def test_a_rate_above_one_is_refused():
    with pytest.raises(AssayError, match=r"rate of 1\.5"):
        tpr_at_fpr([2, 1], [True, False], 1.5)
