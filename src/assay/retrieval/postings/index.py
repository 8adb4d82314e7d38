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
from assay.retrieval.postings.kernels import tally
from assay.retrieval.postings.keys import Keys, distinct, keys_of
from assay.retrieval.postings.memtable import Memtable
from assay.retrieval.postings.overlap import Overlap, choose_lists
from assay.retrieval.postings.segment import VERSION, Segment
from assay.retrieval.postings.writing import MOST_POSTINGS, merge_segments
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

        The result depends only on the documents in the index: not on the number of segments, the order of adding, or
        documents that were removed before.

        Args:
            form: of the hashes.
            hashes: of the query, in text order; repetitions do not matter.
            budget: fingerprints that are looked up at most, the rarest of each region of the query first; None: all.
            common: share of the documents above which a fingerprint is not looked up; None: no such limit.
            reading: postings that are read at most.
            candidates: documents that are returned at most.
        """
        keys, segments = distinct(keys_of(hashes)), self.visible()
        # a list longer than all that may be read is never read
        most = min(reading, MOST_DOCUMENTS if common is None else int(common * len(self)))
        lists = [segment.forms[form].lists(keys) for segment in segments]
        frequencies = np.zeros(len(keys), np.int64)
        for segment, bounds in zip(segments, lists, strict=True):
            frequencies += segment.frequencies(form, bounds, most)
        chosen = choose_lists(frequencies, keys, most=most, budget=budget, reading=reading)
        # the lists of all keys, sorted together: a document stands there once for each list that contains it
        parts = [segment.read(form, bounds, chosen) for segment, bounds in zip(segments, lists, strict=True)]
        documents_read = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.uint32), *parts])
        documents_read.sort()
        every, counts = tally(documents_read)
        documents, counts, sizes = self._best(form=form, documents=every, counts=counts, candidates=candidates)
        # the lists that were not read are searched for the candidates only, which makes their counts exact
        rest = ~chosen & (frequencies > 0)
        shared = counts + self._count(form, keys[rest], documents)
        looked_up = int(chosen.sum())
        absent, too_common = int((frequencies == 0).sum()), int((frequencies > most).sum())
        left = len(keys) - looked_up - absent - too_common
        return Overlap(
            documents=documents,
            shared=shared,
            sizes=sizes,
            query=len(keys),
            looked_up=looked_up,
            too_common=too_common,
            absent=absent,
            left=left,
            matched=len(every),
        )

    def _best(
        self, form: Form, documents: NDArray[np.int64], counts: NDArray[np.int32], candidates: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Return the documents with the largest counts; among equal ones those with the fewest fingerprints."""
        if len(documents) > candidates:
            # all that tie with the last place stay: their sizes decide among them, which are slower to look up
            least = np.partition(counts, len(counts) - candidates)[len(counts) - candidates]
            documents, counts = documents[counts >= least], counts[counts >= least]
        sizes = self.sizes(form, documents)
        order = np.lexsort((documents, sizes, -counts))[:candidates]
        return documents[order], counts[order], sizes[order]

    def _count(self, form: Form, keys: Keys, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the number of these distinct keys that each document has; 0 if no segment contains it."""
        counts = np.zeros(len(documents), np.int32)
        if not len(keys):
            return counts
        # a document is living in one segment at most, so each segment counts for its own documents alone
        ascending = np.argsort(documents, kind="stable")
        for segment in self.visible():
            in_segment = ascending[segment.holds(documents[ascending])]
            if len(in_segment):
                counts[in_segment] = segment.count(form, segment.forms[form].lists(keys), documents[in_segment])
        return counts

    def shared(self, form: Form, hashes: Hashes, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return |Q ∩ D|: the number of distinct hashes of the query that each document has, always exact."""
        return self._count(form, distinct(keys_of(hashes)), documents)

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """Return the number of documents that have each of these hashes."""
        keys, no_limit = keys_of(hashes), np.iinfo(np.int64).max
        frequencies = np.zeros(len(keys), np.int64)
        for segment in self.visible():
            frequencies += segment.frequencies(form, segment.forms[form].lists(keys), no_limit)
        return frequencies

    def holders(
        self, form: Form, hashes: Hashes, *, least: int, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return documents that have these hashes: positions among the hashes, and the documents, int64 [n] each.

        Hashes in fewer than `least` documents are left out. Of a list of more than `most`, as many at equal distances
        are returned.
        """
        keys, segments = keys_of(hashes), self.visible()
        lists = [segment.forms[form].lists(keys) for segment in segments]
        lengths = np.array([stops - starts for starts, stops in lists]).reshape(len(segments), len(keys))
        total = lengths.sum(axis=0)
        positions, documents = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for segment, (starts, _), length in zip(segments, lists, lengths, strict=True):
            # of each segment its part of the list, rounded up so that no segment is passed over
            portions = np.where(total >= least, np.minimum(length, -(-length * most // np.maximum(total, 1))), 0)
            at = np.repeat(np.arange(len(keys)), portions)
            within = np.arange(len(at)) - np.repeat(np.cumsum(portions) - portions, portions)
            ranks = segment.forms[form].postings[starts[at] + within * length[at] // portions[at]]
            numbers = segment.numbers(ranks).astype(np.int64)
            living = segment.holds(numbers)
            positions.append(at[living])
            documents.append(numbers[living])
        return np.concatenate(positions), np.concatenate(documents)

    def sizes(self, form: Form, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return |D|: the number of distinct fingerprints of each document; 0 if it is absent."""
        sizes = np.zeros(len(documents), np.int32)
        for segment in self.visible():
            sizes += segment.sizes(form, documents)
        return sizes

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
