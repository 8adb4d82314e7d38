"""Vectors in one array: eight bits a component, and the signs of the components, which a search reads first.

A search multiplies the signs of all vectors with the query, which tells their cosines roughly (asymmetric sign codes:
Dong, Charikar, Li 2008), and computes the cosines of the nearest alone. Nothing has to be built, and files merge by
copying.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.compiled import compiled
from assay.types import BooleanArray, Float32Array, Int64Array

DocumentIds = NDArray[np.int64]
"""Numbers of documents in an index."""

LEAST_COMPARED = 1 << 15
"""Vectors whose cosines are computed in any case; a file of as many is searched exactly."""

COMPARED_SHARE = 1 / 16
"""Share of the vectors of a larger file whose cosines are computed: of the nearest 100 then 99 % are among them."""

ROWS_AT_ONCE = 1 << 14
WORD_BITS = 64
HIGHEST = 127
"""Largest component in eight bits."""

STEPS = 7
"""Largest component of a query that is multiplied with signs; it and its negative fit into four bits."""

_FIELDS = (("documents", "<i8"), ("scales", "<f4"), ("signs", "<u8"), ("values", "i1"))


@dataclass(frozen=True, slots=True, eq=False)
class VectorRows:
    """Vectors of documents, one or several of each.

    Attributes:
        documents: int64 [n], ascending; the rows of one document lie together.
        scales: float32 [n], 1 / length of the row of `values`.
        signs: uint64 [n, ⌈d / 64⌉], bit b of word w is set where component 64 w + b is positive.
        values: int8 [n, d], direction of each vector.
    """

    documents: DocumentIds
    scales: Float32Array
    signs: NDArray[np.uint64]
    values: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.documents)

    @classmethod
    def of(cls, documents: DocumentIds, vectors: Float32Array) -> Self:
        """Round vectors, float32 [n, d], to eight bits a component. The documents need not be in order."""
        order = np.argsort(documents, kind="stable")
        vectors = vectors[order]
        # the largest component becomes 127, so that no vector loses precision because of its length
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        values = np.rint(vectors * (HIGHEST / np.where(largest > 0, largest, 1))).astype(np.int8)
        lengths = np.sqrt((values.astype(np.float32) ** 2).sum(axis=1))
        scales = (1 / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return cls(documents[order], scales, signs=_packed_signs(values > 0), values=values)

    @classmethod
    def read(cls, content: NDArray[np.uint8], dimensions: int) -> Self:
        """Return the vectors that `parts` wrote, as views of the content.

        Raises:
            ValueError: the size is not that of whole vectors, or the documents are not in order.
        """
        # nothing is stored but rows of a fixed size, field after field: their number follows from the size of the file
        count, rest = divmod(len(content), row_bytes(dimensions))
        if rest:
            raise ValueError(f"{len(content):,} bytes are not whole vectors of {dimensions} components")
        widths = (1, 1, _words(dimensions), dimensions)
        arrays, start = [], 0
        for (field, kind), width in zip(_FIELDS, widths, strict=True):
            stop = start + count * width * np.dtype(kind).itemsize
            array = content[start:stop].view(kind)
            arrays.append(array if field in {"documents", "scales"} else array.reshape(count, width))
            start = stop
        rows = cls(*arrays)
        if (np.diff(rows.documents) < 0).any():
            raise ValueError("the documents are not in ascending order")
        if not (np.isfinite(rows.scales) & (rows.scales > 0)).all():
            raise ValueError("a length that is not a positive number")
        return rows

    def distinct(self) -> DocumentIds:
        """Return each document once, ascending."""
        return np.asarray(self.documents[np.diff(self.documents, prepend=-1) != 0])

    def nearest(self, vector: Float32Array, n: int, dead: DocumentIds) -> tuple[DocumentIds, Float32Array]:
        """Return the nearest vectors of documents that are not dead, and their cosines.

        Args:
            vector: float32 [d].
            n: number of vectors.
            dead: documents to leave out, ascending.

        Returns:
            Documents, int64 [m], in any order, at least the n nearest of those compared, and cosines, float32 [m]; a
            document appears as often as it has a vector among them.
        """
        living = ~np.isin(self.documents, dead)
        compared = max(LEAST_COMPARED, int(len(self) * COMPARED_SHARE), n)
        # Two stages: one bit a component ranks all vectors, an eighth of what the values would be to read, and the
        # cosine is computed for the best of them alone. The signs keep the angle well enough that few neighbours are
        # lost.
        if living.sum() > compared:
            products = sign_products(self.signs, _bit_planes(vector))
            products[~living] = np.iinfo(np.int32).min
            living &= products >= np.partition(products, -compared)[-compared]
        return self.cosines(vector, np.flatnonzero(living))

    def cosines(self, vector: Float32Array, rows: Int64Array) -> tuple[DocumentIds, Float32Array]:
        """Return the documents of some rows, int64 [m], and the cosines of their vectors, float32 [m]."""
        query, scale = _rounded_query(vector)
        cosines = (dot_products(self.values, rows, query) * (self.scales[rows] * scale)).astype(np.float32)
        return self.documents[rows], cosines

    def rows_of(self, documents: DocumentIds) -> Int64Array:
        """Return the rows of some documents, int64 [m]; of absent ones none."""
        first = np.searchsorted(self.documents, documents, "left")
        counts = np.searchsorted(self.documents, documents, "right") - first
        # the rows of a document lie together: its first, as often as it has rows, plus 0, 1, 2 …
        starts = np.cumsum(counts) - counts
        return np.repeat(first - starts, counts) + np.arange(counts.sum())

    def after(self, document: int) -> "VectorRows":
        """Return the vectors of the documents above a number."""
        rows = slice(int(np.searchsorted(self.documents, document, "right")), None)
        return VectorRows(self.documents[rows], self.scales[rows], signs=self.signs[rows], values=self.values[rows])


def row_bytes(dimensions: int) -> int:
    """Return the bytes of one vector in a file."""
    return 8 + 4 + 8 * _words(dimensions) + dimensions


def parts(files: Sequence[VectorRows], kept: Sequence[BooleanArray]) -> Iterator[bytes]:
    """Yield the content of a file with the kept rows of several files, in portions of bounded size.

    Args:
        files: with different documents.
        kept: bool [n] for each file, rows to write.
    """
    # the order of all rows is decided first, from the numbers of the documents alone; then each field is written from
    # front to back, a portion at a time, so the vectors are never in memory together
    chosen = [np.flatnonzero(rows) for rows in kept]
    source = np.repeat(np.arange(len(files)), [len(rows) for rows in chosen])
    row = np.concatenate([np.zeros(0, np.int64), *chosen])
    documents = np.concatenate(
        [np.zeros(0, np.int64), *(file.documents[rows] for file, rows in zip(files, chosen, strict=True))]
    )
    order = np.argsort(documents, kind="stable")
    source, row = source[order], row[order]
    for field, kind in _FIELDS:
        for start in range(0, len(order), ROWS_AT_ONCE):
            at = slice(start, start + ROWS_AT_ONCE)
            shape = getattr(files[0], field).shape[1:]
            portion = np.empty((len(row[at]), *shape), kind)
            for number, file in enumerate(files):
                mine = source[at] == number
                portion[mine] = getattr(file, field)[row[at][mine]]
            yield portion.tobytes()


@compiled
def sign_products(signs: NDArray[np.uint64], planes: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the sum of the query's components where a vector is positive, int32 [n].

    Its double, less the sum of all components, is the product of the query with the signs.

    Args:
        signs: uint64 [n, w].
        planes: uint64 [4, w], bit p of each component of the query, to which `STEPS` was added.
    """
    products = np.empty(len(signs), np.int32)
    for row in range(len(signs)):
        total = np.int32(0)
        for word in range(planes.shape[1]):
            # 64 components at a time: a component of four bits is the sum of its bits times 1, 2, 4 and 8, so the
            # sum where the vector is positive needs four counts of bits; STEPS, which was added, is taken back
            bits = signs[row, word]
            total -= STEPS * _ones(bits)
            for plane in range(4):
                total += _ones(bits & planes[plane, word]) << plane
        products[row] = total
    return products


