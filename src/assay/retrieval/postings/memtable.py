"""Documents that are not in a segment yet: arrays in the order of adding, sorted when they become a segment."""

import io
from array import array
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.canonical import Form
from assay.retrieval.hashing import Hashes
from assay.retrieval.postings.kernels import Documents
from assay.retrieval.postings.keys import Keys, keys_of
from assay.retrieval.postings.segment import Segment
from assay.retrieval.postings.writing import Block, write_segment

SLOT_BITS = 16
SLOTS = 1 << SLOT_BITS
"""A key and the slot of its document fit one 64-bit number, so that a segment needs one sort."""

MOST_FINGERPRINTS = 1 << 23
"""A copy has 64 MB; a segment is made of five copies."""


class Memtable:
    """Documents and their keys; each document has a slot, counted from 0."""

    def __init__(self, forms: Sequence[Form]) -> None:
        self._forms = tuple(forms)
        self._documents = array("q")
        self._slots: dict[int, int] = {}
        self._keys: dict[Form, list[Keys]] = {form: [] for form in forms}
        self._lengths: dict[Form, array[int]] = {form: array("q") for form in forms}
        self._fingerprints = 0

    def __len__(self) -> int:
        """Return the number of documents that were not removed."""
        return len(self._slots)

    def __contains__(self, document: int) -> bool:
        return document in self._slots

    @property
    def full(self) -> bool:
        """True if it must become a segment before more is added."""
        return len(self._documents) >= SLOTS or self._fingerprints >= MOST_FINGERPRINTS

    def add(self, document: int, hashes: Mapping[Form, Hashes]) -> None:
        """Add a document that is not in it."""
        self._slots[document] = len(self._documents)
        self._documents.append(document)
        for form in self._forms:
            keys = keys_of(hashes[form]) if form in hashes else np.zeros(0, np.uint64)
            self._keys[form].append(keys)
            self._lengths[form].append(len(keys))
            self._fingerprints += len(keys)

    def remove(self, document: int) -> None:
        """Remove a document that is in it."""
        # its keys stay where they are: a slot without a document gets no rank, and is dropped with the sort
        del self._slots[document]

    def segment(self) -> Segment:
        """Return its content as a segment in memory."""
        numbers = np.fromiter(self._slots.keys(), np.int64, len(self._slots))
        slots = np.fromiter(self._slots.values(), np.int64, len(self._slots))
        order = np.argsort(numbers)
        documents = numbers[order].astype(np.uint32)
        # slots are in the order of adding; the rank of a document is its position in the ascending order of the segment
        ranks = np.full(len(self._documents), -1, np.int64)
        ranks[slots[order]] = np.arange(len(order))
        sizes: dict[Form, Documents] = {}
        blocks: dict[Form, Iterator[Block]] = {}
        for form in self._forms:
            packed = self._packed(form, ranks)
            rank = (packed & np.uint64(SLOTS - 1)).astype(np.int64)
            sizes[form] = np.bincount(rank, minlength=len(documents)).astype(np.uint32)
            blocks[form] = iter([(packed >> np.uint64(SLOT_BITS), documents[rank])])
        file = io.BytesIO()
        write_segment(file=file, documents=documents, sizes=sizes, blocks=blocks)
        return Segment.of(file.getvalue(), {})

    def _packed(self, form: Form, ranks: NDArray[np.int64]) -> Keys:
        """Return pairs of key (high bits) and rank of the document (low bits): ascending, each pair once."""
        # key in the high bits, rank of the document in the low ones: sorting these numbers sorts by key and then by
        # document, and equal pairs, a fingerprint that a document has twice, become neighbours
        packed = np.concatenate([np.zeros(0, np.uint64), *self._keys[form]])
        packed <<= np.uint64(SLOT_BITS)
        rank = np.repeat(ranks, np.frombuffer(self._lengths[form], np.int64))
        packed |= rank.astype(np.uint64) & np.uint64(SLOTS - 1)
        packed = packed[rank >= 0]  # removed documents have the rank -1
        packed.sort()
        if len(packed):
            packed = packed[np.concatenate([[True], packed[1:] != packed[:-1]])]
        return packed
