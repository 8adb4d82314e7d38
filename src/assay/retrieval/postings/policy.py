"""When segments are merged: so that a query meets few of them and no posting is rewritten often."""

from collections.abc import Sequence

from assay.retrieval.postings.segment import Segment
from assay.retrieval.postings.writing import MOST_POSTINGS

FANOUT = 4
"""Segments of about one size that become one: a posting is rewritten log4 of the growth times."""

DEAD_SHARE = 0.25
"""Of a segment's documents; where more were removed it is rewritten."""

SMALLEST = 1 << 16
"""Postings; segments below are of one size."""


def to_merge(segments: Sequence[Segment], *, everything: bool = False) -> list[Segment]:
    """The segments that should be one; empty where all is well."""
    if everything:
        fitting = _fitting(segments)
        return fitting if len(fitting) > 1 or any(len(one.dead) for one in fitting) else []
    for segment in segments:
        if len(segment.dead) > DEAD_SHARE * len(segment.documents):
            return [segment]
    for tier in sorted({_tier(one) for one in segments}):
        up_to = _fitting([one for one in segments if _tier(one) <= tier])
        if sum(_tier(one) == tier for one in up_to) >= FANOUT:
            return up_to
    return []


def _tier(segment: Segment) -> int:
    return (max(segment.posting_count // SMALLEST, 1).bit_length() - 1) // 2


def _fitting(segments: Sequence[Segment]) -> list[Segment]:
    """The smallest of them, as many as fit one segment."""
    fitting: list[Segment] = []
    total = 0
    for segment in sorted(segments, key=lambda one: one.posting_count):
        total += segment.posting_count
        if total > MOST_POSTINGS:
            break
        fitting.append(segment)
    return fitting
