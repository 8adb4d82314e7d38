"""From counts of shared fingerprints to one order over all channels.

In each channel a document has the containment |Q ∩ D| / |Q| and the Jaccard index |Q ∩ D| / |Q ∪ D|. The order goes by
the mean over the channels: a copy is whole in both, a renamed copy in the tokens alone, and of two documents with the
same tokens the one that also has the characters comes first. So a channel that sees nothing changes no order that the
other one gives, and where both see something they agree or the sum decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.retrieval import Form
from assay.types import Float64Array

RankBy = Literal["length", "containment", "jaccard"]
Counts = NDArray[np.int32]

AS_LONG = 0.8
"""A query that has at least this share of the best document's fingerprints is as long as what it came from."""


@dataclass(frozen=True, eq=False)
class Standing:
    """How the candidates stand in one channel.

    Attributes:
        form: of the channel.
        query: |Q|.
        telling: fingerprints of the query that are no boilerplate, |T|; at least 1.
        shared: int32 [c], |Q ∩ D|.
        shared_telling: int32 [c], |T ∩ D|.
        sizes: int32 [c], |D|.
    """

    form: Form
    query: int
    telling: int
    shared: Counts
    shared_telling: Counts
    sizes: Counts

    @cached_property
    def containment(self) -> Float64Array:
        """|Q ∩ D| / |Q|, [c]."""
        return self.shared / np.float64(self.query)

    @cached_property
    def jaccard(self) -> Float64Array:
        """|Q ∩ D| / |Q ∪ D|, [c]."""
        return self.shared / (self.sizes + np.float64(self.query) - self.shared)

    @cached_property
    def telling_containment(self) -> Float64Array:
        """|T ∩ D| / |T|, [c]: what is calibrated."""
        return self.shared_telling / np.float64(self.telling)

    @cached_property
    def telling_jaccard(self) -> Float64Array:
        """The Jaccard index, 0 where all that is shared is boilerplate."""
        return np.where(self.shared_telling > 0, self.jaccard, 0.0)


def ranked(
    standings: Sequence[Standing], cosines: Float64Array, rank_by: RankBy
) -> tuple[NDArray[np.int64], list[Float64Array]]:
    """The candidates from best to worst.

    Args:
        standings: one for each channel with evidence, characters first.
        cosines: [c], similarity of the vectors; NaN where there is none.
        rank_by: "containment", "jaccard", or "length": Jaccard where the query is about as long as the document that
            contains most of it (a long document is then worse), containment where it is a fragment.

    Returns:
        Positions [c], and the keys that decided, each [c], the first one first: candidates whose keys are all equal
        are equal.
    """
    contained = [one.telling_containment for one in standings]
    near = [one.telling_jaccard for one in standings]
    cosine = np.where(np.isnan(cosines), -np.inf, cosines)
    containment, jaccard = _mean(contained, len(cosine)), _mean(near, len(cosine))
    first, second = containment, jaccard
    if rank_by == "jaccard" or (rank_by == "length" and _as_long(standings, containment, jaccard)):
        first, second = jaccard, containment
    keys = [first, second, *contained[:1], cosine]
    return np.lexsort([-key for key in reversed(keys)]), keys


def by_vector(cosines: Float64Array) -> tuple[NDArray[np.int64], list[Float64Array]]:
    """The candidates by the similarity of their vectors alone."""
    return np.argsort(-cosines, kind="stable"), [cosines]


def _mean(values: Sequence[Float64Array], length: int) -> Float64Array:
    mean: Float64Array = np.mean(values, axis=0) if values else np.zeros(length)
    return mean.round(12)  # sums in another order are no other value


def _as_long(standings: Sequence[Standing], containment: Float64Array, jaccard: Float64Array) -> bool:
    if not len(containment):
        return False
    best = np.lexsort((-jaccard, -containment))[0]
    return sum(one.query for one in standings) >= AS_LONG * sum(int(one.sizes[best]) for one in standings)
