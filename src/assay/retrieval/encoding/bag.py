"""The built-in encoder: a weighted sum of the random and the learned rows that the features of a text hash to."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models import portions
from assay.retrieval.compiled import compiled
from assay.retrieval.encoding.features import HASH_BITS, Features, hashed_features
from assay.retrieval.hashing import BASE, mix
from assay.types import Float32Array

WEIGHT_BITS = 18
SIGN_BITS = 13
TEXTS_AT_ONCE = 512
CHARACTERS_AT_ONCE = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class ParameterIndices:
    """Indices of the parameters of features, from different bits of their hashes.

    Attributes:
        starts: int64 [texts + 1], start of the features of each text.
        signs: int32 [n], random row of each feature.
        rows: int32 [n], learned row of each feature.
        weights: int32 [n], weight of each feature.
    """

    starts: NDArray[np.int64]
    signs: NDArray[np.int32]
    rows: NDArray[np.int32]
    weights: NDArray[np.int32]


def parameter_indices(hashed: Features, row_bits: int) -> ParameterIndices:
    """Return the indices of the parameters of these features, with 2^row_bits learned rows."""

    # the bits of a good hash are independent, so parts of one hash serve as three different hash functions
    def bits(count: int, above: int) -> NDArray[np.int32]:
        return ((hashed.hashes >> np.uint64(above)) & np.uint64((1 << count) - 1)).astype(np.int32)

    return ParameterIndices(
        starts=hashed.starts,
        signs=bits(SIGN_BITS, row_bits),
        rows=bits(row_bits, 0),
        weights=bits(WEIGHT_BITS, HASH_BITS - WEIGHT_BITS),
    )


def sign_rows(dimensions: int) -> Float32Array:
    """Return the random rows, float32 [2^13, d]: entries ±1 / √d from hashes, so that they need not be stored."""
    words = -(-dimensions // 64)
    numbers = np.arange(1, (words << SIGN_BITS) + 1, dtype=np.uint64) * np.uint64(BASE)
    # each number is mixed to 64 random signs: the rows are the same on every machine, and take no place in the file
    bits = np.unpackbits(mix(mix(numbers)).astype("<u8").view(np.uint8)).reshape(1 << SIGN_BITS, -1)
    return (bits[:, :dimensions].astype(np.float32) * 2 - 1) / np.float32(np.sqrt(dimensions))


@dataclass(frozen=True, eq=False)
class BagEncoder:
    """vector(text) = Σ_f u(f) · sign row(f) + w(f) · learned row(f) over its distinct features f, scaled to length 1.

    The first term alone is a random projection: rare features, absent from the training set, stay nearly orthogonal.
    The second term has learned vectors of frequent features.

    The vector of a text without any token is the first axis. The sum runs in the order of the hashes of the features,
    so the vector of a text is the same, bit for bit, alone and in a batch.

    Attributes:
        name: what the user called it.
        digest: of the parameters and the version of the features.
        learned: float32 [2^b, d], or int8 that `scales` multiply.
        sign_weights: float32 [2^18], u.
        learned_weights: float32 [2^18], w.
        scales: float32 [2^b] of the learned rows; None where these are float32.
    """

    name: str
    digest: str
    learned: Float32Array | NDArray[np.int8]
    sign_weights: Float32Array
    learned_weights: Float32Array
    scales: Float32Array | None = None

    @property
    def dimensions(self) -> int:
        """d, the length of a vector."""
        return int(self.learned.shape[1])

    @cached_property
    def _signs(self) -> NDArray[np.int8]:
        return (sign_rows(self.dimensions) > 0).astype(np.int8) * np.int8(2) - np.int8(1)

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Return float32 [texts, d], rows of length 1, in the order of `texts`."""
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for portion in portions(texts, characters=CHARACTERS_AT_ONCE, most=TEXTS_AT_ONCE):
            vectors[portion] = self._sums(texts[portion])
        vectors[~vectors.any(axis=1), 0] = 1
        norms: Float32Array = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        return vectors / norms

    def _sums(self, texts: Sequence[str]) -> Float32Array:
        at = parameter_indices(hashed_features(texts), len(self.learned).bit_length() - 1)
        # the scale of a row goes into its weight, so rows of eight bits are read as they are, a quarter of the memory
        learned_weights = self.learned_weights[at.weights]
        if self.scales is not None:
            learned_weights *= self.scales[at.rows]
        sign_weights = self.sign_weights[at.weights] * np.float32(self.dimensions**-0.5)
        sums = np.zeros((len(texts), self.dimensions), np.float32)
        _add_rows(sums, at.starts, at.signs, sign_weights, self._signs)
        _add_rows(sums, at.starts, at.rows, learned_weights, self.learned)
        return sums


@compiled
def _add_rows(
    sums: Float32Array, starts: NDArray[np.int64], rows: NDArray[np.int32], weights: Float32Array, table: NDArray[Any]
) -> None:
    """Add weight · row of each feature to the sum of its text; in the order of the features, so sums do not vary."""
    for text in range(len(sums)):
        for at in range(starts[text], starts[text + 1]):
            weight, row = weights[at], table[rows[at]]
            for column in range(sums.shape[1]):
                sums[text, column] += weight * np.float32(row[column])
