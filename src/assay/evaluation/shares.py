"""A share or a mean between 0 and 1, and the difference of two, with intervals over the groups of the samples."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from assay.evaluation.arrays import Indices, group_codes, labels
from assay.evaluation.bootstrap import standard_errors
from assay.evaluation.estimate import Estimate, unknown
from assay.evaluation.interval import CORRELATION, COVERAGE, RATE, Support, Uncertainty, interval, wilson_ends
from assay.types import BooleanArray, Float64Array


def grouped_share(
    hits: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    *,
    level: float = COVERAGE,
    also: tuple[Uncertainty, int] | None = None,
) -> Estimate:
    """Return the share of true values with Wilson's interval.

    If every sample is a group of its own, the trials are independent and only the share is estimated: the interval is
    Wilson's (1927). Otherwise the effective sample size comes from the variance between groups, in closed form: the
    influence of a group on a share is the sum of its deviations from the share (Taylor linearisation).

    Args:
        hits: [n], booleans.
        groups: [n], samples of one group are not independent; None is a group of its own, None for all means all are.
        level: of the interval.
        also: a second, independent source of uncertainty of the share, and the number of groups behind it.

    Raises:
        DataError: lengths differ, or values other than true and false.
    """
    truths = labels(hits, np.size(hits))
    if not len(truths):
        return unknown(level)
    codes = group_codes(groups, len(truths))
    count, value = int(codes.max()) + 1, float(truths.mean())
    # a group adds the sum of its deviations: samples that agree within it do not cancel out
    influence = np.bincount(codes, truths - value) / len(truths)
    observed = _uncertainty(influence)
    if also is not None:
        support = Support((count, also[1]), len(truths))
        return interval(value, also[0].plus(observed), support, within=RATE, level=level)
    support = Support((count,), len(truths))
    estimate = interval(value, observed, support, within=RATE, level=level)
    if count < len(truths) or not estimate.has_interval:
        return estimate
    low, high = wilson_ends(value, len(truths), float(ndtri((1 + level) / 2)))
    return Estimate(value, low=low, high=high, level=level, groups=support.groups)


def grouped_mean(values: ArrayLike, groups: Sequence[Hashable] | None = None) -> Estimate:
    """Return the mean of values between 0 and 1 with an interval over groups; of values 0 and 1 as `grouped_share`.

    Args:
        values: [n], between 0 and 1.
        groups: [n], see `grouped_share`.

    Raises:
        DataError: lengths differ.
    """
    numbers = np.asarray(values, np.float64)
    if not len(numbers):
        return unknown()
    if set(np.unique(numbers)) <= {0.0, 1.0}:
        return grouped_share(numbers == 1, groups)
    codes = group_codes(groups, len(numbers))
    influence = np.bincount(codes, numbers - numbers.mean()) / len(numbers)
    support = Support((int(codes.max()) + 1,), len(numbers))
    return interval(float(numbers.mean()), _uncertainty(influence), support, within=RATE)


def difference_of_means(values: ArrayLike, first: ArrayLike, groups: Sequence[Hashable] | None = None) -> Estimate:
    """Return the mean of one part minus the mean of the rest, with an interval over groups.

    The influence of a group is the sum of its deviations in both parts (Taylor linearisation), so that a group with
    samples in both parts is counted as what it is: dependent.

    Args:
        values: [n], between 0 and 1.
        first: [n], true for the samples of the first part.
        groups: [n], see `grouped_share`.

    Raises:
        DataError: lengths differ.
    """
    numbers = np.asarray(values, np.float64)
    if not len(numbers):
        return unknown()
    inside = labels(first, len(numbers))
    if not inside.any() or inside.all():
        return unknown()
    codes = group_codes(groups, len(numbers))
    count = int(codes.max()) + 1
    influence = np.zeros(count)
    means = []
    for part, sign in ((inside, 1), (~inside, -1)):
        means.append(numbers[part].mean())
        # a group with samples on both sides adds to both means, so what they share cancels
        influence += sign * np.bincount(codes[part], numbers[part] - means[-1], minlength=count) / part.sum()
    support = Support(
        (len(set(codes[inside].tolist())), len(set(codes[~inside].tolist()))), int(min(inside.sum(), (~inside).sum()))
    )
    return interval(float(means[0] - means[1]), _uncertainty(influence), support, within=CORRELATION)


def _uncertainty(influence: Float64Array) -> Uncertainty:
    errors, freedom = standard_errors(
        (influence**2).sum(keepdims=True), influence[:, None], (np.arange(len(influence)),), size=np.inf
    )
    return Uncertainty(float(errors[0]), float(freedom[0]))


def design_effect(hits: BooleanArray, codes: Indices) -> float:
    """Return the variance of a share by group over that of independent samples (Kish 1965), at least 1.

    It is 1 if every sample is a group of its own or all samples agree, and NaN for a single group of several samples.

    Args:
        hits: [n].
        codes: [n], the group of each sample, from 0.
    """
    samples = len(hits)
    if not samples:
        return 1.0
    count, share = int(codes.max()) + 1, float(hits.mean())
    if count == 1 < samples:
        return np.nan
    # where all samples agree both variances are 0, and their ratio says nothing
    if count == samples or share in (0.0, 1.0):
        return 1.0
    # the variance by group, from the groups' sums of deviations, over the binomial one p (1 - p) / n
    influence = np.bincount(codes, hits - share) / samples
    return max(1.0, float((influence**2).sum() * count / (count - 1) / (share * (1 - share) / samples)))
