"""Fingerprint postings in one folder: immutable segments, and the documents added and removed since."""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import CorpusIndexError
from assay.retrieval.canonical import Form
from assay.retrieval.generations import (
    as_damage,
    begin_again,
    durable_writer,
    next_number,
    publish,
    published,
    read_generation,
    sweep,
)
from assay.retrieval.hashing import Hashes
from assay.retrieval.merge_policy import MergePolicy
from assay.retrieval.postings.keys import distinct, keys_of
from assay.retrieval.postings.memtable import Memtable
from assay.retrieval.postings.merging import merge_segments
from assay.retrieval.postings.overlap import Overlap, frequencies_of, overlap_of, shared_of, sizes_of
from assay.retrieval.postings.segment import VERSION, Segment
from assay.retrieval.postings.writing import MOST_POSTINGS
from assay.retrieval.profiles import Profile

POSTINGS_READ = 6_000
"""Postings of one form that a query reads at most, so that its cost does not grow with the index."""

CANDIDATES = 100
MOST_DOCUMENTS = (1 << 32) - 1
POLICY: MergePolicy[Segment] = MergePolicy(
    size=lambda segment: segment.posting_count,
    dead_share=lambda segment: len(segment.dead) / max(1, len(segment.documents)),
    most=MOST_POSTINGS,
    least_tier=1 << 16,
)


