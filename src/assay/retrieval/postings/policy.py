"""Choice of the segments to merge, so that a query reads few of them and no posting is rewritten often."""

from collections.abc import Sequence

from assay.retrieval.postings.segment import Segment
from assay.retrieval.postings.writing import MOST_POSTINGS

FANOUT = 4
"""Segments of about the same size that are merged: a posting is rewritten log4(growth) times."""

DEAD_SHARE = 0.25
"""Share of the documents of a segment; if more were removed, the segment is rewritten."""

LEAST_TIER_POSTINGS = 1 << 16
"""Segments of fewer postings are in one tier."""


def to_merge(segments: Sequence[Segment], *, everything: bool = False) -> list[Segment]:
    """Return the segments to merge next; empty if none need be."""
    if everything:
        fitting = _fitting(segments)
        return fitting if len(fitting) > 1 or any(len(segment.dead) for segment in fitting) else []
    for segment in segments:
        if len(segment.dead) > DEAD_SHARE * len(segment.documents):
            return [segment]
    for tier in sorted({_tier(segment) for segment in segments}):
        up_to = _fitting([segment for segment in segments if _tier(segment) <= tier])
        if sum(_tier(segment) == tier for segment in up_to) >= FANOUT:
            return up_to
    return []


def _tier(segment: Segment) -> int:
    return (max(segment.posting_count // LEAST_TIER_POSTINGS, 1).bit_length() - 1) // 2


def _fitting(segments: Sequence[Segment]) -> list[Segment]:
    """Return the smallest segments, as many as fit into one."""
    fitting: list[Segment] = []
    total = 0
    for segment in sorted(segments, key=lambda segment: segment.posting_count):
        total += segment.posting_count
        if total > MOST_POSTINGS:
            break
        fitting.append(segment)
    return fitting
