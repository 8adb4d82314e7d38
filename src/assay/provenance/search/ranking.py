"""From counts of shared fingerprints to one order over all channels.

In each channel a document has the containment |Q ∩ D| / |Q| and the Jaccard index |Q ∩ D| / |Q ∪ D|. The order follows
their mean over the channels. An exact copy is complete in both channels and a renamed copy in the tokens alone; of two
documents with the same tokens, the one that shares the characters too comes first. A channel without any match changes
no order that the other channel gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.retrieval import Form, RankBy
from assay.types import Float64Array

SAME_LENGTH = 0.8
"""Share of the best document's fingerprints from which a query counts as a whole copy, not as a fragment."""


@dataclass(frozen=True, eq=False)
class ChannelOverlap:
    """Fingerprints that the candidates share with a query in one channel.

    Attributes:
        form: of the channel.
        query: |Q|.
        distinctive: fingerprints of the query that are not boilerplate, |T|; at least 1.
        shared: int32 [c], |Q ∩ D|.
        shared_distinctive: int32 [c], |T ∩ D|.
        sizes: int32 [c], |D|.
    """

    form: Form
    query: int
    distinctive: int
    shared: NDArray[np.int32]
    shared_distinctive: NDArray[np.int32]
    sizes: NDArray[np.int32]

    @cached_property
    def containment(self) -> Float64Array:
        """|Q ∩ D| / |Q|, [c]."""
        return self.shared / np.float64(self.query)

    @cached_property
    def jaccard(self) -> Float64Array:
        """|Q ∩ D| / |Q ∪ D|, [c]."""
        return self.shared / (self.sizes + np.float64(self.query) - self.shared)

    @cached_property
    def distinctive_containment(self) -> Float64Array:
        """|T ∩ D| / |T|, [c]: the value that is calibrated."""
        return self.shared_distinctive / np.float64(self.distinctive)


def rank_by_fingerprints(
    overlaps: Sequence[ChannelOverlap], cosines: Float64Array, rank_by: RankBy
) -> tuple[NDArray[np.int64], list[Float64Array]]:
    """Rank the candidates from best to worst.

    Args:
        overlaps: one for each channel with evidence, characters first.
        cosines: [c], similarity of the vectors; NaN where there is none.
        rank_by: "containment", "jaccard", or "length": Jaccard where the query is about as long as the document that
            contains most of it (a long document is then worse), containment where it is a fragment.

    Returns:
        Positions [c], and the keys that decided, each [c], the first one first: candidates whose keys are all equal
        are equal.
    """
    containments = [overlap.distinctive_containment for overlap in overlaps]
    # boilerplate alone is no evidence, however much of it a document shares
    jaccards = [np.where(overlap.shared_distinctive > 0, overlap.jaccard, 0.0) for overlap in overlaps]
    cosine = np.where(np.isnan(cosines), -np.inf, cosines)
    containment, jaccard = _mean(containments, len(cosine)), _mean(jaccards, len(cosine))
    first, second = containment, jaccard
    if rank_by == "jaccard" or (rank_by == "length" and _is_whole(overlaps, containment, jaccard)):
        first, second = jaccard, containment
    # characters decide between documents that are equal in the mean: they are more precise than tokens
    keys = [first, second, *containments[:1], cosine]
    # lexsort's last key decides first
    return np.lexsort([-key for key in reversed(keys)]), keys


def rank_by_vector(cosines: Float64Array) -> tuple[NDArray[np.int64], list[Float64Array]]:
    """Rank the candidates by the similarity of their vectors alone."""
    return np.argsort(-cosines, kind="stable"), [cosines]


def _mean(values: Sequence[Float64Array], length: int) -> Float64Array:
    mean: Float64Array = np.mean(values, axis=0) if values else np.zeros(length)
    # equal documents must have equal keys, although a sum in another order differs in its last bits
    return mean.round(12)


def _is_whole(overlaps: Sequence[ChannelOverlap], containment: Float64Array, jaccard: Float64Array) -> bool:
    """Return True if the query is about as long as the best candidate."""
    if not len(containment):
        return False
    best = np.lexsort((-jaccard, -containment))[0]
    length = sum(overlap.query for overlap in overlaps)
    return length >= SAME_LENGTH * sum(int(overlap.sizes[best]) for overlap in overlaps)
