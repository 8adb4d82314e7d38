"""From the keys of a query to the documents that share them: which lists are read, and what they say.

The answer depends on the documents that are held and on nothing else: not on the number of segments, the order of
adding, or on what was removed before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.canonical import Form
from assay.retrieval.postings.kernels import Bounds, count_members, read_lists, tally
from assay.retrieval.postings.keys import Keys
from assay.retrieval.postings.segment import Segment

Booleans = NDArray[np.bool_]

REGION = 16
"""Fingerprints of a query that compete with each other for look-ups; some 90 characters or tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Documents that share fingerprints with a query.

    Attributes:
        documents: int64 [c], best first: most shared in what was read, then fewest fingerprints, then smallest number.
        shared: int32 [c], how many distinct fingerprints of the query each has: exact, whatever was read.
        sizes: int32 [c], how many distinct fingerprints each has.
        query: distinct fingerprints of the query.
        looked_up: of them, those whose documents were read.
        too_common: those in more documents than `common` allows, or than may be read at all.
        absent: those that no document has.
        left: those that fell to the budget.
        found: documents that share at least one of those looked up; c of them are returned.
    """

    documents: NDArray[np.int64]
    shared: NDArray[np.int32]
    sizes: NDArray[np.int32]
    query: int
    looked_up: int
    too_common: int
    absent: int
    left: int
    found: int

    @property
    def containment(self) -> NDArray[np.float64]:
        """|Q ∩ D| / |Q|, [c]."""
        return self.shared / np.float64(max(self.query, 1))

    @property
    def jaccard(self) -> NDArray[np.float64]:
        """|Q ∩ D| / |Q ∪ D|, [c]."""
        return self.shared / (self.sizes + np.float64(max(self.query, 1)) - self.shared)


def overlap_of(
    segments: Sequence[Segment],
    form: Form,
    keys: Keys,
    *,
    most: int,
    budget: int | None,
    reading: int,
    candidates: int,
) -> Overlap:
    """Look up, choose, read, count.

    Args:
        segments: no document lives in two.
        form: of the keys.
        keys: distinct, in text order.
        most: lists of more documents are not read.
        budget: how many lists are read at most; None: as many as `reading` allows.
        reading: how many postings are read at most.
        candidates: how many documents are returned at most.
    """
    lists = [segment.forms[form].lists(keys) for segment in segments]
    most = min(most, reading)
    frequencies = np.zeros(len(keys), np.int64)
    for segment, of_segment in zip(segments, lists, strict=True):
        frequencies += segment.frequencies(form, of_segment, most)
    chosen = choose(frequencies, keys, most=most, budget=budget, reading=reading)
    documents, counts = _counted(segments, form, lists, chosen)
    found = len(documents)
    documents, counts, sizes = _best(segments, form, documents, counts, candidates)
    shared = counts.copy()
    rest = ~chosen & (frequencies > 0)
    ascending = np.argsort(documents) if rest.any() else np.zeros(0, np.int64)
    for segment, (starts, stops) in zip(segments, lists, strict=True):
        mine = ascending[segment.holds(documents[ascending])]
        if len(mine):
            postings = segment.forms[form].postings
            shared[mine] += count_members(postings, starts, stops, rest, documents[mine])
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
        found=found,
    )


def shared_of(segments: Sequence[Segment], form: Form, keys: Keys, documents: NDArray[np.int64]) -> NDArray[np.int32]:
    """How many of these distinct keys each document has; 0 for one that no segment holds."""
    shared = np.zeros(len(documents), np.int32)
    ascending = np.argsort(documents, kind="stable")
    every = np.ones(len(keys), np.bool_)
    for segment in segments:
        mine = ascending[segment.holds(documents[ascending])]
        if len(mine):
            of_form = segment.forms[form]
            shared[mine] = count_members(of_form.postings, *of_form.lists(keys), every, documents[mine])
    return shared


def frequencies_of(segments: Sequence[Segment], form: Form, keys: Keys) -> Bounds:
    """In how many documents each key stands, int64 [n]."""
    frequencies = np.zeros(len(keys), np.int64)
    for segment in segments:
        frequencies += segment.frequencies(form, segment.forms[form].lists(keys), np.iinfo(np.int64).max)
    return frequencies


def choose(frequencies: Bounds, keys: Keys, *, most: int, budget: int | None, reading: int) -> Booleans:
    """Which lists are read: the rarest of every region first, then the next of every region, until the budget is spent.

    So the rare fingerprints of one region cannot eat what the others need. Equally rare ones go by key.
    """
    chosen = np.zeros(len(keys), np.bool_)
    eligible = np.flatnonzero((frequencies > 0) & (frequencies <= most))
    if (budget is None or len(eligible) <= budget) and frequencies[eligible].sum() <= reading:
        chosen[eligible] = True
        return chosen
    regions = eligible // REGION
    of_region = np.lexsort((keys[eligible], frequencies[eligible], regions))
    eligible, regions = eligible[of_region], regions[of_region]
    begins = np.searchsorted(regions, regions)
    turns = np.arange(len(eligible)) - begins
    order = eligible[np.lexsort((keys[eligible], frequencies[eligible], turns))]
    if budget is not None:
        order = order[:budget]
    left = reading
    if frequencies[order].sum() <= left:
        chosen[order] = True
        return chosen
    for at in order.tolist():
        if frequencies[at] <= left:
            chosen[at] = True
            left -= int(frequencies[at])
    return chosen


def _counted(
    segments: Sequence[Segment], form: Form, lists: Sequence[tuple[Bounds, Bounds]], chosen: Booleans
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Documents in the chosen lists, ascending, and in how many each stands."""
    parts = [
        read_lists(segment.forms[form].postings, starts, stops, chosen, segment.dead)
        for segment, (starts, stops) in zip(segments, lists, strict=True)
    ]
    found = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.uint32), *parts])
    found.sort()
    documents, counts = tally(found)
    return documents, counts


def _best(
    segments: Sequence[Segment],
    form: Form,
    documents: NDArray[np.int64],
    counts: NDArray[np.int32],
    candidates: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The documents with the largest counts; of equal ones the nearest by Jaccard, with the fewest fingerprints."""
    if len(documents) > candidates:
        least = np.partition(counts, len(counts) - candidates)[len(counts) - candidates]
        kept = counts >= least
        documents, counts = documents[kept], counts[kept]
    sizes = sizes_of(segments, form, documents)
    order = np.lexsort((documents, sizes, -counts))[:candidates]
    return documents[order], counts[order], sizes[order]


def sizes_of(segments: Sequence[Segment], form: Form, documents: NDArray[np.int64]) -> NDArray[np.int32]:
    """|D| of each document; 0 for one that no segment holds."""
    sizes = np.zeros(len(documents), np.int32)
    for segment in segments:
        sizes += segment.sizes(form, documents)
    return sizes
