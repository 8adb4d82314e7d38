"""Vectors in one folder: immutable, memory-mapped usearch files, what was added since, and what was removed."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from assay.errors import CorpusIndexError
from assay.retrieval.generations import publish, published, read_manifest, sweep, writing
from assay.types import Float32Array

VERSION = 1
FANOUT = 4
LARGEST = 1 << 21
"""Vectors of one file: files are merged up to this, so that no merge takes hours."""
EXACT_UP_TO = 1 << 17
"""Vectors of a file that are all compared: as fast as its graph is where it is searched as widely as below, and nothing
is missed. Larger files are searched by their graph."""
IN_SIGHT = 1 << 10
"""Vectors that a search keeps in sight while it walks a graph. A fragment is not like the functions that the graph
links: with the 64 that are usual, a quarter of the nearest is missed."""
CHECKED_ON_OPENING = 1 << 26
DEAD_SHARE = 0.25

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class VectorFile:
    """One immutable file; `dead` are the documents in it that were removed since, ascending."""

    name: str
    index: Any
    size: int
    checksum: int
    dead: Ids

    def __len__(self) -> int:
        return len(self.index) - len(self.dead)

    def holds(self, documents: Ids) -> NDArray[np.bool_]:
        """Which of these documents it holds and were not removed."""
        return np.asarray(self.index.contains(documents.astype(np.uint64)), np.bool_) & ~np.isin(documents, self.dead)

    def ids(self) -> Ids:
        """All documents that were not removed, in any order."""
        keys = np.asarray(self.index.keys[:], np.int64) if len(self.index) else np.zeros(0, np.int64)
        return keys[~np.isin(keys, self.dead)]


class VectorIndex:
    """Documents by their vectors, cosine similarity, 16 bits a number.

    Commits as `Postings` does. A file of up to `EXACT_UP_TO` vectors is read through, nearest first without a miss; the
    nearest of a larger one are found by a graph (HNSW): approximately, so what is found may change a little when files
    are merged.
    """

    def __init__(self, folder: Path, dimensions: int, generation: int, files: Sequence[VectorFile]) -> None:
        self.folder = folder
        self.dimensions = dimensions
        self.generation = generation
        self._files = list(files)
        self._added = new_index(dimensions)
        self._numbers = max((int(one.name.partition(".")[0]) for one in files), default=0)
        self._kept: dict[int, set[str]] = {}

    @classmethod
    def create(cls, folder: Path, dimensions: int) -> Self:
        """An empty index in a new folder."""
        folder.mkdir(parents=True)
        vectors = cls(folder, dimensions, 0, ())
        vectors._publish(0)
        return vectors

    @classmethod
    def open(
        cls, folder: Path, generation: int | None = None, *, writable: bool = False, damaged: bool = False
    ) -> Self:
        """Open what was committed last, or as a certain generation; arguments and errors as of `Postings.open`."""
        if not folder.is_dir() or not (numbers := published(folder)):
            raise CorpusIndexError(f"{folder}: no vectors here")
        generation = numbers[-1] if generation is None else generation
        manifest = read_manifest(folder, generation)
        if manifest["version"] != VERSION:
            raise CorpusIndexError(
                f"{folder}: vectors of format {manifest['version']}, written by another version of assay; "
                f"expected format {VERSION}"
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

    def __len__(self) -> int:
        return sum(map(len, self._files)) + len(self._added)

    @property
    def bytes(self) -> int:
        """Size of the files."""
        return sum(one.size for one in self._files)

    def ids(self) -> Ids:
        """All documents that have a vector, ascending."""
        added = np.asarray(self._added.keys[:], np.int64) if len(self._added) else np.zeros(0, np.int64)
        return np.sort(np.concatenate([added, *(one.ids() for one in self._files)]))

    def add(self, documents: Ids, vectors: Float32Array) -> None:
        """Add documents that it does not hold.

        Args:
            documents: int64 [n].
            vectors: float32 [n, d].
        """
        if vectors.shape != (len(documents), self.dimensions):
            expected = (len(documents), self.dimensions)
            raise CorpusIndexError(f"vectors of shape {vectors.shape}: expected {expected}")
        if len(documents):
            self._added.add(documents.astype(np.uint64), np.ascontiguousarray(vectors, np.float32))
        if len(self._added) >= LARGEST:
            self._spill()

    def remove_all(self, documents: Ids) -> None:
        """Remove documents; those that are not there stay absent."""
        for document in documents.tolist() if len(self._added) else ():
            if document in self._added:
                self._added.remove(document)
        for at, one in enumerate(self._files):
            gone = documents[one.holds(documents)] if len(documents) else documents
            if len(gone):
                dead = np.union1d(one.dead, gone)
                self._files[at] = VectorFile(one.name, one.index, one.size, one.checksum, dead)

    def search(self, vector: Float32Array, n: int) -> tuple[Ids, Float32Array]:
        """The n documents nearest to a vector, nearest first; of equally near ones the smaller number first.

        Returns:
            Documents, int64 [m], and cosine similarities, float32 [m]; m <= n.
        """
        parts = [_nearest(one.index, vector, n, one.dead) for one in self._files]
        if len(self._added):
            parts.append(_nearest(self._added, vector, n, np.zeros(0, np.int64)))
        documents = np.concatenate([np.zeros(0, np.int64), *(part for part, _ in parts)])
        similarities = np.concatenate([np.zeros(0, np.float32), *(part for _, part in parts)])
        order = np.lexsort((documents, -similarities))[:n]
        return documents[order], similarities[order]

    def commit(self, generation: int | None = None) -> None:
        """Make everything since the last commit durable, and merge files where there are many."""
        self._spill()
        while chosen := _to_merge(self._files):
            self._merge(chosen)
        self._publish(self.generation + 1 if generation is None else generation)

    def compact(self) -> None:
        """Merge all files that may be one; `commit` makes that durable."""
        self._spill()
        fitting = [one for one in self._files if len(one.index) < LARGEST]
        if len(fitting) > 1 or any(len(one.dead) for one in fitting):
            self._merge(fitting)

    def check(self) -> None:
        """Read every file in full.

        Raises:
            CorpusIndexError: one is damaged; it is named.
        """
        for one in self._files:
            path = self.folder / one.name
            if zlib.crc32(path.read_bytes()) != one.checksum:
                raise CorpusIndexError(f"{path}: vectors are damaged: not what was written")

    def _spill(self) -> None:
        if len(self._added):
            self._save(self._added)
            self._added = new_index(self.dimensions)

    def _merge(self, chosen: Sequence[VectorFile]) -> None:
        largest = max(chosen, key=len)
        merged = _restored(self.folder / largest.name, self.dimensions, view=False)
        if len(largest.dead):
            merged.remove(largest.dead.astype(np.uint64))
        for one in chosen:
            ids = one.ids()
            if one is not largest and len(ids):
                merged.add(ids.astype(np.uint64), np.vstack(one.index.get(ids.astype(np.uint64))))
        self._files = [one for one in self._files if one not in chosen]
        if len(merged):
            self._save(merged)

    def _save(self, index: Any) -> None:  # noqa: ANN401  usearch publishes no types
        self._numbers += 1
        path = self.folder / f"{self._numbers:010d}.usearch"
        with writing(path) as file:
            file.write(index.save())
        entry = {"name": path.name, "bytes": path.stat().st_size, "checksum": zlib.crc32(path.read_bytes())}
        self._files.append(_open_file(self.folder, entry, self.dimensions))

    def _publish(self, generation: int) -> None:
        entries = []
        for one in self._files:
            entry: dict[str, Any] = {"name": one.name, "bytes": one.size, "checksum": one.checksum}
            if len(one.dead):
                entry["dead"] = f"{one.name}.{generation}.dead"
                with writing(self.folder / entry["dead"]) as file:
                    file.write(one.dead.astype("<i8"))
            entries.append(entry)
        manifest = {"version": VERSION, "dimensions": self.dimensions, "files": entries}
        publish(self.folder, generation, manifest)
        self.generation = generation
        before = max((one for one in self._kept if one < generation), default=None)
        self._kept = {one: self._kept[one] for one in (before,) if one is not None} | {generation: _names(manifest)}
        sweep(self.folder, self._kept)


def new_index(dimensions: int) -> Any:  # noqa: ANN401  usearch publishes no types
    """An empty index in memory."""
    return Index(ndim=dimensions, metric="cos", dtype="f16", expansion_search=IN_SIGHT)


def _nearest(index: Any, vector: Float32Array, n: int, dead: Ids) -> tuple[Ids, Float32Array]:  # noqa: ANN401  usearch publishes no types
    """The n nearest that are not dead; as many more are asked for as are dead among those found."""
    asked = n
    while True:
        found = index.search(vector, min(asked, len(index)), exact=len(index) <= EXACT_UP_TO)
        documents = np.asarray(found.keys, np.int64)
        kept = ~np.isin(documents, dead)
        if kept.sum() >= n or asked >= len(index):
            similarities = (1 - np.asarray(found.distances, np.float32))[kept][:n]
            return documents[kept][:n], similarities
        asked *= 2


def _to_merge(files: Sequence[VectorFile]) -> list[VectorFile]:
    for one in files:
        if len(one.dead) > DEAD_SHARE * len(one.index):
            return [one]
    fitting: list[VectorFile] = []
    for one in sorted(files, key=len):
        if sum(map(len, fitting)) + len(one) <= LARGEST:
            fitting.append(one)
    # a larger file takes smaller ones in: they are added to its graph, it is not built anew
    return fitting if len(fitting) >= FANOUT else []


def _open_file(folder: Path, entry: dict[str, Any], dimensions: int) -> VectorFile:
    path = folder / entry["name"]
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CorpusIndexError(f"{path}: vectors cannot be read: {error}") from error
    if size != entry["bytes"]:
        raise CorpusIndexError(f"{path}: vectors are half-written: {size:,} bytes of {entry['bytes']:,}")
    if size <= CHECKED_ON_OPENING and zlib.crc32(path.read_bytes()) != entry["checksum"]:
        raise CorpusIndexError(f"{path}: vectors are damaged: not what was written")
    index = _restored(path, dimensions, view=True)
    dead = np.zeros(0, np.int64)
    if "dead" in entry:
        dead = np.frombuffer((folder / entry["dead"]).read_bytes(), "<i8").astype(np.int64)
    return VectorFile(path.name, index, size, entry["checksum"], dead)


def _restored(path: Path, dimensions: int, *, view: bool) -> Any:  # noqa: ANN401  usearch publishes no types
    try:
        index: Any = Index.restore(str(path), view=view)
    except (RuntimeError, ValueError) as error:
        raise CorpusIndexError(f"{path}: vectors are damaged: {error}") from error
    if index is None or index.ndim != dimensions:
        raise CorpusIndexError(f"{path}: vectors are damaged: expected {dimensions} dimensions")
    index.expansion_search = IN_SIGHT  # no file keeps it
    return index


def _names(manifest: dict[str, Any]) -> set[str]:
    return {entry[key] for entry in manifest["files"] for key in ("name", "dead") if key in entry}
