"""Statistics of independent values: a proportion with Wilson's interval, and Spearman's rank correlation."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from assay.errors import DataError
from assay.evaluation import COVERAGE, Estimate, finite, unknown, weighted_spearman, wilson_ends


def wilson(successes: int, trials: int, *, level: float = COVERAGE) -> Estimate:
    """Return a proportion of independent trials with Wilson's score interval (1927)."""
    if not trials:
        return unknown(level)
    low, high = wilson_ends(successes / trials, trials, float(ndtri((1 + level) / 2)))
    return Estimate(successes / trials, low=low, high=high, level=level)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Return Spearman's rank correlation with mid-ranks; NaN where a side is constant.

    Raises:
        DataError: lengths differ, there is no value, or a value is not finite.
    """
    first, second = finite(x, "values"), finite(y, "values")
    if first.shape != second.shape or not len(first):
        raise DataError(f"{len(first)} values against {len(second)}; expected pairs")
    return float(weighted_spearman(first, second, np.ones(len(first))))
