"""Merging of segments into one, without removed documents: a block of buckets at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from assay.retrieval.canonical import Form
from assay.retrieval.postings.kernels import Documents, merge_postings
from assay.retrieval.postings.keys import KEY_BITS
from assay.retrieval.postings.segment import LEAST_RADIX, Segment
from assay.retrieval.postings.writing import Block, write_segment

BLOCK_POSTINGS = 1 << 21
"""Postings of one block, about 25 MB; three copies are in memory."""


def merge_segments(file: BinaryIO, segments: Sequence[Segment], folder: Path) -> None:
    """Write one segment with the living documents of these, which lie in a folder; each is living in at most one.

    Raises:
        CorpusIndexError: one of them is damaged.
    """
    for segment in segments:
        segment.check(folder)
    documents = np.concatenate([segment.documents[segment.living] for segment in segments])
    order = np.argsort(documents, kind="stable")
    forms = tuple(segments[0].forms)
    sizes: dict[Form, Documents] = {
        form: np.concatenate([segment.forms[form].sizes[segment.living] for segment in segments])[order]
        for form in forms
    }
    write_segment(file, documents[order], sizes, {form: _blocks(segments, form) for form in forms})


def _blocks(segments: Sequence[Segment], form: Form) -> Iterator[Block]:
    # All segments divide the keys by their leading bits, so a range of buckets of the coarsest directory holds the same
    # keys in each, and ranges can be merged one after the other: memory does not grow with the segments.
    total = sum(len(segment.forms[form].postings) for segment in segments)
    buckets = 1 << LEAST_RADIX
    width = max(1, min(buckets, buckets * BLOCK_POSTINGS // max(total, 1)))
    for first in range(0, buckets, width):
        runs = [_living(segment, form, first, min(first + width, buckets)) for segment in segments]
        # a tournament: neighbours are merged in pairs, so a posting is copied log2(segments) times
        while len(runs) > 1:
            paired = [merge_postings(*left, *right) for left, right in zip(runs[::2], runs[1::2], strict=False)]
            runs = paired + runs[len(runs) - len(runs) % 2 :]
        for segment in segments:
            segment.release()
        yield runs[0]


def _living(segment: Segment, form: Form, first: int, last: int) -> Block:
    """Return the postings of a range of buckets of the coarsest directory, without removed documents."""
    postings = segment.forms[form]
    finer = KEY_BITS - LEAST_RADIX - postings.remainder_bits
    keys, documents = postings.keys_between(first << finer, last << finer)
    if len(segment.dead):
        kept = segment.holds(documents.astype(np.int64))
        return keys[kept], documents[kept]
    return keys, documents
