"""The result of a search by fingerprints, and the choice of the lists that it reads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.postings.kernels import Bounds
from assay.retrieval.postings.keys import Keys
from assay.types import BooleanArray

REGION = 16
"""Fingerprints of one region of a query: about 90 characters or tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Documents that share fingerprints with a query.

    Attributes:
        documents: int64 [c], best first: most shared fingerprints in the lists that were read, then fewest
            fingerprints, then smallest number.
        shared: int32 [c], number of distinct fingerprints of the query that each has: exact, whichever lists were read.
        sizes: int32 [c], number of distinct fingerprints of each.
        query: number of distinct fingerprints of the query.
        looked_up: how many of them were looked up.
        too_common: how many are in more documents than `common` allows, or than may be read at all.
        absent: how many no document has.
        left: how many were not looked up because of the budget.
        matched: number of documents that share a fingerprint that was looked up; c of them are returned.
    """

    documents: NDArray[np.int64]
    shared: NDArray[np.int32]
    sizes: NDArray[np.int32]
    query: int
    looked_up: int
    too_common: int
    absent: int
    left: int
    matched: int

    @property
    def containment(self) -> NDArray[np.float64]:
        """|Q ∩ D| / |Q|, [c]."""
        return self.shared / np.float64(max(self.query, 1))

    @property
    def jaccard(self) -> NDArray[np.float64]:
        """|Q ∩ D| / |Q ∪ D|, [c]."""
        return self.shared / (self.sizes + np.float64(max(self.query, 1)) - self.shared)


def choose_lists(frequencies: Bounds, keys: Keys, *, most: int, budget: int | None, reading: int) -> BooleanArray:
    """Choose the lists to read: the rarest of every region, then the next rarest of every region, within the budget.

    So the rare fingerprints of one region do not use up the budget of the others. Equally rare ones are ordered by key.
    """
    chosen = np.zeros(len(keys), np.bool_)
    eligible = np.flatnonzero((frequencies > 0) & (frequencies <= most))
    if (budget is None or len(eligible) <= budget) and frequencies[eligible].sum() <= reading:
        chosen[eligible] = True
        return chosen
    # one region with rare names must not use up what may be read: every region gets its rarest list first
    regions = eligible // REGION
    of_region = np.lexsort((keys[eligible], frequencies[eligible], regions))
    eligible, regions = eligible[of_region], regions[of_region]
    # the turn of a list is its rank within its region, the rarest first
    begins = np.searchsorted(regions, regions)
    turns = np.arange(len(eligible)) - begins
    order = eligible[np.lexsort((keys[eligible], frequencies[eligible], turns))]
    if budget is not None:
        order = order[:budget]
    left = reading
    if frequencies[order].sum() <= left:
        chosen[order] = True
        return chosen
    # a long list that does not fit is passed over, shorter ones after it may still fit
    for at in order.tolist():
        if frequencies[at] <= left:
            chosen[at] = True
            left -= int(frequencies[at])
    return chosen
