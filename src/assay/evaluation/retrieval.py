"""How well a search ranks: recall at n and the mean reciprocal rank, with intervals over groups of queries."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.evaluation.bootstrap import grouped_bootstrap
from assay.evaluation.estimate import Estimate
from assay.evaluation.interval import RATE, Range

Floats = NDArray[np.float64]

RECALL_AT = (1, 5, 10, 100)


def gains(ranks: ArrayLike) -> dict[str, Floats]:
    """What each query contributes: "recall@n" and "mrr", float64 [q] each.

    Args:
        ranks: [q], of the first right answer, from 1; 0 where there is none among those looked at.
    """
    rank = np.asarray(ranks, np.int64)
    found = rank > 0
    of_recall = {f"recall@{n}": (found & (rank <= n)).astype(np.float64) for n in RECALL_AT}
    reciprocal = np.divide(1.0, rank, out=np.zeros(len(rank)), where=found)
    return {**of_recall, "mrr": reciprocal}


def retrieval_quality(ranks: ArrayLike, groups: Sequence[Hashable], *, seed: int = 0) -> dict[str, Estimate]:
    """Recall at n and mean reciprocal rank over the queries, by name.

    Args:
        ranks: [q], as for `gains`.
        groups: [q], what is drawn together: the package or module that a query was cut from.
        seed: of the resampling.
    """
    columns = gains(ranks)
    estimates = _means(np.stack(list(columns.values()), axis=1), groups, seed=seed, within=RATE)
    return dict(zip(columns, estimates, strict=True))


def reciprocal_rank_gain(
    ranks: ArrayLike, others: Mapping[str, ArrayLike], groups: Sequence[Hashable], *, seed: int = 0
) -> dict[str, Estimate]:
    """How much more mean reciprocal rank one way has than each other one on the same queries, paired."""
    own = gains(ranks)["mrr"]
    differences = np.stack([own - gains(other)["mrr"] for other in others.values()], axis=1)
    return dict(zip(others, _means(differences, groups, seed=seed, within=None), strict=True))


def _means(columns: Floats, groups: Sequence[Hashable], *, seed: int, within: Range | None) -> tuple[Estimate, ...]:
    def means(weights: Floats) -> Floats:
        result: Floats = weights @ columns / weights.sum(axis=1, keepdims=True)
        return result

    return grouped_bootstrap(means, groups, seed=seed, within=within)
