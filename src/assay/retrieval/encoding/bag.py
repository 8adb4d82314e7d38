"""The built-in encoder: a weighted sum of rows that a text's features hash to, random ones and learned ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from assay.retrieval.encoding.features import HASH_BITS, Features, features
from assay.retrieval.hashing import BASE, mixed
from assay.types import Float32Array

WEIGHT_BITS = 18
SIGN_BITS = 13
TEXTS_AT_ONCE = 512
CHARACTERS_AT_ONCE = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where the parameters of features lie, from different bits of their hashes.

    Attributes:
        starts: int64 [texts + 1], where the features of each text begin.
        signs: int32 [n], their row among the random ones.
        rows: int32 [n], their row among the learned ones.
        weights: int32 [n], their entry among the weights.
    """

    starts: NDArray[np.int64]
    signs: NDArray[np.int32]
    rows: NDArray[np.int32]
    weights: NDArray[np.int32]


def places(found: Features, row_bits: int) -> Places:
    """Where the parameters of these features lie, with 2^row_bits learned rows."""

    def bits(count: int, above: int) -> NDArray[np.int32]:
        return ((found.hashes >> np.uint64(above)) & np.uint64((1 << count) - 1)).astype(np.int32)

    return Places(
        found.starts, bits(SIGN_BITS, row_bits), bits(row_bits, 0), bits(WEIGHT_BITS, HASH_BITS - WEIGHT_BITS)
    )


def sign_rows(dimensions: int) -> Float32Array:
    """The random rows, float32 [2^13, d]: every entry ±1 / √d, by hash, so that nothing of them has to be stored."""
    words = -(-dimensions // 64)
    numbers = np.arange(1, (words << SIGN_BITS) + 1, dtype=np.uint64) * np.uint64(BASE)
    bits = np.unpackbits(mixed(mixed(numbers)).astype("<u8").view(np.uint8)).reshape(1 << SIGN_BITS, -1)
    return (bits[:, :dimensions].astype(np.float32) * 2 - 1) / np.float32(np.sqrt(dimensions))


@dataclass(frozen=True, eq=False)
class BagEncoder:
    """vector(text) = Σ_f u(f) · sign row(f) + w(f) · learned row(f) over its distinct features f, scaled to length 1.

    The first half alone is a random projection: rare features, which no training has seen, stay nearly orthogonal. The
    second half is what training knows of frequent ones.

    A text without any token has the first axis for a vector. The sum runs in the order of the features' hashes, so a
    text has the same vector, bit for bit, alone and in a batch.

    Attributes:
        name: what the user called it.
        digest: of parameters and features.
        learned: float32 [2^b, d].
        sign_weights: float32 [2^18], u.
        learned_weights: float32 [2^18], w.
    """

    name: str
    digest: str
    learned: Float32Array
    sign_weights: Float32Array
    learned_weights: Float32Array

    @property
    def dimensions(self) -> int:
        """d, the length of a vector."""
        return int(self.learned.shape[1])

    @cached_property
    def _table(self) -> Float32Array:
        return np.concatenate([sign_rows(self.dimensions), self.learned])

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """float32 [texts, d], rows of length 1, in the order of `texts`."""
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for start, stop in _portions(texts):
            vectors[start:stop] = self._sums(texts[start:stop])
        vectors[~vectors.any(axis=1), 0] = 1
        norms: Float32Array = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        return vectors / norms

    def _sums(self, texts: Sequence[str]) -> Float32Array:
        at = places(features(texts), len(self.learned).bit_length() - 1)
        columns = np.stack([at.signs, at.rows + (1 << SIGN_BITS)], axis=1).ravel()
        values = np.stack([self.sign_weights[at.weights], self.learned_weights[at.weights]], axis=1).ravel()
        sums: Float32Array = (
            csr_array((values, columns, at.starts * 2), shape=(len(texts), len(self._table))) @ self._table
        )
        return sums


def _portions(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where to cut, so that memory stays bounded; one text is never cut."""
    start = characters = 0
    for at, text in enumerate(texts):
        if at > start and (at - start == TEXTS_AT_ONCE or characters + len(text) > CHARACTERS_AT_ONCE):
            yield start, at
            start, characters = at, 0
        characters += len(text)
    if len(texts) > start:
        yield start, len(texts)
