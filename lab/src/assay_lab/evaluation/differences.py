"""Difference of a metric between two scores of the same samples, with a paired interval over groups."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from assay.errors import DataError
from assay.evaluation import (
    COVERAGE,
    RESAMPLES,
    SEED,
    Estimate,
    Range,
    Resamples,
    Spread,
    Support,
    Sweep,
    Uncertainty,
    both_classes,
    labels,
    pseudo_error,
    scorable,
)
from assay.types import Float64Array

Metric = Callable[[Sweep, Float64Array], Float64Array]
"""Sorted scores and weights [..., n] to values [...]."""


def auroc_of(sweep: Sweep, weights: Float64Array) -> Float64Array:
    """Return the AUROC, as a `Metric`."""
    return sweep.counts(weights).auroc()


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of a metric between two scores of the same samples.

    Attributes:
        estimate: metric of the first minus metric of the second, with its paired interval.
        p_value: two-sided, of the hypothesis of no difference, by Student's t; NaN if there is no interval.
        samples: number of samples that have both scores; only these are compared.
    """

    estimate: Estimate
    p_value: float
    samples: int


def paired_difference(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    positive: ArrayLike,
    groups: Sequence[Hashable],
    *,
    metric: Metric = auroc_of,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = COVERAGE,
) -> Difference:
    """Return the difference of a metric between two scores, both computed on every resample.

    Args:
        scores_a: [n], NaN where unscorable.
        scores_b: [n], NaN where unscorable.
        positive: [n].
        groups: [n]; None is a group of its own.
        metric: within 0 and 1; the AUROC unless another is given.
        resamples: R.
        seed: of the draws.
        level: of the interval.

    Raises:
        DataError: shapes differ, a score is infinite, or the samples that have both scores are of one class.
    """
    a, b = scorable(scores_a), scorable(scores_b)
    truths = labels(positive, len(a))
    if a.shape != b.shape:
        raise DataError(f"{len(a)} scores against {len(b)}; expected scores of the same samples")
    both = ~(np.isnan(a) | np.isnan(b))
    both_classes(truths[both])
    sweeps = [Sweep.over(scores[both], truths[both]) for scores in (a, b)]

    def pair(weights: Float64Array) -> Float64Array:
        # both metrics on the same weights: what a resample does to both cancels out in their difference
        first, second = map(metric, sweeps, repeat(weights[:, both]))
        return np.stack([first, second, first - second], axis=-1)

    draws = Resamples.of(groups, truths, resamples=resamples, seed=seed)
    spread, support = draws.spread(pair), draws.support(truths & both, ~truths & both)
    estimate = spread.estimate(2, support, within=None, level=level)
    samples = int(both.sum())
    if not estimate.has_interval:
        return Difference(estimate, np.nan, samples)
    # equal scores have the difference 0 in every resample, whose spread of 0 would make any difference significant
    if (a[both] == b[both]).all():
        return Difference(estimate, 1.0, samples)
    low, high = _ends(spread, support, level)
    paired = Estimate(estimate.value, low, high, level=level, groups=support.groups)
    return Difference(paired, _two_sided(paired, spread.uncertainty(2)), samples)


def _ends(spread: Spread, support: Support, level: float) -> Range:
    """Return the ends of a paired interval: Student's, wider where a metric is near 0 or 1.

    Near 0 and 1 the resamples vary too little. The part of the metric's own interval that comes from the pseudo-error
    is therefore added, as Newcombe (1998) does for independent proportions.
    """
    first, second = (spread.estimate(i, support, level=level) for i in (0, 1))
    added = pseudo_error(support)
    # the share of the pseudo-error in the variance of each metric: near 1 where the metric is near 0 or 1, else near 0
    a, b = (added / (metric.value * (1 - metric.value) + added) for metric in (first, second))
    half = spread.uncertainty(2).quantile(level) * float(spread.errors[2])
    # distances to the ends add as squares (Newcombe's method 10), each metric with its own side
    below = np.hypot(a * (first.value - first.low), b * (second.high - second.value))
    above = np.hypot(a * (first.high - first.value), b * (second.value - second.low))
    value = float(spread.values[2])
    return float(value - np.hypot(half, below)), float(value + np.hypot(half, above))


def _two_sided(paired: Estimate, uncertainty: Uncertainty) -> float:
    """Return the p-value of the interval: below 1 - level exactly if zero is outside."""
    value = paired.value
    # the half towards zero, of an interval that need not be symmetric
    half = value - paired.low if value > 0 else paired.high - value
    if half <= 0:
        return 1.0 if value == 0 else 0.0
    return float(2 * stdtr(uncertainty.freedom, -abs(value) / half * uncertainty.quantile(paired.level)))
