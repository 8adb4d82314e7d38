"""Vectors in one folder: immutable, memory-mapped files, and the documents added and removed since."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np

from assay.errors import CorpusIndexError, MissingExtra
from assay.retrieval.generations import CHECKED_WHEN_OPENED, check_content, check_size, durable_writer
from assay.retrieval.segmented import NO_DOCUMENTS, SegmentedIndex, SegmentFile
from assay.retrieval.vector_file import DocumentIds, VectorRows, parts
from assay.retrieval.vector_graph import GRAPH_FROM, LATE_SHARE, VectorGraph, build_graph
from assay.types import Float32Array

MOST_DIMENSIONS = 1 << 16
LARGEST_BUFFER = 1 << 17
"""Vectors in memory from which they are written to a file."""

PROPOSED = 2
"""Documents that the graph proposes for each that is asked for."""
MOST_BY_GRAPH = 1 / 4
"""Share of the vectors up to which a graph is asked for so many: beyond, comparing all of them is quicker."""


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
        check_content(folder / self.name, self.entry["checksum"], "vectors", verb="are")


class VectorIndex(SegmentedIndex[VectorFile, int]):
    """Documents by the cosine similarity of their vectors, which are stored in eight bits a component.

    A document has one vector or several; the nearest of them counts. All vectors of a document are in one file. A
    search compares the signs of all vectors, and computes the cosines of those that agree most; see
    `VectorRows.nearest`. From `GRAPH_FROM` vectors on a graph chooses them, if there is one: see `connect`.

    Attributes:
        graph: of the vectors, None without one.
        graph_fault: why a graph that the manifest has cannot be used; "" where it can, or has none.
    """

    PART, FORMAT, ENTRIES, SUFFIX = "vectors", 3, "files", "vectors"
    NUMBERS, DEAD_CHECKSUM = "<i8", "dead_checksum"
    LARGEST, LEAST_TIER = 1 << 21, 1 << 12

    def __init__(self, folder: Path, shape: int, generation: int = 0) -> None:
        super().__init__(folder, shape, generation)
        self.described = {"dimensions": shape}
        self.graph: VectorGraph | None = None
        self.graph_fault = ""

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

    def search(self, vector: Float32Array, n: int, *, exact: bool = False) -> tuple[DocumentIds, Float32Array]:
        """Return the n documents nearest to a vector, nearest first; of equally near ones the smaller number first.

        Args:
            vector: float32 [d].
            n: documents at most.
            exact: compute the cosines of all vectors.

        Returns:
            Documents, int64 [m], and cosine similarities of their nearest vectors, float32 [m]; m <= n.

        Raises:
            CorpusIndexError: the vectors have another number of components than those of the index.
        """
        if vector.shape != (self.shape,):
            raise CorpusIndexError(
                f"{self.folder}: damaged: vectors of {self.shape} components, the encoder's have {vector.size}"
            )
        last, compared = -1, n
        nearest = []
        if exact:
            compared = self.weight
        elif self.graph is not None and (near := self._proposed(vector, n)) is not None:
            nearest = [file.rows.cosines(vector, file.rows.rows_of(near)) for file in self.visible()]
            last = self.graph.last
        # the others: all, or those that were added since the graph was built
        for file in self.visible():
            if len(rows := file.rows.after(last)):
                nearest.append(rows.nearest(vector, compared, file.dead))
        documents, similarities = map(
            np.concatenate, zip((NO_DOCUMENTS, np.zeros(0, np.float32)), *nearest, strict=True)
        )
        # the last key decides first: by similarity, and among equal ones by number
        order = np.lexsort((documents, -similarities))
        documents, similarities = documents[order], similarities[order]
        # the nearest vector of each document, in the order of nearness
        first = np.sort(np.unique(documents, return_index=True)[1])[:n]
        return documents[first], similarities[first]

    def _proposed(self, vector: Float32Array, n: int) -> DocumentIds | None:
        """Return at least n living documents near to a vector by the graph; None where all have to be compared."""
        # the graph sees the query in eight bits, so some beyond the n may be nearer
        width = PROPOSED * n
        # removed documents keep their nodes, and a document may have several: the search widens until n are left
        while self.graph is not None and width <= len(self.graph) * MOST_BY_GRAPH:
            near = np.unique(self.graph.nearest(vector, width))
            living = near[self.holds(near)]
            if len(living) >= n:
                return living
            width *= 4
        return None

    @property
    def is_connected(self) -> bool:
        """True if a search is logarithmic, or the vectors are too few to need it."""
        return self.graph is not None or self.weight < GRAPH_FROM

    @property
    def connected(self) -> int:
        """Number of vectors in the graph; 0 without one."""
        return len(self.graph or ())

    @property
    def weight(self) -> int:
        """Number of vectors, those of removed documents included."""
        return sum(map(attrgetter("weight"), self.visible()))

    def connect(self) -> None:
        """Build the graph, or bring it up to the documents, where that is due; `commit` makes it durable.

        Raises:
            CorpusIndexError: the disk is full.
            MissingExtra: usearch is not installed.
        """
        self.spill()
        if self.weight < GRAPH_FROM:
            self.take_graph(None)
            return
        graph = self.graph
        if graph is not None:
            late = sum(len(file.rows.after(graph.last)) for file in self._files)
            gone = len(graph) - (self.weight - late - sum(map(removed_rows, self._files)))
            if gone > LATE_SHARE * len(graph):
                graph = None
            elif late <= LATE_SHARE * len(graph):
                return
        last = -1 if graph is None else graph.last
        rows = [(file.rows.after(last), file.dead) for file in self._files]
        self._numbers += 1
        path = self.folder / f"{self._numbers:010d}.graph"
        self.take_graph(build_graph(path, rows, dimensions=self.shape, before=graph))

    def take_graph(self, entry: Mapping[str, Any] | None) -> None:
        """Use the graph of this entry from now on, or none."""
        before = self.described.get("graph")
        self.described = {"dimensions": self.shape}
        self.graph, self.graph_fault = None, ""
        if entry is not None:
            self.described["graph"] = dict(entry)
            self.graph = VectorGraph.open(self._place(entry["name"]), entry, self.shape)
        self._changed |= self.described.get("graph") != before

    def read_further(self, manifest: Mapping[str, Any]) -> None:
        """Open the graph. One that cannot be used changes no answer: all vectors are compared, as without one."""
        entry = manifest.get("graph")
        if entry is None:
            return
        self.described = {"dimensions": self.shape, "graph": entry}
        try:
            self.graph = VectorGraph.open(self._place(entry["name"]), entry, self.shape)
        except (CorpusIndexError, MissingExtra) as error:
            self.graph_fault = str(error)

    def check(self) -> None:
        """Read every file in full; see `SegmentedIndex`. A graph that cannot be read without usearch is not checked."""
        super().check()
        if self.graph is not None:
            self.graph.check(self.folder)
        elif self.graph_fault and find_spec("usearch"):
            raise CorpusIndexError(self.graph_fault)

    @property
    def bytes(self) -> int:
        """Size of the files, the graph among them."""
        return super().bytes + int(self.described.get("graph", {}).get("bytes", 0))

    def _names(self, manifest: Mapping[str, Any]) -> set[str]:
        graph = manifest.get("graph")
        return super()._names(manifest) | ({graph["name"]} if graph else set())

    @classmethod
    def salvage(cls, folder: Path, shape: int, generation: int) -> Self:
        """See `SegmentedIndex`; the graph is dropped, because it may be of damaged vectors."""
        index = super().salvage(folder, shape, generation)
        index.take_graph(None)
        return index

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
        check_size(path, entry["bytes"], "vectors", verb="are")
        try:
            rows = VectorRows.read(np.memmap(path, np.uint8, "r"), self.shape)
        except ValueError as error:
            raise CorpusIndexError(f"{path}: vectors are damaged: {error}") from error
        file = VectorFile.of(rows, {name: entry[name] for name in ("name", "bytes", "checksum")})
        if entry["bytes"] <= CHECKED_WHEN_OPENED:
            file.check(self.folder)
        return file


def removed_rows(file: VectorFile) -> int:
    """Return the number of vectors of removed documents in a file."""
    return len(file.rows.rows_of(file.dead))
