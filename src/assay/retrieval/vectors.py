"""Vectors in one folder: immutable, memory-mapped files, and the documents added and removed since."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from assay.errors import CorpusIndexError, plain_reason
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
from assay.retrieval.merge_policy import MergePolicy
from assay.retrieval.vector_file import DocumentIds, VectorRows, parts
from assay.types import BooleanArray, Float32Array

VECTORS_FORMAT = 3
LARGEST_FILE = 1 << 21
"""Vectors of one file at most, so that no merge takes hours."""

MOST_DIMENSIONS = 1 << 16
LARGEST_BUFFER = 1 << 17
"""Vectors in memory from which they are written to a file."""

CHECKED_WHEN_OPENED = 1 << 26
"""Bytes of a file up to which its checksum is compared when it is opened; `check` compares all."""

READ_AT_ONCE = 1 << 24
FILE_NAME = re.compile(r"\d{10}\.vectors(?:\.\d+\.dead)?")
NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class VectorFile:
    """One immutable file.

    Attributes:
        name: of the file.
        rows: its vectors.
        count: of documents that have a vector in it.
        size: bytes.
        checksum: of the content.
        dead: documents in it that were removed since, ascending.
    """

    name: str
    rows: VectorRows
    count: int
    size: int
    checksum: int
    dead: DocumentIds

    def __len__(self) -> int:
        return self.count - len(self.dead)

    def living(self) -> BooleanArray:
        """Return for each row whether its document was not removed, bool [n]."""
        return ~np.isin(self.rows.documents, self.dead)

    def ids(self) -> DocumentIds:
        """Return the documents that were not removed, ascending."""
        return np.setdiff1d(self.rows.distinct(), self.dead, assume_unique=True)


POLICY: MergePolicy[VectorFile] = MergePolicy(
    size=lambda file: len(file.rows),
    dead_share=lambda file: len(file.dead) / max(1, file.count),
    most=LARGEST_FILE,
    least_tier=1 << 12,
)


class VectorIndex:
    """Documents by the cosine similarity of their vectors, which are stored in eight bits a component.

    A document has one vector or several; the nearest of them counts. All vectors of a document are in one file.

    It commits as `Postings` does. A search compares the signs of all vectors, and computes the cosines of those that
    agree most; see `VectorRows.nearest`.
    """

    def __init__(self, folder: Path, dimensions: int, generation: int, files: Sequence[VectorFile]) -> None:
        self.folder = folder
        self.dimensions = dimensions
        self.generation = generation
        self._files = list(files)
        self._added: list[VectorRows] = []
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
                    f"expected format {VECTORS_FORMAT}; `assay index check --repair` computes them again"
                )
            dimensions = manifest["dimensions"]
            if type(dimensions) is not int or not 0 < dimensions <= MOST_DIMENSIONS:
                raise CorpusIndexError(f"{folder}: damaged: vectors of {dimensions!r} components")
            files: list[VectorFile] = []
            for entry in manifest["files"]:
                try:
                    file = _open_file(folder, entry, dimensions)
                except CorpusIndexError:
                    if not damaged:
                        raise
                    continue
                if not (damaged and any(file.rows.holds_any(other.rows.documents) for other in files)):
                    files.append(file)
            vectors = cls(folder, dimensions, generation, files)
            if writable:
                vectors._kept = {generation: _names(manifest)}
                sweep(folder, vectors._kept)
        return vectors

    @classmethod
    def empty(cls, folder: Path, dimensions: int, generation: int) -> Self:
        """Begin again without any document, beside damaged files; `commit` deletes these."""
        begin_again(folder)
        return cls(folder, dimensions, generation, ())

    def __len__(self) -> int:
        return sum(map(len, self._files)) + sum(len(rows.distinct()) for rows in self._added)

    @property
    def bytes(self) -> int:
        """Size of the files."""
        return sum(file.size for file in self._files)

    def ids(self) -> DocumentIds:
        """Return all documents that have a vector, ascending."""
        added = (rows.distinct() for rows in self._added)
        return np.sort(np.concatenate([NONE, *(file.ids() for file in self._files), *added]))

    def add(self, documents: DocumentIds, vectors: Float32Array) -> None:
        """Add documents that are not in the index.

        Args:
            documents: int64 [n]; a document with several vectors is repeated.
            vectors: float32 [n, d].
        """
        if vectors.shape != (len(documents), self.dimensions):
            expected = (len(documents), self.dimensions)
            raise CorpusIndexError(f"vectors of shape {vectors.shape}: expected {expected}")
        if len(documents):
            self._added.append(VectorRows.of(documents, vectors))
        if sum(map(len, self._added)) >= LARGEST_BUFFER:
            self._spill()

    def remove_all(self, documents: DocumentIds) -> None:
        """Remove documents; absent ones are ignored."""
        self._added = [rows.without(documents) for rows in self._added]
        for at, file in enumerate(self._files):
            gone = documents[file.rows.positions(documents) >= 0]
            if len(gone):
                self._files[at] = replace(file, dead=np.union1d(file.dead, gone))

    def search(self, vector: Float32Array, n: int) -> tuple[DocumentIds, Float32Array]:
        """Return the n documents nearest to a vector, nearest first; of equally near ones the smaller number first.

        Returns:
            Documents, int64 [m], and cosine similarities of their nearest vectors, float32 [m]; m <= n.

        Raises:
            CorpusIndexError: the vectors have another number of components than those of the index.
        """
        if vector.shape != (self.dimensions,):
            raise CorpusIndexError(
                f"{self.folder}: damaged: vectors of {self.dimensions} components, the encoder's have {vector.size}"
            )
        nearest = [file.rows.nearest(vector, n, file.dead) for file in self._files]
        nearest += [rows.nearest(vector, n, NONE) for rows in self._added]
        documents = np.concatenate([NONE, *(part for part, _ in nearest)])
        similarities = np.concatenate([np.zeros(0, np.float32), *(part for _, part in nearest)])
        order = np.lexsort((documents, -similarities))
        documents, similarities = documents[order], similarities[order]
        # the nearest vector of each document, in the order of nearness
        first = np.sort(np.unique(documents, return_index=True)[1])[:n]
        return documents[first], similarities[first]

    def commit(self, generation: int | None = None) -> None:
        """Make all changes since the last commit durable, and merge files if there are many."""
        self._spill()
        while chosen := POLICY.to_merge(self._files):
            self._merge(chosen)
        self._publish(self.generation + 1 if generation is None else generation)

    def compact(self) -> None:
        """Merge the files into as few as possible; `commit` makes that durable."""
        self._spill()
        if chosen := POLICY.to_merge(self._files, everything=True):
            self._merge(chosen)

    def check(self) -> None:
        """Read every file in full.

        Raises:
            CorpusIndexError: a file is damaged, or two have the same document; the error names it.
        """
        ids = self.ids()
        if (ids[1:] == ids[:-1]).any():
            raise CorpusIndexError(f"{self.folder}: damaged: two files have the same document")
        for file in self._files:
            path = self.folder / file.name
            if _checksum(path) != file.checksum:
                raise CorpusIndexError(f"{path}: vectors are damaged: not what was written")

    def _spill(self) -> None:
        if any(map(len, self._added)):
            self._write(self._added, [np.ones(len(rows), np.bool_) for rows in self._added])
        self._added = []

    def _merge(self, chosen: Sequence[VectorFile]) -> None:
        self._files = [file for file in self._files if file not in chosen]
        if any(map(len, chosen)):
            self._write([file.rows for file in chosen], [file.living() for file in chosen])

    def _write(self, files: Sequence[VectorRows], kept: Sequence[BooleanArray]) -> None:
        self._numbers += 1
        path = self.folder / f"{self._numbers:010d}.vectors"
        size = checksum = 0
        with durable_writer(path) as file:
            for portion in parts(files, kept):
                file.write(portion)
                size, checksum = size + len(portion), zlib.crc32(portion, checksum)
        entry = {"name": path.name, "bytes": size, "checksum": checksum}
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


def _open_file(folder: Path, entry: dict[str, Any], dimensions: int) -> VectorFile:
    if not FILE_NAME.fullmatch(entry["name"]):
        raise CorpusIndexError(f"{folder}: damaged: a file named {entry['name']!r}")
    path = folder / entry["name"]
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CorpusIndexError(f"{path}: vectors cannot be read: {plain_reason(error)}") from error
    if size != entry["bytes"]:
        raise CorpusIndexError(f"{path}: vectors are half-written: {size:,} bytes of {entry['bytes']:,}")
    if size <= CHECKED_WHEN_OPENED and _checksum(path) != entry["checksum"]:
        raise CorpusIndexError(f"{path}: vectors are damaged: not what was written")
    try:
        rows = VectorRows.read(np.memmap(path, np.uint8, "r"), dimensions)
    except ValueError as error:
        raise CorpusIndexError(f"{path}: vectors are damaged: {error}") from error
    dead = _dead(folder, entry, rows) if "dead" in entry else NONE
    return VectorFile(path.name, rows, len(rows.distinct()), size, entry["checksum"], dead)


def _dead(folder: Path, entry: dict[str, Any], rows: VectorRows) -> DocumentIds:
    """Return the documents of a file that were removed since it was written."""
    if not FILE_NAME.fullmatch(entry["dead"]):
        raise CorpusIndexError(f"{folder}: damaged: a file named {entry['dead']!r}")
    path = folder / entry["dead"]
    try:
        removed = path.read_bytes()
    except OSError as error:
        raise CorpusIndexError(f"{path}: cannot be read: {plain_reason(error)}") from error
    if zlib.crc32(removed) != entry["dead_checksum"]:
        raise CorpusIndexError(f"{path}: damaged: its checksum is not that of its content")
    dead = np.frombuffer(removed, "<i8").astype(np.int64)
    if (np.diff(dead) <= 0).any() or (rows.positions(dead) < 0).any():
        raise CorpusIndexError(f"{path}: damaged: documents that the file does not have")
    return dead


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while portion := file.read(READ_AT_ONCE):
            checksum = zlib.crc32(portion, checksum)
    return checksum


def _names(manifest: dict[str, Any]) -> set[str]:
    return {entry[key] for entry in manifest["files"] for key in ("name", "dead") if key in entry}
