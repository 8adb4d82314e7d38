"""Flagged share of a model beyond that of another model, on the same texts."""

from collections.abc import Hashable, Sequence
from itertools import compress

import numpy as np
from numpy.typing import ArrayLike

from assay.evaluation.bootstrap import SEED, grouped_bootstrap
from assay.evaluation.estimate import Estimate, unknown
from assay.types import Float64Array

EXCESS_LEVEL = 0.9
"""Of the interval: each of its ends is a one-sided bound at 95 %."""


def flagged_excess(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    groups: tuple[Sequence[Hashable], Sequence[Hashable]],
    alpha: float,
    *,
    seed: int = SEED,
) -> Estimate:
    """Return the share that one model flags at `alpha` minus that of another model, with a 90 % interval over groups.

    Tasks and unseen texts are resampled by group, for both models together, so that the threshold of each model is
    drawn anew too. What the difference of the texts does to both models alike cancels out.

    Args:
        first: scores of the tasks [n] and of the unseen texts [m]; NaN where unscorable.
        second: the same of the other model, for the same texts.
        groups: of the tasks [n] and of the unseen texts [m]; None is a group of its own.
        alpha: nominal false-positive rate of a flag.
        seed: of the resamples.
    """
    tasks, others = (np.column_stack(side).astype(np.float64) for side in zip(first, second, strict=True))
    kept = tuple(np.asarray(np.isfinite(side).all(axis=1)) for side in (tasks, others))
    values, unseen = tasks[kept[0]], others[kept[1]]
    if not len(values) or not len(unseen):
        return unknown(EXCESS_LEVEL)
    names: list[Hashable] = []
    for place, (side, chosen) in enumerate(zip(groups, kept, strict=True)):
        # a task and an unseen text may have groups of one name: the side keeps them apart
        names += [None if name is None else (place, name) for name in compress(side, chosen)]
    is_task = np.arange(len(names)) < len(values)
    # for each model: unseen texts in rising order, and how many of them lie below each task
    orders = [np.argsort(unseen[:, model], kind="stable") for model in (0, 1)]
    below = [np.searchsorted(np.sort(unseen[:, model]), values[:, model], side="left") for model in (0, 1)]

    def statistic(weights: Float64Array) -> Float64Array:
        """Weights [r, n + m] → excess [r, 1]."""
        of_tasks, of_unseen = weights[:, is_task], weights[:, ~is_task]
        total = of_unseen.sum(axis=1, keepdims=True)
        shares = []
        for order, places in zip(orders, below, strict=True):
            # the weighted number of unseen texts below each task, by one sum over the sorted texts
            cumulated = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(of_unseen[:, order], axis=1)], axis=1)
            p_values = (1 + total - cumulated[:, places]) / (1 + total)
            shares.append((of_tasks * (p_values <= alpha)).sum(axis=1, keepdims=True))
        with np.errstate(invalid="ignore"):  # NaN where a resample has no group of the tasks
            excess: Float64Array = (shares[0] - shares[1]) / of_tasks.sum(axis=1, keepdims=True)
        return excess

    return grouped_bootstrap(statistic, names, is_task, level=EXCESS_LEVEL, seed=seed)[0]
