"""Fingerprint postings in one folder: immutable segments, and the documents added and removed since."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import CorpusIndexError
from assay.retrieval.canonical import Form
from assay.retrieval.generations import durable_writer
from assay.retrieval.hashing import Hashes
from assay.retrieval.postings.keys import distinct, keys_of
from assay.retrieval.postings.memtable import Memtable
from assay.retrieval.postings.merging import merge_segments
from assay.retrieval.postings.overlap import Overlap, frequencies_of, overlap_of, shared_of, sizes_of
from assay.retrieval.postings.segment import VERSION, Segment
from assay.retrieval.postings.writing import MOST_POSTINGS
from assay.retrieval.profiles import Profile
from assay.retrieval.segmented import SegmentedIndex

POSTINGS_READ = 6_000
"""Postings of one form that a query reads at most, so that its cost does not grow with the index."""

CANDIDATES = 100
MOST_DOCUMENTS = (1 << 32) - 1


class Postings(SegmentedIndex[Segment, Profile]):
    """Documents by their fingerprints."""

    PART, FORMAT, ENTRIES, SUFFIX = "postings", VERSION, "segments", "segment"
    NUMBERS, DEAD_CHECKSUM = "<u4", "checksum"
    LARGEST, LEAST_TIER = MOST_POSTINGS, 1 << 16

    def __init__(self, folder: Path, shape: Profile, generation: int = 0) -> None:
        super().__init__(folder, shape, generation)
        self._forms = tuple(channel.form for channel in shape.channels)
        self.described = {"profile": shape.content()}
        self._memtable = Memtable(self._forms)
        self._highest = -1

    @property
    def postings(self) -> int:
        """Number of postings, those of removed documents included until their segments are merged."""
        return sum(segment.weight for segment in self.visible())

    def add(self, document: int, hashes: Mapping[Form, Hashes]) -> None:
        """Add a document, or replace it.

        Args:
            document: 0 to 2^32 - 1.
            hashes: of each form, in any order; repetitions do not matter, and a missing form has no hashes.
        """
        if not 0 <= document <= MOST_DOCUMENTS:
            raise CorpusIndexError(f"document {document}: expected a number from 0 to {MOST_DOCUMENTS}")
        # a build numbers its documents upwards, so it never looks for them in the files
        if document <= self._highest:
            self.remove(document)
        self._highest = max(self._highest, document)
        self._memtable.add(document, hashes)
        self._added, self._changed = [], True
        if self._memtable.full:
            self.spill()

    def remove(self, document: int) -> None:
        """Remove a document; an absent one is ignored."""
        self.remove_all(np.array([document], np.int64))

    def remove_all(self, documents: NDArray[np.int64]) -> None:
        """Remove many documents at once; absent ones are ignored."""
        for document in documents.tolist() if len(self._memtable) else ():
            if document in self._memtable:
                self._memtable.remove(document)
                self._added, self._changed = [], True
        super().remove_all(documents)

    def overlap(
        self,
        form: Form,
        hashes: Hashes,
        *,
        budget: int | None = None,
        common: float | None = None,
        reading: int = POSTINGS_READ,
        candidates: int = CANDIDATES,
    ) -> Overlap:
        """Return the documents that share fingerprints with a query.

        Args:
            form: of the hashes.
            hashes: of the query, in text order; repetitions do not matter.
            budget: fingerprints that are looked up at most, the rarest of each region of the query first; None: all.
            common: share of the documents above which a fingerprint is not looked up; None: no such limit.
            reading: postings that are read at most.
            candidates: documents that are returned at most.
        """
        most = MOST_DOCUMENTS if common is None else int(common * len(self))
        return overlap_of(
            self.visible(),
            form,
            distinct(keys_of(hashes)),
            most=most,
            budget=budget,
            reading=reading,
            candidates=candidates,
        )

    def shared(self, form: Form, hashes: Hashes, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return |Q ∩ D|: the number of distinct hashes of the query that each document has, always exact."""
        return shared_of(self.visible(), form, distinct(keys_of(hashes)), documents)

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """Return the number of documents that have each of these hashes."""
        return frequencies_of(self.visible(), form, keys_of(hashes))

    def sizes(self, form: Form, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return |D|: the number of distinct fingerprints of each document; 0 if it is absent."""
        return sizes_of(self.visible(), form, documents)

    def visible(self) -> list[Segment]:
        """See `SegmentedIndex`. The memtable becomes a segment in memory, until it changes."""
        if len(self._memtable) and not self._added:
            self._added = [self._memtable.segment()]
        return super().visible()

    def __len__(self) -> int:
        # without that segment, which would be made for each document that is added
        return sum(map(len, self._files)) + len(self._memtable)

    def spill(self) -> None:
        """See `SegmentedIndex`."""
        self.visible()
        super().spill()
        self._memtable = Memtable(self._forms)

    @classmethod
    def shape_in(cls, manifest: Mapping[str, Any]) -> Profile:
        """See `SegmentedIndex`."""
        return Profile.of(manifest["profile"])

    def write_file(self, path: Path, files: Sequence[Segment]) -> dict[str, Any]:
        """See `SegmentedIndex`."""
        with durable_writer(path) as sink:
            if isinstance(files[0].data, bytes):  # the memtable, which is a whole file already
                sink.write(files[0].data)
            else:
                merge_segments(sink, files, self.folder)
        return {"name": path.name}

    def open_file(self, path: Path, entry: Mapping[str, Any]) -> Segment:  # noqa: ARG002  a segment states all of it itself
        """See `SegmentedIndex`."""
        segment = Segment.open(path)
        if absent := set(self._forms) - segment.forms.keys():
            raise CorpusIndexError(f"{path}: segment is damaged: no postings of {', '.join(absent)}")
        self._highest = max(self._highest, *segment.documents[-1:].tolist(), -1)
        return segment
