"""Vectors in one folder: immutable, memory-mapped usearch files, and the documents added and removed since."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from assay.errors import CorpusIndexError
from assay.retrieval.generations import (
    as_damage,
    durable_writer,
    next_number,
    publish,
    published,
    read_generation,
    sweep,
)
from assay.types import Float32Array

VECTORS_FORMAT = 2
FILES_TO_MERGE = 4
"""Number of small files from which they are merged."""

LARGEST_FILE = 1 << 21
"""Vectors of one file at most, so that no merge takes hours."""

EXACT_UP_TO = 1 << 17
"""Vectors of a file up to which the search is exhaustive: as fast as its graph with the `EF_SEARCH` below, and exact.
Larger files are searched by their graph."""

EF_SEARCH = 1 << 10
"""`ef_search` of HNSW: candidates that a search of a graph keeps. Fragments differ from the functions in the graph:
with the usual 64 a quarter of the nearest documents is missed."""

CHECKED_WHEN_OPENED = 1 << 26
"""Bytes of a file up to which its checksum is compared when it is opened; `check` compares all."""

REMOVED_SHARE = 0.25
"""Share of the vectors of a file; if more were removed, the file is rewritten."""

DocumentIds = NDArray[np.int64]
"""Numbers of documents in an index."""


@dataclass(frozen=True, eq=False)
class VectorFile:
    """One immutable file; `dead` are the documents in it that were removed since, ascending."""

    name: str
    index: Any
    size: int
    checksum: int
    dead: DocumentIds

    def __len__(self) -> int:
        return len(self.index) - len(self.dead)

    def holds(self, documents: DocumentIds) -> NDArray[np.bool_]:
        """Return for each document whether it is in the file and was not removed, bool [n]."""
        return np.asarray(self.index.contains(documents.astype(np.uint64)), np.bool_) & ~np.isin(documents, self.dead)

    def ids(self) -> DocumentIds:
        """Return all documents that were not removed, in any order."""
        keys = np.asarray(self.index.keys[:], np.int64) if len(self.index) else np.zeros(0, np.int64)
        return keys[~np.isin(keys, self.dead)]


class VectorIndex:
    """Documents by their vectors: cosine similarity of 16-bit floats.

    It commits as `Postings` does. The search of a file of at most `EXACT_UP_TO` vectors is exact. That of a larger one
    is approximate, by a graph (HNSW), so results may change slightly when files are merged.
    """

    def __init__(self, folder: Path, dimensions: int, generation: int, files: Sequence[VectorFile]) -> None:
        self.folder = folder
        self.dimensions = dimensions
        self.generation = generation
        self._files = list(files)
        self._added = new_index(dimensions)
        self._numbers = next_number(folder) - 1
        self._kept: dict[int, set[str]] = {}

    @classmethod
    def create(cls, folder: Path, dimensions: int) -> Self:
        """Create an empty index in a new folder."""
        folder.mkdir(parents=True)
        vectors = cls(folder, dimensions, 0, ())
        vectors._publish(0)
        return vectors

    @classmethod
    def open(
        cls, folder: Path, generation: int | None = None, *, writable: bool = False, damaged: bool = False
    ) -> Self:
        """Open the last commit, or a given generation; arguments and errors as `Postings.open`."""
        if not (numbers := published(folder)):
            raise CorpusIndexError(f"{folder}: no vectors here")
        generation = numbers[-1] if generation is None else generation
        manifest = read_generation(folder, generation)
        with as_damage(folder):
            if manifest["version"] != VECTORS_FORMAT:
                raise CorpusIndexError(
                    f"{folder}: vectors of format {manifest['version']}, written by another version of assay; "
                    f"expected format {VECTORS_FORMAT}"
                )
            files = []
            for entry in manifest["files"]:
                try:
                    files.append(_open_file(folder, entry, manifest["dimensions"]))
                except CorpusIndexError:
                    if not damaged:
                        raise
            vectors = cls(folder, manifest["dimensions"], generation, files)
            if writable:
                vectors._kept = {generation: _names(manifest)}
                sweep(folder, vectors._kept)
        return vectors

    @classmethod
    def empty(cls, folder: Path, dimensions: int, generation: int) -> Self:
        """Begin again without any document, beside damaged files; `commit` deletes these."""
        folder.mkdir(exist_ok=True)
        return cls(folder, dimensions, generation, ())

    def __len__(self) -> int:
        return sum(map(len, self._files)) + len(self._added)

    @property
    def bytes(self) -> int:
        """Size of the files."""
        return sum(file.size for file in self._files)

    def ids(self) -> DocumentIds:
        """Return all documents that have a vector, ascending."""
        added = np.asarray(self._added.keys[:], np.int64) if len(self._added) else np.zeros(0, np.int64)
        return np.sort(np.concatenate([added, *(file.ids() for file in self._files)]))

    def add(self, documents: DocumentIds, vectors: Float32Array) -> None:
        """Add documents that are not in the index.

        Args:
            documents: int64 [n].
            vectors: float32 [n, d].
        """
        if vectors.shape != (len(documents), self.dimensions):
            expected = (len(documents), self.dimensions)
            raise CorpusIndexError(f"vectors of shape {vectors.shape}: expected {expected}")
        if len(documents):
            self._added.add(documents.astype(np.uint64), np.ascontiguousarray(vectors, np.float32))
        if len(self._added) >= LARGEST_FILE:
            self._spill()

    def remove_all(self, documents: DocumentIds) -> None:
        """Remove documents; absent ones are ignored."""
        for document in documents.tolist() if len(self._added) else ():
            if document in self._added:
                self._added.remove(document)
        for at, file in enumerate(self._files):
            gone = documents[file.holds(documents)] if len(documents) else documents
            if len(gone):
                self._files[at] = replace(file, dead=np.union1d(file.dead, gone))

    def search(self, vector: Float32Array, n: int) -> tuple[DocumentIds, Float32Array]:
        """Return the n documents nearest to a vector, nearest first; of equally near ones the smaller number first.

        Returns:
            Documents, int64 [m], and cosine similarities, float32 [m]; m <= n.
        """
        parts = [_nearest(file.index, vector, n, file.dead) for file in self._files]
        if len(self._added):
            parts.append(_nearest(self._added, vector, n, np.zeros(0, np.int64)))
        documents = np.concatenate([np.zeros(0, np.int64), *(part for part, _ in parts)])
        similarities = np.concatenate([np.zeros(0, np.float32), *(part for _, part in parts)])
        order = np.lexsort((documents, -similarities))[:n]
        return documents[order], similarities[order]

    def commit(self, generation: int | None = None) -> None:
        """Make all changes since the last commit durable, and merge files if there are many."""
        self._spill()
        while chosen := _to_merge(self._files):
            self._merge(chosen)
        self._publish(self.generation + 1 if generation is None else generation)

    def compact(self) -> None:
        """Merge all files that fit into one; `commit` makes that durable."""
        self._spill()
        fitting = [file for file in self._files if len(file.index) < LARGEST_FILE]
        if len(fitting) > 1 or any(len(file.dead) for file in fitting):
            self._merge(fitting)

    def check(self) -> None:
        """Read every file in full.

        Raises:
            CorpusIndexError: a file is damaged; the error names it.
        """
        for file in self._files:
            path = self.folder / file.name
            if zlib.crc32(path.read_bytes()) != file.checksum:
                raise CorpusIndexError(f"{path}: vectors are damaged: not what was written")

    def _spill(self) -> None:
        if len(self._added):
            self._save(self._added)
            self._added = new_index(self.dimensions)

    def _merge(self, chosen: Sequence[VectorFile]) -> None:
        # the vectors of the smaller files are added to the graph of the largest, which is faster than a new graph
        largest = max(chosen, key=len)
        merged = _restored(self.folder / largest.name, self.dimensions, view=False)
        if len(largest.dead):
            merged.remove(largest.dead.astype(np.uint64))
        for file in chosen:
            ids = file.ids()
            if file is not largest and len(ids):
                merged.add(ids.astype(np.uint64), np.vstack(file.index.get(ids.astype(np.uint64))))
        self._files = [file for file in self._files if file not in chosen]
        if len(merged):
            self._save(merged)

    def _save(self, index: Any) -> None:  # noqa: ANN401  usearch publishes no types
        self._numbers += 1
        path = self.folder / f"{self._numbers:010d}.usearch"
        with durable_writer(path) as file:
            file.write(index.save())
        entry = {"name": path.name, "bytes": path.stat().st_size, "checksum": zlib.crc32(path.read_bytes())}
        self._files.append(_open_file(self.folder, entry, self.dimensions))

    def _publish(self, generation: int) -> None:
        entries = []
        for file in self._files:
            entry: dict[str, Any] = {"name": file.name, "bytes": file.size, "checksum": file.checksum}
            if len(file.dead):
                entry["dead"] = f"{file.name}.{generation}.dead"
                removed = file.dead.astype("<i8").tobytes()
                entry["dead_checksum"] = zlib.crc32(removed)
                with durable_writer(self.folder / entry["dead"]) as sink:
                    sink.write(removed)
            entries.append(entry)
        manifest = {"version": VECTORS_FORMAT, "dimensions": self.dimensions, "files": entries}
        publish(self.folder, generation, manifest)
        self.generation = generation
        # a reader that has just read the previous number can still open that generation
        before = max((number for number in self._kept if number < generation), default=None)
        self._kept = {} if before is None else {before: self._kept[before]}
        self._kept[generation] = _names(manifest)
        sweep(self.folder, self._kept)


def new_index(dimensions: int) -> Any:  # noqa: ANN401  usearch publishes no types
    """Return an empty index in memory."""
    return Index(ndim=dimensions, metric="cos", dtype="f16", expansion_search=EF_SEARCH)


def _nearest(index: Any, vector: Float32Array, n: int, dead: DocumentIds) -> tuple[DocumentIds, Float32Array]:  # noqa: ANN401  usearch publishes no types
    """Return the n nearest documents that are not dead, and their similarities."""
    # usearch cannot skip the dead ones, so twice as many are requested until enough living ones are among them
    requested = n
    while True:
        nearest = index.search(vector, min(requested, len(index)), exact=len(index) <= EXACT_UP_TO)
        documents = np.asarray(nearest.keys, np.int64)
        kept = ~np.isin(documents, dead)
        if kept.sum() >= n or requested >= len(index):
            similarities = (1 - np.asarray(nearest.distances, np.float32))[kept][:n]
            return documents[kept][:n], similarities
        requested *= 2


def _to_merge(files: Sequence[VectorFile]) -> list[VectorFile]:
    for file in files:
        if len(file.dead) > REMOVED_SHARE * len(file.index):
            return [file]
    fitting: list[VectorFile] = []
    for file in sorted(files, key=len):
        if sum(map(len, fitting)) + len(file) <= LARGEST_FILE:
            fitting.append(file)
    return fitting if len(fitting) >= FILES_TO_MERGE else []


def _open_file(folder: Path, entry: dict[str, Any], dimensions: int) -> VectorFile:
    path = folder / entry["name"]
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CorpusIndexError(f"{path}: vectors cannot be read: {error}") from error
    if size != entry["bytes"]:
        raise CorpusIndexError(f"{path}: vectors are half-written: {size:,} bytes of {entry['bytes']:,}")
    if size <= CHECKED_WHEN_OPENED and zlib.crc32(path.read_bytes()) != entry["checksum"]:
        raise CorpusIndexError(f"{path}: vectors are damaged: not what was written")
    index = _restored(path, dimensions, view=True)
    dead = np.zeros(0, np.int64)
    if "dead" in entry:
        removed = (folder / entry["dead"]).read_bytes()
        if zlib.crc32(removed) != entry["dead_checksum"]:
            raise CorpusIndexError(f"{folder / entry['dead']}: damaged: its checksum is not that of its content")
        dead = np.frombuffer(removed, "<i8").astype(np.int64)
    return VectorFile(path.name, index, size, entry["checksum"], dead)


def _restored(path: Path, dimensions: int, *, view: bool) -> Any:  # noqa: ANN401  usearch publishes no types
    try:
        index: Any = Index.restore(str(path), view=view)
    except (RuntimeError, ValueError) as error:
        raise CorpusIndexError(f"{path}: vectors are damaged: {error}") from error
    if index is None or index.ndim != dimensions:
        raise CorpusIndexError(f"{path}: vectors are damaged: expected {dimensions} dimensions")
    index.expansion_search = EF_SEARCH  # a file does not store it
    return index


def _names(manifest: dict[str, Any]) -> set[str]:
    return {entry[key] for entry in manifest["files"] for key in ("name", "dead") if key in entry}
