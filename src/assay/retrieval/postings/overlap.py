"""Search for the documents that share keys with a query.

The result depends only on the documents in the index: not on the number of segments, the order of adding, or documents
that were removed before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.canonical import Form
from assay.retrieval.postings.kernels import Bounds, count_members, read_lists, tally
from assay.retrieval.postings.keys import Keys
from assay.retrieval.postings.segment import Segment
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


def overlap_of(
    segments: Sequence[Segment], form: Form, keys: Keys, *, most: int, budget: int | None, reading: int, candidates: int
) -> Overlap:
    """Return the documents that share keys with a query.

    Args:
        segments: a document is living in at most one.
        form: of the keys.
        keys: distinct, in text order.
        most: lists of more documents are not read.
        budget: largest number of lists that are read; None: as many as `reading` allows.
        reading: largest number of postings that are read.
        candidates: largest number of documents that are returned.
    """
    lists = [segment.forms[form].lists(keys) for segment in segments]
    # a list longer than all that may be read is never read
    most = min(most, reading)
    frequencies = np.zeros(len(keys), np.int64)
    for segment, segment_lists in zip(segments, lists, strict=True):
        frequencies += segment.frequencies(form, segment_lists, most)
    chosen = choose_lists(frequencies, keys, most=most, budget=budget, reading=reading)
    documents, counts = _counted(segments, form, lists, chosen)
    matched = len(documents)
    documents, counts, sizes = _best(segments, form, documents, counts, candidates)
    shared = counts.copy()
    # the lists that were not read are searched for the candidates only, which makes their counts exact
    rest = ~chosen & (frequencies > 0)
    ascending = np.argsort(documents) if rest.any() else np.zeros(0, np.int64)
    for segment, (starts, stops) in zip(segments, lists, strict=True):
        in_segment = ascending[segment.holds(documents[ascending])]
        if len(in_segment):
            postings = segment.forms[form].postings
            shared[in_segment] += count_members(postings, starts, stops, rest, documents[in_segment])
    looked_up = int(chosen.sum())
    absent, too_common = int((frequencies == 0).sum()), int((frequencies > most).sum())
    return Overlap(
        documents=documents,
        shared=shared,
        sizes=sizes,
        query=len(keys),
        looked_up=looked_up,
        too_common=too_common,
        absent=absent,
        left=len(keys) - looked_up - absent - too_common,
        matched=matched,
    )


def shared_of(segments: Sequence[Segment], form: Form, keys: Keys, documents: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the number of these distinct keys that each document has; 0 if no segment contains it."""
    shared = np.zeros(len(documents), np.int32)
    ascending = np.argsort(documents, kind="stable")
    every = np.ones(len(keys), np.bool_)
    for segment in segments:
        in_segment = ascending[segment.holds(documents[ascending])]
        if len(in_segment):
            form_postings = segment.forms[form]
            shared[in_segment] = count_members(
                form_postings.postings, *form_postings.lists(keys), every, documents[in_segment]
            )
    return shared


def frequencies_of(segments: Sequence[Segment], form: Form, keys: Keys) -> Bounds:
    """Return the number of documents of each key, int64 [n]."""
    frequencies = np.zeros(len(keys), np.int64)
    for segment in segments:
        frequencies += segment.frequencies(form, segment.forms[form].lists(keys), np.iinfo(np.int64).max)
    return frequencies


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


def _counted(
    segments: Sequence[Segment], form: Form, lists: Sequence[tuple[Bounds, Bounds]], chosen: BooleanArray
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the documents in the chosen lists, ascending, and the number of lists that contain each."""
    parts = [
        read_lists(segment.forms[form].postings, starts, stops, chosen, segment.dead)
        for segment, (starts, stops) in zip(segments, lists, strict=True)
    ]
    documents_read = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.uint32), *parts])
    documents_read.sort()
    documents, counts = tally(documents_read)
    return documents, counts


def _best(
    segments: Sequence[Segment], form: Form, documents: NDArray[np.int64], counts: NDArray[np.int32], candidates: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return the documents with the largest counts; among equal ones those with the fewest fingerprints."""
    if len(documents) > candidates:
        # all that tie with the last place stay: their sizes decide among them, which are slower to look up
        least = np.partition(counts, len(counts) - candidates)[len(counts) - candidates]
        kept = counts >= least
        documents, counts = documents[kept], counts[kept]
    sizes = sizes_of(segments, form, documents)
    order = np.lexsort((documents, sizes, -counts))[:candidates]
    return documents[order], counts[order], sizes[order]


def sizes_of(segments: Sequence[Segment], form: Form, documents: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return |D| of each document; 0 if no segment contains it."""
    sizes = np.zeros(len(documents), np.int32)
    for segment in segments:
        sizes += segment.sizes(form, documents)
    return sizes
