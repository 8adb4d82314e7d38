"""A graph over the vectors of an index: the nearest are found among N in steps that grow with log N.

A hierarchy of small worlds (HNSW: Malkov and Yashunin, IEEE TPAMI 42, 2020, arXiv:1603.09320), by usearch. Its nodes
have the numbers of the documents, which are never given twice, so the graph stays valid while files are merged. It only
proposes: cosines come from the files, removed documents are left out by them, and documents that were added later are
compared one by one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from assay.errors import CorpusIndexError, plain_reason, require
from assay.retrieval.generations import (
    CHECKED_WHEN_OPENED,
    check_content,
    check_size,
    durable_writer,
    size_and_checksum,
)
from assay.retrieval.vector_file import HIGHEST, DocumentIds, VectorRows
from assay.types import Float32Array

if TYPE_CHECKING:
    from usearch.index import Index

GRAPH_FROM = 1 << 20
"""Vectors from which an index gets a graph.

At a million a search by the graph takes three quarters of the time of one by signs, and at 300,000 longer.
"""

LATE_SHARE = 1 / 8
"""Share of the vectors that may be younger than the graph, or removed from it, before it is brought up to date."""

LINKS, WIDTH_OF_BUILDING, WIDTH = 32, 128, 2048
"""Links of a node, nodes looked at when it is linked, and nodes looked at by a search.

A fragment lies far from the whole functions, so a search has to be wide: with 16 links and a width of 1,024 the share
of the 100 nearest that is missed grew from .0001 to .006 between 5,000 and 35,000 vectors.
"""

ROWS_AT_ONCE = 1 << 16
GRAPH = "the graph"
PURPOSE = "the graph of an index of many vectors"


@dataclass(frozen=True, eq=False)
class VectorGraph:
    """A graph in a file, mapped into memory.

    Attributes:
        entry: its entry in a manifest: name, bytes, checksum, vectors, and `last`, the highest number of a document.
        nodes: of usearch.
    """

    entry: Mapping[str, Any]
    nodes: "Index"

    def __len__(self) -> int:
        return int(self.entry["vectors"])

    @property
    def last(self) -> int:
        """Highest number of a document when it was built: documents above it are not in the graph."""
        return int(self.entry["last"])

    @classmethod
    def open(cls, path: Path, entry: Mapping[str, Any], dimensions: int) -> Self:
        """Map a graph, of which a manifest has this entry.

        Raises:
            CorpusIndexError: it is absent, half-written, damaged, or usearch cannot read it.
            MissingExtra: usearch is not installed.
        """
        kept = {name: entry[name] for name in ("name", "bytes", "checksum", "vectors", "last")}
        if any(type(value) is not int or value < 0 for name, value in kept.items() if name != "name"):
            raise CorpusIndexError(f"{path}: damaged: an entry {kept}")
        check_size(path, kept["bytes"], GRAPH)
        if kept["bytes"] <= CHECKED_WHEN_OPENED:
            check_content(path, kept["checksum"], GRAPH)
        # size and checksum come first, because usearch maps the file as it is
        nodes = empty_nodes(dimensions)
        try:
            nodes.view(path)
        except RuntimeError as error:
            raise CorpusIndexError(f"{path}: the graph is damaged: {plain_reason(error)}") from error
        if nodes.ndim != dimensions or len(nodes) != kept["vectors"]:
            raise CorpusIndexError(f"{path}: the graph is damaged: {len(nodes):,} vectors of {nodes.ndim} components")
        return cls(kept, nodes)

    def nearest(self, vector: Float32Array, n: int) -> DocumentIds:
        """Return the documents of about the n nearest vectors, int64 [m]; one document may have several of them."""
        largest = float(np.abs(vector).max(initial=0)) or 1.0
        query = np.rint(vector * (HIGHEST / largest)).astype(np.int8)
        keys = self.nodes.search(query, max(n, 1), threads=1).keys
        return np.asarray(keys[:n]).astype(np.int64)

    def check(self, folder: Path) -> None:
        """Compare the whole file with its checksum.

        Raises:
            CorpusIndexError: it is damaged.
        """
        check_content(folder / str(self.entry["name"]), self.entry["checksum"], GRAPH)


def empty_nodes(dimensions: int) -> "Index":
    """Return a graph without nodes.

    Raises:
        MissingExtra: usearch is not installed.
    """
    require("usearch", purpose=PURPOSE)
    from usearch.index import Index  # noqa: PLC0415  optional

    # without a table of keys a document may have several nodes, and mapping a file need not build that table
    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="i8",
        connectivity=LINKS,
        expansion_add=WIDTH_OF_BUILDING,
        expansion_search=WIDTH,
        enable_key_lookups=False,
    )


def build_graph(
    path: Path, files: Iterable[tuple[VectorRows, DocumentIds]], dimensions: int, before: VectorGraph | None
) -> dict[str, Any]:
    """Write a graph to a new file and return its entry in a manifest.

    Args:
        path: of the new file.
        files: vectors that are not in the graph before, and the removed documents among theirs, ascending.
        dimensions: of a vector.
        before: a graph that is extended; None for none.

    Raises:
        CorpusIndexError: the disk is full, or the file cannot be written.
        MissingExtra: usearch is not installed.
    """
    nodes, last = empty_nodes(dimensions), -1
    if before is not None:
        # into memory, not mapped: it grows, and the file stays that of its generation
        nodes.load(path.parent / str(before.entry["name"]))
        last = before.last
    for rows, dead in files:
        for start in range(0, len(rows), ROWS_AT_ONCE):
            at = slice(start, start + ROWS_AT_ONCE)
            living = ~np.isin(rows.documents[at], dead)
            nodes.add(rows.documents[at][living].astype(np.uint64), rows.values[at][living])
        last = max(last, int(rows.documents.max(initial=-1)))
    with durable_writer(path) as file:
        try:
            nodes.save(file.name)
        except RuntimeError as error:  # usearch knows no other
            raise OSError(plain_reason(error)) from error
    size, checksum = size_and_checksum(path)
    return {"name": path.name, "bytes": size, "checksum": checksum, "vectors": len(nodes), "last": last}
