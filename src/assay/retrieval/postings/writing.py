"""Writing of a segment from blocks of postings in the order of their keys, in the memory of one block.

Segments are merged into one without removed documents, a block of buckets at a time.
"""

import json
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.canonical import Form
from assay.retrieval.postings.kernels import Documents, merge_postings
from assay.retrieval.postings.keys import KEY_BITS, Keys
from assay.retrieval.postings.segment import (
    ALIGNMENT,
    LARGEST_RADIX,
    LEAST_RADIX,
    MAGIC,
    TAIL,
    VERSION,
    Segment,
    rank_type,
)

IN_A_BUCKET = 64
"""Average postings of a bucket: a bucket is one or two cache lines, the directory .06 bytes a posting."""

Block = tuple[Keys, Documents]
"""Postings ascending by key and document."""

MOST_POSTINGS = 1 << 31
"""Largest number of one form in one segment: a directory has 32-bit numbers."""


LONGEST = 255
"""Postings of one entry."""

MOST_IN_MEMORY = 1 << 26
"""Bytes of the lengths of entries; more wait in a temporary file for their place behind the remainders."""

BLOCK_POSTINGS = 1 << 21
"""Postings of one block, about 25 MB; three copies are in memory."""


def radix_of(postings: int) -> int:
    """Return the number r of leading bits of a key that number its bucket."""
    return min(max((postings // IN_A_BUCKET).bit_length(), LEAST_RADIX), LARGEST_RADIX)


def write_segment(
    file: BinaryIO, documents: Documents, sizes: Mapping[Form, Documents], blocks: Mapping[Form, Iterable[Block]]
) -> None:
    """Write a segment.

    Args:
        file: empty; seekable.
        documents: ascending.
        sizes: of each form, distinct fingerprints of each document.
        blocks: of each form, all postings, ascending from block to block; as many as the sizes add up to.
    """
    contents: dict[str, tuple[int, int, int]] = {}

    def put(name: str, section: Documents, offset: int) -> int:
        contents[name] = (offset, len(section), zlib.crc32(section.data))
        file.seek(offset)
        file.write(section.astype("<u4", copy=False).data)
        return aligned(offset + section.nbytes)

    end = put("documents", documents, 0)
    for form, form_sizes in sizes.items():
        end = put(f"{form}.sizes", form_sizes, end)
        postings = int(form_sizes.sum(dtype=np.int64))
        # the number of postings fixes where all sections begin but the last one, so they grow side by side
        radix, ranks = radix_of(postings), rank_type(len(documents))
        directory_at = end
        starts_at = aligned(directory_at + 4 * ((1 << radix) + 1))
        postings_at = aligned(starts_at + 4 * ((1 << radix) + 1))
        remainders_at = aligned(postings_at + ranks.itemsize * postings)
        of_buckets = np.zeros((2, (1 << radix) + 1), np.uint32)
        written = entries = remainders_checksum = postings_checksum = lengths_checksum = 0
        with SpooledTemporaryFile(MOST_IN_MEMORY) as lengths_file:
            for keys, block_documents in blocks[form]:
                remainders, lengths = _entries(keys, KEY_BITS - radix, of_buckets)
                block_ranks = np.searchsorted(documents, block_documents).astype(ranks)
                file.seek(remainders_at + 4 * entries)
                file.write(remainders.data)
                file.seek(postings_at + ranks.itemsize * written)
                file.write(block_ranks.data)
                lengths_file.write(lengths.data)
                remainders_checksum = zlib.crc32(remainders.data, remainders_checksum)
                postings_checksum = zlib.crc32(block_ranks.data, postings_checksum)
                lengths_checksum = zlib.crc32(lengths.data, lengths_checksum)
                written += len(block_ranks)
                entries += len(remainders)
            assert written == postings, "the sizes of the documents are those of their postings"  # noqa: S101  an invariant: a segment without it gives wrong results
            lengths_at = aligned(remainders_at + 4 * entries)
            file.seek(lengths_at)
            lengths_file.seek(0)
            shutil.copyfileobj(lengths_file, file)
        contents[f"{form}.remainders"] = (remainders_at, entries, remainders_checksum)
        contents[f"{form}.lengths"] = (lengths_at, entries, lengths_checksum)
        contents[f"{form}.postings"] = (postings_at, postings, postings_checksum)
        directory, starts = np.cumsum(of_buckets, axis=1, dtype=np.uint32)
        put(f"{form}.directory", directory, directory_at)
        put(f"{form}.starts", starts, starts_at)
        end = aligned(lengths_at + entries)
    encoded = json.dumps(contents).encode()
    file.seek(end)
    file.write(encoded)
    file.write(TAIL.pack(len(encoded), zlib.crc32(encoded), VERSION, MAGIC))


def aligned(offset: int) -> int:
    """Return the next multiple of 64."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _entries(keys: Keys, remainder_bits: int, of_buckets: Documents) -> tuple[Documents, NDArray[np.uint8]]:
    """Return remainder and length of each entry of a block, and add its entries and postings to those of the buckets.

    `of_buckets` [2, 2^r + 1] counts each bucket one place behind, so that sums give where it begins.
    """
    begins = np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), np.bool_), keys[1:] != keys[:-1]]))
    lengths = np.diff(np.append(begins, len(keys)))
    parts = -(-lengths // LONGEST)
    every = np.full(int(parts.sum()), LONGEST, np.uint8)
    every[np.cumsum(parts) - 1] = lengths - LONGEST * (parts - 1)
    of_entries = np.repeat(keys[begins], parts)
    buckets = (of_entries >> np.uint64(remainder_bits)).astype(np.int64)
    if len(buckets):
        first = int(buckets[0])
        for row, weights in enumerate((None, every)):
            counts = np.bincount(buckets - first, weights)
            of_buckets[row, first + 1 : first + 1 + len(counts)] += counts.astype(np.uint32)
    return (of_entries & np.uint64((1 << remainder_bits) - 1)).astype("<u4"), every


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
    sizes = {form: _sizes(segments, form)[order] for form in forms}
    write_segment(
        file=file, documents=documents[order], sizes=sizes, blocks={form: _blocks(segments, form) for form in forms}
    )


def _sizes(segments: Sequence[Segment], form: Form) -> Documents:
    return np.concatenate([segment.forms[form].sizes[segment.living] for segment in segments])


def _blocks(segments: Sequence[Segment], form: Form) -> Iterator[Block]:
    # All segments divide the keys by their leading bits, so a range of buckets of the coarsest directory holds the same
    # keys in each, and ranges can be merged one after the other: memory does not grow with the segments.
    total = sum(len(segment.forms[form].postings) for segment in segments)
    buckets = 1 << LEAST_RADIX
    width = max(1, min(buckets, buckets * BLOCK_POSTINGS // max(total, 1)))
    for first in range(0, buckets, width):
        runs = [
            _living(segment=segment, form=form, first=first, last=min(first + width, buckets)) for segment in segments
        ]
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
    keys, ranks = postings.keys_between(first << finer, last << finer)
    documents = segment.numbers(ranks)
    if len(segment.dead):
        kept = segment.holds(documents.astype(np.int64))
        return keys[kept], documents[kept]
    return keys, documents
