"""The ways of searching that are compared, each over the index that it needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from assay.provenance import (
    NOTHING,
    CodeIndex,
    Method,
    by_vector,
    candidates_of,
    default_boilerplate,
    ranked,
    read_query,
    similarity_of,
)
from assay.retrieval import mixed

DEPTH = 100
"""Answers looked at: recall is measured up to 100."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way of searching.

    Attributes:
        profile: of the fingerprints in its index.
        method: of the search.
    """

    profile: str
    method: Method


WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "winnowing (paper)": Way("paper", "winnowing"),
        "HST (paper)": Way("paper", "hst"),
        "winnowing": Way("default", "winnowing"),
        "vector": Way("default", "vector"),
        "HST": Way("default", "hst"),
        "union": Way("default", "union"),
    }
)
"""The paper's fingerprints and ours; the vectors are the same throughout."""


def answers(text: str, language: str | None, index: CodeIndex, method: Method) -> NDArray[np.int64]:
    """Numbers of the documents found, best first, as `trace` ranks them, at most `DEPTH`.

    Equal ones come in an order that tells nothing: what is searched for has small numbers, so by number it would come
    first.
    """
    is_paper = index.profile.name == "paper"
    with index.snapshot():
        query = read_query(text, language, index, NOTHING if is_paper else default_boilerplate())
        found = candidates_of(query, index, method, DEPTH)
        if method == "vector":
            _, keys = by_vector(found.cosines)
        else:
            _, keys = ranked(found.standings, found.cosines, "jaccard" if is_paper else "length")
    order = np.lexsort([mixed(found.documents.astype(np.uint64)), *(-key for key in reversed(keys))])
    kept = [at for at in order.tolist() if similarity_of(at, found, None, units=query.units) is not None]
    return found.documents[np.array(kept[:DEPTH], np.int64)]


def first_right(found: NDArray[np.int64], right: frozenset[int]) -> int:
    """Rank of the first right answer, from 1; 0 where there is none."""
    for rank, number in enumerate(found.tolist(), 1):
        if number in right:
            return rank
    return 0
