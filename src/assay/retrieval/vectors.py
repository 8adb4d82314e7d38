"""Vectors in one folder: immutable, memory-mapped files, and the documents added and removed since."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np

from assay.errors import CorpusIndexError, plain_reason
from assay.retrieval.generations import durable_writer
from assay.retrieval.segmented import NO_DOCUMENTS, SegmentedIndex, SegmentFile
from assay.retrieval.vector_file import DocumentIds, VectorRows, parts
from assay.types import Float32Array

MOST_DIMENSIONS = 1 << 16
LARGEST_BUFFER = 1 << 17
"""Vectors in memory from which they are written to a file."""

CHECKED_WHEN_OPENED = 1 << 26
"""Bytes of a file up to which its checksum is compared when it is opened; `check` compares all."""

READ_AT_ONCE = 1 << 24


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorFile(SegmentFile):
    """Vectors of documents, `rows`."""

    rows: VectorRows

    @classmethod
    def of(cls, rows: VectorRows, entry: Mapping[str, Any]) -> Self:
        """Return the file of these vectors, none of them removed; without an entry it is in memory."""
        size = entry.get("bytes", 0)
        documents = rows.distinct()
        return cls(entry=entry, size=size, documents=documents, dead=NO_DOCUMENTS, weight=len(rows), rows=rows)

    def check(self, folder: Path) -> None:
        """See `SegmentFile`."""
        checksum = 0
        with (folder / self.name).open("rb") as file:
            while portion := file.read(READ_AT_ONCE):
                checksum = zlib.crc32(portion, checksum)
        if checksum != self.entry["checksum"]:
            raise CorpusIndexError(f"{folder / self.name}: vectors are damaged: not what was written")


class VectorIndex(SegmentedIndex[VectorFile, int]):
    """Documents by the cosine similarity of their vectors, which are stored in eight bits a component.

    A document has one vector or several; the nearest of them counts. All vectors of a document are in one file. A
    search compares the signs of all vectors, and computes the cosines of those that agree most; see
    `VectorRows.nearest`.
    """

    PART, FORMAT, ENTRIES, SUFFIX = "vectors", 3, "files", "vectors"
    NUMBERS, DEAD_CHECKSUM = "<i8", "dead_checksum"
    LARGEST, LEAST_TIER = 1 << 21, 1 << 12

    def __init__(self, folder: Path, shape: int, generation: int = 0) -> None:
        super().__init__(folder, shape, generation)
        self.described = {"dimensions": shape}

    def add(self, documents: DocumentIds, vectors: Float32Array) -> None:
        """Add documents that are not in the index.

        Args:
            documents: int64 [n]; a document with several vectors is repeated.
            vectors: float32 [n, d].
        """
        if vectors.shape != (len(documents), self.shape):
            expected = (len(documents), self.shape)
            raise CorpusIndexError(f"vectors of shape {vectors.shape}: expected {expected}")
        if len(documents):
            self._added.append(VectorFile.of(VectorRows.of(documents, vectors), {}))
            self._changed = True
        if sum(map(attrgetter("weight"), self._added)) >= LARGEST_BUFFER:
            self.spill()

    def search(self, vector: Float32Array, n: int) -> tuple[DocumentIds, Float32Array]:
        """Return the n documents nearest to a vector, nearest first; of equally near ones the smaller number first.

        Returns:
            Documents, int64 [m], and cosine similarities of their nearest vectors, float32 [m]; m <= n.

        Raises:
            CorpusIndexError: the vectors have another number of components than those of the index.
        """
        if vector.shape != (self.shape,):
            raise CorpusIndexError(
                f"{self.folder}: damaged: vectors of {self.shape} components, the encoder's have {vector.size}"
            )
        nearest = [file.rows.nearest(vector, n, file.dead) for file in self.visible()]
        documents, similarities = map(
            np.concatenate, zip((NO_DOCUMENTS, np.zeros(0, np.float32)), *nearest, strict=True)
        )
        # the last key decides first: by similarity, and among equal ones by number
        order = np.lexsort((documents, -similarities))
        documents, similarities = documents[order], similarities[order]
        # the nearest vector of each document, in the order of nearness
        first = np.sort(np.unique(documents, return_index=True)[1])[:n]
        return documents[first], similarities[first]

    @classmethod
    def shape_in(cls, manifest: Mapping[str, Any]) -> int:
        """See `SegmentedIndex`."""
        dimensions = manifest["dimensions"]
        if type(dimensions) is not int or not 0 < dimensions <= MOST_DIMENSIONS:
            raise ValueError(f"vectors of {dimensions!r} components")
        return dimensions

    def write_file(self, path: Path, files: Sequence[VectorFile]) -> dict[str, Any]:
        """See `SegmentedIndex`."""
        size = checksum = 0
        with durable_writer(path) as sink:
            kept = [~np.isin(file.rows.documents, file.dead) for file in files]
            for portion in parts([file.rows for file in files], kept):
                sink.write(portion)
                size, checksum = size + len(portion), zlib.crc32(portion, checksum)
        return {"name": path.name, "bytes": size, "checksum": checksum}

    def open_file(self, path: Path, entry: Mapping[str, Any]) -> VectorFile:
        """See `SegmentedIndex`."""
        try:
            size = path.stat().st_size
        except OSError as error:
            raise CorpusIndexError(f"{path}: vectors cannot be read: {plain_reason(error)}") from error
        if size != entry["bytes"]:
            raise CorpusIndexError(f"{path}: vectors are half-written: {size:,} bytes of {entry['bytes']:,}")
        try:
            rows = VectorRows.read(np.memmap(path, np.uint8, "r"), self.shape)
        except ValueError as error:
            raise CorpusIndexError(f"{path}: vectors are damaged: {error}") from error
        file = VectorFile.of(rows, {name: entry[name] for name in ("name", "bytes", "checksum")})
        if size <= CHECKED_WHEN_OPENED:
            file.check(self.folder)
        return file
