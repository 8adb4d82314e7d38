"""Decisions of a score at a threshold, and ways to choose one: by a rate on unseen text, or by a calibration split.

A decision is positive where score >= threshold. A strict rule (score > t, as SrDetection's "> 0") is the
threshold `numpy.nextafter(t, numpy.inf)`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import DataError
from assay.evaluation import (
    COVERAGE,
    RESAMPLES,
    ROUNDING,
    SEED,
    Estimate,
    Resamples,
    Sweep,
    both_classes,
    finite,
    labels,
    scorable,
)
from assay.types import Float64Array


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


@dataclass(frozen=True, slots=True)
class Threshold:
    """Metrics of the decisions at one threshold.

    Macro values are unweighted means over the two classes. A precision without a prediction, or an F1 of a
    class that is neither predicted nor present, counts as 0 (scikit-learn's `zero_division=0`).

    Attributes:
        threshold: score >= threshold is positive.
        true_positives: positives at or above it.
        false_positives: negatives at or above it.
        true_negatives: negatives below it.
        false_negatives: positives below it.
        unscorable: samples without a score; there is no decision about them.
        accuracy: share of correct decisions.
        macro_precision: mean precision of the two classes.
        macro_recall: mean recall of the two classes (balanced accuracy).
        macro_f1: mean F1 of the two classes.
    """

    threshold: float
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int
    unscorable: int
    accuracy: Estimate
    macro_precision: Estimate
    macro_recall: Estimate
    macro_f1: Estimate


def at_threshold(
    scores: ArrayLike,
    positive: ArrayLike,
    groups: Sequence[Hashable],
    threshold: float,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = COVERAGE,
) -> Threshold:
    """Compare the decisions `score >= threshold` with the labels.

    The threshold must come from other data (a paper, text known to be unseen, a calibration split): the metrics of a
    threshold that was chosen on the same samples are optimistic.

    Args:
        scores: [n], NaN where unscorable.
        positive: [n], booleans.
        groups: [n], drawn as a whole; None is a group of its own.
        threshold: chosen beforehand.
        resamples: R.
        seed: of the draws.
        level: of the intervals.

    Raises:
        DataError: shapes differ, a score is infinite, the threshold is NaN, or the scored samples are of one
            class.
    """
    if np.isnan(threshold):
        raise DataError("a threshold of NaN; expected a number")
    values = scorable(scores)
    truths = labels(positive, len(values))
    used = ~np.isnan(values)
    both_classes(truths[used])
    above = np.where(used, values, -np.inf) >= threshold
    cells = np.stack([truths & above, ~truths & above, ~truths & ~above, truths & ~above], axis=-1) & used[:, None]
    counts = cells.sum(0)
    draws = Resamples.of(groups, truths, resamples=resamples, seed=seed)
    spread = draws.spread(lambda weights: decision_metrics(weights @ cells))
    support = draws.support(truths & used, ~truths & used)
    accuracy, precision, recall, f1 = (spread.estimate(i, support, level=level) for i in range(4))
    tp, fp, tn, fn = map(int, counts)
    return Threshold(
        threshold=threshold,
        true_positives=tp,
        false_positives=fp,
        true_negatives=tn,
        false_negatives=fn,
        unscorable=int((~used).sum()),
        accuracy=accuracy,
        macro_precision=precision,
        macro_recall=recall,
        macro_f1=f1,
    )


def decision_metrics(counts: Float64Array) -> Float64Array:
    """Return [..., 4]: accuracy, macro precision, macro recall, macro F1 of [..., 4] counts TP, FP, TN, FN.

    NaN if a class is absent.
    """
    tp, fp, tn, fn = np.moveaxis(counts, -1, 0)
    present = (tp + fn > 0) & (tn + fp > 0)
    accuracy = _share(tp + tn, tp + fp + tn + fn)
    precision = (_share(tp, tp + fp) + _share(tn, tn + fn)) / 2
    recall = (_share(tp, tp + fn) + _share(tn, tn + fp)) / 2
    f1 = (_share(2 * tp, 2 * tp + fp + fn) + _share(2 * tn, 2 * tn + fn + fp)) / 2
    metrics = np.stack([accuracy, precision, recall, f1], axis=-1)
    return np.where(present[..., None], metrics, np.nan)


def _share(numerator: Float64Array, denominator: Float64Array) -> Float64Array:
    return np.where(denominator > 0, numerator / np.where(denominator > 0, denominator, 1), 0.0)
