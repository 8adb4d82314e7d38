"""Similarity of a rewriting and its original: the longest common subsequence of tokens over the longer length."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from assay.code import lexemes

PERCENTILE = 0.75
"""Rewritings at or above this quantile of similarity are removed, for each language and generator."""

SHORTEST_SHARE = 0.3
"""Share of the original's tokens below which a rewriting is taken for another program."""

_Key = TypeVar("_Key")


def lcs_length(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, in O(n m / word) time (Hyyrö 2004).

    A bit of `row` is 0 where the length grows at that place of `left`; an addition carries through a whole row of the
    table of dynamic programming at once.
    """
    places: dict[str, int] = {}
    for place, token in enumerate(left):
        places[token] = places.get(token, 0) | 1 << place
    full = (1 << len(left)) - 1
    row = full
    for token in right:
        matches = row & places.get(token, 0)
        # the sum may carry beyond the last place, which the mask cuts off
        row = ((row + matches) | (row - matches)) & full
    return len(left) - row.bit_count()


def similarity(original: str, rewriting: str) -> float:
    """Return the common subsequence of the tokens of two texts as a share of the longer one; 1 of two empty texts."""
    left, right = lexemes(original), lexemes(rewriting)
    longer = max(len(left), len(right))
    return lcs_length(left, right) / longer if longer else 1.0


def mostly_lost(original: str, rewriting: str) -> bool:
    """Return True if a rewriting has fewer than `SHORTEST_SHARE` of the original's tokens."""
    return len(lexemes(rewriting)) < SHORTEST_SHARE * len(lexemes(original))


def too_similar(values: Iterable[tuple[_Key, float]]) -> list[bool]:
    """Mark the values at or above the quantile `PERCENTILE` of their own key.

    The quantile interpolates linearly. At least one value of each key is marked, and all where they are equal.
    """
    pairs = list(values)
    by_key: dict[_Key, list[float]] = {}
    for key, value in pairs:
        by_key.setdefault(key, []).append(value)
    limits: Mapping[_Key, float] = {key: float(np.quantile(own, PERCENTILE)) for key, own in by_key.items()}
    return [value >= limits[key] for key, value in pairs]
