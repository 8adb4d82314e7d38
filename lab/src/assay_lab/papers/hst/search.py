"""The ways of searching that are compared, each over the index that it needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from assay.provenance import CodeIndex, SearchMethod
from assay.provenance.search import rank_candidates
from assay.retrieval import mix

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
    method: SearchMethod


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


def answers(text: str, language: str | None, index: CodeIndex, *, method: SearchMethod) -> NDArray[np.int64]:
    """Return the numbers of the documents that a trace compares the text with, best first, at most `DEPTH`.

    Documents of equal rank come in an order by a hash of their numbers. A trace shows them by path; here the path would
    tell the target apart, as targets are functions of the standard library alone.
    """
    with index.snapshot():
        ranking = rank_candidates(text, index, language=language, method=method)
    documents = ranking.candidates.documents[ranking.order]
    # the last key of lexsort comes first, and keys are higher for better documents
    keys = [-key[ranking.order] for key in reversed(ranking.keys)]
    # `mix` breaks ties in an order that has nothing to do with where a document stands in the corpus
    order = np.lexsort([mix(documents.astype(np.uint64)), *keys])
    return documents[order[:DEPTH]]


def first_right(documents: NDArray[np.int64], right: frozenset[int]) -> int:
    """Return the rank of the first right answer, from 1; 0 where there is none."""
    for rank, number in enumerate(documents.tolist(), 1):
        if number in right:
            return rank
    return 0