@compiled
def _ones(bits: np.uint64) -> np.int32:
    """Return the number of bits that are set: counted in pairs, fours and bytes at once (Knuth, TAOCP 4A, 7.1.3)."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int32((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def dot_products(values: NDArray[np.int8], rows: Int64Array, query: NDArray[np.int16]) -> NDArray[np.int32]:
    """Return the product of each chosen row with the query, int32 [m]; whole numbers, so no order of sums matters.

    Args:
        values: int8 [n, d].
        rows: int64 [m].
        query: int16 [d], so small that no sum exceeds 32 bits.
    """
    products = np.empty(len(rows), np.int32)
    for at in range(len(rows)):
        total = np.int32(0)
        row = values[rows[at]]
        for column in range(len(query)):
            total += np.int32(row[column]) * np.int32(query[column])
        products[at] = total
    return products


def _rounded_query(vector: Float32Array) -> tuple[NDArray[np.int16], np.float32]:
    """Return the direction of a vector as whole numbers, and 1 / their length."""
    # as precise as 16 bits allow, unless a sum of that many products could exceed 32 bits
    highest = min(2**15 - 1, (2**31 - 1) // (HIGHEST * vector.size))
    largest = float(np.abs(vector).max(initial=0)) or 1.0
    rounded = np.rint(vector * (highest / largest)).astype(np.int16)
    length = float(np.linalg.norm(rounded.astype(np.float64))) or 1.0
    return rounded, np.float32(1 / length)


def _bit_planes(vector: Float32Array) -> NDArray[np.uint64]:
    """Return the bits of the query's components in steps of a seventh of the largest, uint64 [4, w]."""
    largest = float(np.abs(vector).max(initial=0)) or 1.0
    # -7 … 7 becomes 0 … 14, four bits without a sign, because a count of bits cannot be negative
    steps = (np.rint(vector * (STEPS / largest)) + STEPS).astype(np.uint8)
    return np.concatenate([_packed_signs((steps[None] >> plane) & 1 > 0) for plane in range(4)])


def _packed_signs(positive: BooleanArray) -> NDArray[np.uint64]:
    count, dimensions = positive.shape
    bits = np.zeros((count, _words(dimensions) * WORD_BITS), np.bool_)
    # the bits behind the last component are 0 in vectors and queries, so they add nothing to a product
    bits[:, :dimensions] = positive
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _words(dimensions: int) -> int:
    return -(-dimensions // WORD_BITS)
