"""Rank correlation under weights, so that it can be resampled by group."""

import numpy as np

from assay.types import Float64Array


def weighted_spearman(x: Float64Array, y: Float64Array, weights: Float64Array) -> Float64Array:
    """Return [...]: Spearman's correlation, pairs counted `weights` [..., n] times; NaN where a side is constant."""
    total = weights.sum(-1, keepdims=True)
    share = weights / np.where(total > 0, total, 1)
    a, b = (_centred_ranks(v, share) for v in (x, y))
    spread = (share * a * a).sum(-1) * (share * b * b).sum(-1)
    # ranks are shares of 1, so the spread of a side that varies at all is far larger than the rounding error
    varies = spread > np.finfo(np.float64).eps ** 2
    together = (share * a * b).sum(-1)
    return np.where(varies, np.clip(together / np.sqrt(np.where(varies, spread, 1)), -1, 1), np.nan)


def _centred_ranks(values: Float64Array, share: Float64Array) -> Float64Array:
    distinct, place = np.unique(values, return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(len(distinct)), side="right") - 1
    below_or_equal = np.cumsum(share[..., order], axis=-1)[..., ends]
    equal = np.diff(below_or_equal, axis=-1, prepend=0.0)
    # mid-rank as a share of the weight; the mean mid-rank is one half with any ties
    return (below_or_equal - equal / 2)[..., place] - 0.5
