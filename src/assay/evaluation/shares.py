"""A share of samples with an interval over their groups."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from assay.evaluation.arrays import group_codes, labels
from assay.evaluation.bootstrap import standard_errors
from assay.evaluation.estimate import Estimate, unknown
from assay.evaluation.interval import LEVEL, RATE, Support, Uncertainty, interval, wilson_ends


def grouped_share(hits: ArrayLike, groups: Sequence[Hashable] | None = None, *, level: float = LEVEL) -> Estimate:
    """Return the share of true values with Wilson's interval.

    If every sample is a group of its own, the trials are independent and only the share is estimated: the interval is
    Wilson's (1927). Otherwise the effective sample size comes from the variance between groups, in closed form: the
    influence of a group on a share is the sum of its deviations from the share (Taylor linearisation).

    Args:
        hits: [n], booleans.
        groups: [n], samples of one group are not independent; None is a group of its own, None for all means all are.
        level: of the interval.

    Raises:
        DataError: lengths differ, or values other than true and false.
    """
    truths = labels(hits, np.size(hits))
    if not len(truths):
        return unknown(level)
    codes = group_codes([None] * len(truths) if groups is None else groups, len(truths))
    count, value = int(codes.max()) + 1, float(truths.mean())
    support = Support((count,), len(truths))
    influence = np.bincount(codes, truths - value) / len(truths)
    errors, freedom = standard_errors(
        (influence**2).sum(keepdims=True), influence[:, None], (np.arange(count),), size=np.inf
    )
    estimate = interval(value, Uncertainty(float(errors[0]), float(freedom[0])), support, within=RATE, level=level)
    if count < len(truths) or not estimate.has_interval:
        return estimate
    low, high = wilson_ends(value, len(truths), float(ndtri((1 + level) / 2)))
    return Estimate(value, low, high, level, support.groups)