class Postings:
    """Documents by their fingerprints.

    One writer and any number of readers use a folder at a time; the caller ensures that there is one writer. A reader
    sees the last commit before it opened the index. Changes are visible to the writer at once, to others after
    `commit`, and lost if the process ends before.
    """

    def __init__(self, folder: Path, profile: Profile, generation: int, segments: Sequence[Segment]) -> None:
        self.folder = folder
        self.profile = profile
        self.generation = generation
        self._segments = list(segments)
        self._forms = tuple(channel.form for channel in profile.channels)
        self._memtable = Memtable(self._forms)
        self._sealed: Segment | None = None
        self._numbers = next_number(folder) - 1
        self._highest = max((int(segment.documents[-1]) for segment in segments if len(segment.documents)), default=-1)
        self._kept: dict[int, set[str]] = {}
        self._changed = False

    @classmethod
    def create(cls, folder: Path, profile: Profile) -> Self:
        """Create an empty index in a new folder."""
        folder.mkdir(parents=True)
        postings = cls(folder, profile, 0, ())
        postings._publish(0)
        return postings

    @classmethod
    def open(
        cls, folder: Path, generation: int | None = None, *, writable: bool = False, damaged: bool = False
    ) -> Self:
        """Open the last commit, or a given generation.

        Args:
            folder: of `create`.
            generation: number of a commit; None is the last one.
            writable: open it for durable_writer, and delete the files of later, uncommitted changes.
            damaged: ignore segments that cannot be read.

        Raises:
            CorpusIndexError: the folder, its manifest or a segment is damaged, half-written or of another version.
            FileNotFoundError: the generation does not exist any more: a writer has replaced it.
        """
        if not (numbers := published(folder)):
            raise CorpusIndexError(f"{folder}: no postings here")
        generation = numbers[-1] if generation is None else generation
        manifest = read_generation(folder, generation)
        with as_damage(folder):
            if manifest["version"] != VERSION:
                raise CorpusIndexError(
                    f"{folder}: postings of format {manifest['version']}, written by another version of assay; "
                    f"expected format {VERSION}"
                )
            profile = Profile.of(manifest["profile"])
            segments = []
            for entry in manifest["segments"]:
                try:
                    segments.append(_open_segment(folder, entry, profile))
                except CorpusIndexError:
                    if not damaged:
                        raise
            postings = cls(folder, profile, generation, segments)
            if writable:
                postings._kept = {generation: _files(manifest)}
                sweep(folder, postings._kept)
        return postings

    @classmethod
    def empty(cls, folder: Path, profile: Profile, generation: int) -> Self:
        """Begin again without any document, beside damaged files; `commit` deletes these."""
        begin_again(folder)
        return cls(folder, profile, generation, ())

    @property
    def documents(self) -> int:
        """Number of documents."""
        return sum(map(len, self._segments)) + len(self._memtable)

    @property
    def postings(self) -> int:
        """Number of postings, those of removed documents included until their segments are merged."""
        return sum(segment.posting_count for segment in self._visible())

    @property
    def bytes(self) -> int:
        """Size of the files of the segments."""
        return sum(segment.size for segment in self._segments)

    @property
    def segments(self) -> int:
        """Number of segment files."""
        return len(self._segments)

    def holds(self, documents: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each document whether it is here, bool [n]."""
        present = np.zeros(len(documents), np.bool_)
        for segment in self._visible():
            present |= segment.holds(documents)
        return present

    def ids(self) -> NDArray[np.int64]:
        """Return all documents, ascending."""
        parts = [segment.documents[segment.living] for segment in self._visible()]
        return np.sort(np.concatenate([np.zeros(0, np.uint32), *parts]).astype(np.int64))

    def add(self, document: int, hashes: Mapping[Form, Hashes]) -> None:
        """Add a document, or replace it.

        Args:
            document: 0 to 2^32 - 1.
            hashes: of each form, in any order; repetitions do not matter, and a missing form has no hashes.
        """
        if not 0 <= document <= MOST_DOCUMENTS:
            raise CorpusIndexError(f"document {document}: expected a number from 0 to {MOST_DOCUMENTS}")
        if document <= self._highest:
            self.remove(document)
        self._highest = max(self._highest, document)
        self._memtable.add(document, hashes)
        self._sealed, self._changed = None, True
        if self._memtable.full:
            self._spill()

    def remove(self, document: int) -> None:
        """Remove a document; an absent one is ignored."""
        if document in self._memtable:
            self._memtable.remove(document)
            self._sealed, self._changed = None, True
            return
        self.remove_all(np.array([document], np.int64))

    def remove_all(self, documents: NDArray[np.int64]) -> None:
        """Remove many documents at once; absent ones are ignored."""
        for document in documents.tolist() if len(self._memtable) else ():
            if document in self._memtable:
                self._memtable.remove(document)
                self._sealed, self._changed = None, True
        for at, segment in enumerate(self._segments):
            gone = documents[segment.holds(documents)]
            if len(gone):
                self._segments[at] = segment.without(np.union1d(segment.dead, gone))
                self._changed = True

    def commit(self, generation: int | None = None) -> None:
        """Make all changes since the last commit durable, and merge segments if there are many.

        Raises:
            CorpusIndexError: the disk is full, or a segment to be merged is damaged; the last commit stands.
        """
        if generation is None and not self._changed:
            return
        self._spill()
        while chosen := POLICY.to_merge(self._segments):
            self._merge(chosen)
        self._publish(self.generation + 1 if generation is None else generation)

    def compact(self) -> None:
        """Merge all segments into as few as possible; `commit` makes that durable.

        Raises:
            CorpusIndexError: the disk is full or a segment is damaged; the last commit stands.
        """
        self._spill()
        if chosen := POLICY.to_merge(self._segments, everything=True):
            self._merge(chosen)
            self._changed = True

    def check(self) -> None:
        """Read every segment in full.

        Raises:
            CorpusIndexError: a segment is damaged; the error names it.
        """
        for segment in self._segments:
            try:
                segment.check()
            except CorpusIndexError as error:
                raise CorpusIndexError(f"{self.folder / segment.name}: {error}") from error

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
        most = MOST_DOCUMENTS if common is None else int(common * self.documents)
        return overlap_of(
            self._visible(),
            form,
            distinct(keys_of(hashes)),
            most=most,
            budget=budget,
            reading=reading,
            candidates=candidates,
        )

    def shared(self, form: Form, hashes: Hashes, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return |Q ∩ D|: the number of distinct hashes of the query that each document has, always exact."""
        return shared_of(self._visible(), form, distinct(keys_of(hashes)), documents)

    def frequencies(self, form: Form, hashes: Hashes) -> NDArray[np.int64]:
        """Return the number of documents that have each of these hashes."""
        return frequencies_of(self._visible(), form, keys_of(hashes))

    def sizes(self, form: Form, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return |D|: the number of distinct fingerprints of each document; 0 if it is absent."""
        return sizes_of(self._visible(), form, documents)

    def _visible(self) -> list[Segment]:
        """Return all segments; the documents that are not in a file yet are the last one."""
        if not len(self._memtable):
            return self._segments
        if self._sealed is None:
            self._sealed, _ = self._memtable.segment("memtable")
        return [*self._segments, self._sealed]

    def _spill(self) -> None:
        """Turn the memtable into a segment file."""
        if len(self._memtable):
            name = self._next_name()
            _, data = self._memtable.segment(name)
            with durable_writer(self.folder / name) as file:
                file.write(data)
            self._segments.append(Segment.open(self.folder / name))
        self._memtable, self._sealed = Memtable(self._forms), None

    def _merge(self, chosen: Sequence[Segment]) -> None:
        merged = []
        if any(len(segment) for segment in chosen):
            name = self._next_name()
            with durable_writer(self.folder / name) as file:
                merge_segments(file, chosen)
            merged = [Segment.open(self.folder / name)]
        self._segments = [segment for segment in self._segments if segment not in chosen] + merged

    def _next_name(self) -> str:
        self._numbers += 1
        return f"{self._numbers:010d}.segment"

    def _publish(self, generation: int) -> None:
        entries = []
        for segment in self._segments:
            entry: dict[str, Any] = {"name": segment.name}
            if len(segment.dead):
                dead = f"{segment.name}.{generation}.dead"
                with durable_writer(self.folder / dead) as file:
                    file.write(segment.dead.astype("<u4", copy=False).data)
                entry |= {"dead": dead, "checksum": zlib.crc32(segment.dead.data)}
            entries.append(entry)
        manifest = {"version": VERSION, "profile": self.profile.content(), "segments": entries}
        publish(self.folder, generation, manifest)
        self.generation, self._changed = generation, False
        # a reader that has just read the previous number can still open that generation
        before = max((number for number in self._kept if number < generation), default=None)
        self._kept = {} if before is None else {before: self._kept[before]}
        self._kept[generation] = _files(manifest)
        sweep(self.folder, self._kept)


def _open_segment(folder: Path, entry: Mapping[str, Any], profile: Profile) -> Segment:
    segment = Segment.open(folder / entry["name"])
    if absent := {channel.form for channel in profile.channels} - segment.forms.keys():
        raise CorpusIndexError(f"{folder / entry['name']}: segment is damaged: no postings of {', '.join(absent)}")
    if "dead" not in entry:
        return segment
    path = folder / entry["dead"]
    data = path.read_bytes()
    if zlib.crc32(data) != entry["checksum"]:
        raise CorpusIndexError(f"{path}: damaged: its checksum is not that of its content")
    with as_damage(path):
        return segment.without(np.frombuffer(data, "<u4"))


def _files(manifest: Mapping[str, Any]) -> set[str]:
    return {entry[key] for entry in manifest["segments"] for key in ("name", "dead") if key in entry}
