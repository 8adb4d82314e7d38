"""Recall at n and mean reciprocal rank of a search, with intervals over groups of queries."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from assay.evaluation import RATE, Estimate, Range, grouped_bootstrap
from assay.types import Float64Array

RECALL_AT = (1, 5, 10, 100)


def gains(ranks: ArrayLike) -> dict[str, Float64Array]:
    """Return the contribution of each query to "recall@n" and "mrr", float64 [q] each.

    Args:
        ranks: [q], of the first correct match, from 1; 0 if there is none among the matches that were examined.
    """
    rank = np.asarray(ranks, np.int64)
    has_rank = rank > 0
    of_recall = {f"recall@{n}": (has_rank & (rank <= n)).astype(np.float64) for n in RECALL_AT}
    reciprocal = np.divide(1.0, rank, out=np.zeros(len(rank)), where=has_rank)
    return {**of_recall, "mrr": reciprocal}


def retrieval_quality(ranks: ArrayLike, groups: Sequence[Hashable], *, seed: int = 0) -> dict[str, Estimate]:
    """Return recall at n and mean reciprocal rank over the queries, by name.

    Args:
        ranks: [q], as for `gains`.
        groups: [q], drawn as a whole: the package or module that a query was cut from.
        seed: of the resampling.
    """
    columns = gains(ranks)
    estimates = _means(np.stack(list(columns.values()), axis=1), groups, seed=seed, within=RATE)
    return dict(zip(columns, estimates, strict=True))


def reciprocal_rank_gain(
    ranks: ArrayLike, others: Mapping[str, ArrayLike], groups: Sequence[Hashable], *, seed: int = 0
) -> dict[str, Estimate]:
    """Return the paired difference in mean reciprocal rank from each other method on the same queries, by name."""
    own = gains(ranks)["mrr"]
    differences = np.stack([own - gains(other)["mrr"] for other in others.values()], axis=1)
    return dict(zip(others, _means(differences, groups, seed=seed, within=None), strict=True))


def _means(
    columns: Float64Array, groups: Sequence[Hashable], *, seed: int, within: Range | None
) -> tuple[Estimate, ...]:
    def means(weights: Float64Array) -> Float64Array:
        result: Float64Array = weights @ columns / weights.sum(axis=1, keepdims=True)
        return result

    return grouped_bootstrap(means, groups, seed=seed, within=within)
