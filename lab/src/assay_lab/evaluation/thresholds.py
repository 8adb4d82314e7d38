"""Ways to choose a threshold: by a false-positive rate on unseen text, or by a calibration split."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import DataError
from assay.evaluation.arrays import both_classes, finite, labels
from assay.evaluation.ranking import ROUNDING, Sweep
from assay.evaluation.thresholds import decision_metrics


def threshold_at_fpr(unseen_scores: ArrayLike, fpr: float) -> float:
    """Return the lowest threshold that flags at most a share `fpr` of text known to be unseen.

    It is just above the score of the first unseen sample that may not be flagged, so ties never raise the
    rate; -inf if everything may be flagged. With m unseen samples and fpr < 1/m it is above all of them.

    Raises:
        DataError: no score, a score that is not finite, or a rate outside [0, 1].
    """
    values = finite(unseen_scores, "unseen scores")
    if not len(values) or not 0 <= fpr <= 1:
        raise DataError(f"{len(values)} unseen scores and a rate of {fpr}; expected scores and a rate from 0 to 1")
    allowed = int(np.floor(fpr * len(values) + ROUNDING * len(values)))
    if allowed >= len(values):
        return -np.inf
    return float(np.nextafter(np.sort(values)[::-1][allowed], np.inf))


def best_threshold(scores: ArrayLike, positive: ArrayLike, by: Literal["macro_f1", "youden"] = "macro_f1") -> float:
    """Return the threshold that maximises macro F1, or Youden's J = TPR - FPR, on these samples.

    For a CALIBRATION SPLIT only: metrics of the same samples at this threshold are optimistic. The threshold
    is midway between two neighbouring scores; among equally good ones it is the highest (fewest flags).

    Args:
        scores: [n], finite.
        positive: [n], booleans.
        by: what to maximise.

    Raises:
        DataError: shapes differ, a score is not finite, or one class is absent.
    """
    values = finite(scores)
    truths = labels(positive, len(values))
    both_classes(truths)
    sweep = Sweep.over(values, truths)
    counts = sweep.counts(np.ones(len(values)))
    tp, fp = counts.true_positives, counts.false_positives
    fn, tn = tp[-1] - tp, fp[-1] - fp
    _, _, recall, f1 = decision_metrics(np.stack([tp, fp, tn, fn], axis=-1)).T
    best = int(np.argmax(f1 if by == "macro_f1" else recall))
    if best + 1 == len(sweep.thresholds):
        return float(sweep.thresholds[best])
    upper, lower = sweep.thresholds[best], sweep.thresholds[best + 1]
    middle = lower / 2 + upper / 2
    # between two neighbouring floats there is no other
    return float(middle if lower < middle <= upper else upper)
