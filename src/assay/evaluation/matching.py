"""Matching by propensity: those of many texts that a blind classifier takes for texts of another set.

Rosenbaum and Rubin 1983, "The central role of the propensity score in observational studies for causal effects". The
log-odds of several classifiers together are the propensity here; a distance within the caliper counts as equal.
"""

import numpy as np
from numpy.typing import ArrayLike

from assay.evaluation.arrays import Indices
from assay.types import Float64Array

CALIPER = 0.25
"""Largest distance of a pair in standard deviations of the log-odds; Austin 2011 advises 0.2 for one propensity."""


def matched(
    targets: ArrayLike, candidates: ArrayLike, *, rounds: int = 1, caliper: float = CALIPER, seed: int = 0
) -> Indices:
    """Return the candidates that match targets: each target takes, in every round, its nearest free candidate.

    Args:
        targets: [n, k] log-odds of the texts to be matched, of k classifiers.
        candidates: [m, k] log-odds of the texts to choose from.
        rounds: candidates of one target at most.
        caliper: largest Euclidean distance of a pair, in standard deviations of the targets' log-odds.
        seed: of the order in which targets choose.

    Returns:
        Indices of the chosen candidates, ascending.
    """
    scores, offered = np.asarray(targets, float), np.asarray(candidates, float)
    if not len(scores) or not len(offered):
        return np.empty(0, np.intp)
    spread = scores.std(0)
    scale = np.where(spread > 0, spread, 1)
    goal: Float64Array = scores / scale
    pool: Float64Array = offered / scale
    free = np.ones(len(pool), np.bool_)
    random = np.random.default_rng(seed)
    for _ in range(rounds):
        # in random order, or the first targets would always have the best choice
        for target in random.permutation(len(goal)):
            distances = np.where(free, np.linalg.norm(pool - goal[target], axis=1), np.inf)
            nearest = int(distances.argmin())
            if distances[nearest] <= caliper:
                free[nearest] = False
    return np.flatnonzero(~free)
