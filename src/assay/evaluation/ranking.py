"""Ranking of positives above negatives: AUROC, average precision, TPR at fixed FPR, ROC curve.

A higher score is always positive: the direction is declared before looking at data, so an AUROC below one half is
reported as it is. A sample is positive at or above a threshold, so equal scores are treated alike and no result depends
on the order of the input. Weights are non-negative; an integer weight w counts a sample w times, so a
bootstrap of a thousand resamples is one array operation.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import DataError
from assay.evaluation.arrays import Indices, both_classes, finite, labels
from assay.types import BooleanArray, Float64Array

ROUNDING = 1e-12
"""Rounding error that summed weights may add to a false-positive rate; rates of counts differ by far more."""


@dataclass(frozen=True, slots=True, eq=False)
class SweepCounts:
    """Positives and negatives at or above each threshold, from the highest down. D = number of distinct scores.

    Attributes:
        true_positives: float64 [..., D], weight of the positives at or above the threshold.
        false_positives: float64 [..., D], weight of the negatives at or above it.
    """

    true_positives: Float64Array
    false_positives: Float64Array

    def auroc(self) -> Float64Array:
        """Return [...]: P(positive above negative) + P(equal) / 2 (mid-rank); NaN where a class has no weight."""
        hits, alarms = self.true_positives, self.false_positives
        steps = np.diff(alarms, axis=-1, prepend=0.0)
        # sum over the negatives: the positives above each, and half of the positives equal to it
        area = (steps * (hits - np.diff(hits, axis=-1, prepend=0.0) / 2)).sum(-1)
        return _ratio(area, hits[..., -1] * alarms[..., -1])

    def auprc(self) -> Float64Array:
        """Return [...]: average precision, the sum of recall step x precision; NaN without positives."""
        hits = self.true_positives
        precision = _ratio(hits, hits + self.false_positives, empty=0.0)
        return _ratio((np.diff(hits, axis=-1, prepend=0.0) * precision).sum(-1), hits[..., -1])

    def tpr_at_fpr(self, fpr: float) -> Float64Array:
        """Return [...]: the largest TPR of a threshold whose FPR is at most `fpr`, without interpolation."""
        hits, alarms = self.true_positives, self.false_positives
        allowed = alarms <= (fpr + ROUNDING) * alarms[..., -1:]
        best = np.where(allowed, hits, 0.0).max(-1)
        return _ratio(np.where(alarms[..., -1] > 0, best, np.nan), hits[..., -1])


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """Scores sorted once, so that any number of weightings can be counted.

    Attributes:
        order: intp [n], sample indices from the highest score down.
        ends: intp [D], where in `order` each run of equal scores ends.
        positive: bool [n], the truth in that order.
        thresholds: float64 [D], the distinct scores from the highest down.
    """

    order: Indices
    ends: Indices
    positive: BooleanArray
    thresholds: Float64Array

    @classmethod
    def over(cls, scores: Float64Array, positive: BooleanArray) -> Self:
        """Sort `scores` [n], which are finite, with their truths `positive` [n]."""
        order = np.argsort(-scores, kind="stable")
        ordered = scores[order]
        # no threshold separates equal scores: a run of them is one step of the curve, so that ties count half
        ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], np.True_))
        return cls(order, ends=ends, positive=positive[order], thresholds=ordered[ends])

    def counts(self, weights: Float64Array) -> SweepCounts:
        """Return the cumulative counts at every threshold for `weights` [..., n]."""
        ordered = weights[..., self.order]
        hits = np.cumsum(ordered * self.positive, axis=-1)
        alarms = np.cumsum(ordered * ~self.positive, axis=-1)
        # without ties every place is a threshold, and choosing them all would copy the counts of every resample
        if len(self.ends) == len(self.order):
            return SweepCounts(hits, alarms)
        return SweepCounts(hits[..., self.ends], alarms[..., self.ends])


def auroc(scores: ArrayLike, positive: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the area under the ROC curve: the probability that a positive scores above a negative, ties counting half.

    Args:
        scores: [n], finite, higher = positive.
        positive: [n], booleans.
        weights: [n], not negative; every sample once where None.

    Raises:
        DataError: shapes differ, a score is not finite, or one class has no weight.
    """
    return float(_counts(scores, positive, weights)[1].auroc())


def auprc(scores: ArrayLike, positive: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the average precision, the area under the precision-recall curve without interpolation.

    Chance is the share of positives, not one half. Arguments and errors as `auroc`.
    """
    return float(_counts(scores, positive, weights)[1].auprc())


def tpr_at_fpr(scores: ArrayLike, positive: ArrayLike, fpr: float, weights: ArrayLike | None = None) -> float:
    """Return the largest true-positive rate of a threshold whose false-positive rate is at most `fpr` (in [0, 1]).

    No interpolation between thresholds: with m negatives only multiples of 1/m exist. Arguments and errors as
    `auroc`.
    """
    if not 0 <= fpr <= 1:
        raise DataError(f"a false-positive rate of {fpr}; expected a number from 0 to 1")
    return float(_counts(scores, positive, weights)[1].tpr_at_fpr(fpr))


def roc_curve(
    scores: ArrayLike, positive: ArrayLike, weights: ArrayLike | None = None
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return (fpr, tpr, thresholds), each [D + 1]: from (0, 0) at threshold infinity to (1, 1) at the lowest score.

    Every distinct score is a point. Arguments and errors as `auroc`.
    """
    sweep, counts = _counts(scores, positive, weights)
    hits, alarms = (np.append(0.0, c) for c in (counts.true_positives, counts.false_positives))
    return alarms / alarms[-1], hits / hits[-1], np.append(np.inf, sweep.thresholds)


def _counts(scores: ArrayLike, positive: ArrayLike, weights: ArrayLike | None) -> tuple[Sweep, SweepCounts]:
    values = finite(scores)
    truths = labels(positive, len(values))
    sample_weights = np.ones(len(values)) if weights is None else finite(weights, "weights")
    if sample_weights.shape != values.shape:
        raise DataError(f"{len(sample_weights)} weights for {len(values)} scores; expected one weight a score")
    if (sample_weights < 0).any():
        raise DataError(f"a weight of {sample_weights.min()}; expected none below 0")
    both_classes(truths[sample_weights > 0])
    sweep = Sweep.over(values, truths)
    return sweep, sweep.counts(sample_weights)


def _ratio(numerator: Float64Array, denominator: Float64Array, *, empty: float = np.nan) -> Float64Array:
    # where the denominator is 0 nothing was measured
    safe = np.where(denominator > 0, denominator, 1.0)
    return np.where(denominator > 0, numerator / safe, empty)
