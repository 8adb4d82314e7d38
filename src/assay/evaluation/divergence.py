"""Kernel divergence between two sets of embeddings of the same samples (Choi et al. 2025, Eqs. 2 to 6).

All pairs are visited in blocks, so that memory is O(n d + block²): no n × n matrix is made. Embeddings may be
memory-mapped. Arithmetic is in float64, since fine-tuning changes distances by a thousandth.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.types import Float32Array, Float64Array

Kernel = Literal["rbf", "euclidean", "cosine", "dot"]
Embeddings = Float32Array | Float64Array
BLOCK = 1024
"""Rows of a block: three blocks of distances take 25 MB."""
EXACT_MEDIAN = 6000
"""Samples up to which the median distance is exact; beyond, it is that of so many drawn samples."""


SAME = 1e-5
"""Median distance of normalised embeddings below which they count as the same: rounding makes equal ones differ."""


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """How two samples are compared.

    Attributes:
        kernel: "rbf"; or one of the paper's ablations: "euclidean" distance, "cosine" similarity + 1, or the "dot"
            product of the embeddings as they are, whose matrices are compared by their mean squared difference.
        gamma: of the rbf kernel; None for 1 / the median distance of two samples.
        per_side: take that median on each side, as the published code does; else that of the first side on both.
        gating: weight pairs by their first similarity; without it the score is the mean change of squared distance.
    """

    kernel: Kernel = "rbf"
    gamma: float | None = None
    per_side: bool = False
    gating: bool = True


@dataclass(frozen=True, slots=True)
class Displacement:
    """Change of L2-normalised embeddings.

    Attributes:
        spread: root mean square of the change after the mean change was taken off.
        median: of the length of the change; normalised embeddings have length 1.
    """

    spread: float
    median: float


def kernel_divergence(
    before: Embeddings, after: Embeddings, settings: KernelSettings = KernelSettings(), *, seed: int = 0
) -> float:
    """Return -(1/E) Σ_ij |Φ_ij ln(Φ_ij / Φ'_ij)| with E = sqrt(Σ_ij Φ_ij); higher = more contaminated.

    Args:
        before: [n, d].
        after: [n, d], of the same samples after fine-tuning.
        settings: of the kernel.
        seed: of the samples that stand for all in the median distance of a large set.

    Raises:
        DataError: fewer than two samples, another shape, NaN or zero embeddings, or all embeddings are the same.
    """
    check_embeddings(before, after)
    first, second = gammas(before, after, settings, seed=seed)
    change = total = 0.0
    for pair in pairs(before, after, normalised=settings.kernel != "dot"):
        if not settings.gating or settings.kernel == "dot":
            change += pair.weight * float(pair.change_without_gate(settings.kernel).sum())
            continue
        gate, divergence = pair.gated(settings.kernel, first, second)
        change += pair.weight * float(divergence.sum())
        total += pair.weight * float(gate.sum())
    if not settings.gating or settings.kernel == "dot":
        return -change / len(before) ** 2
    return -change / math.sqrt(total)


def mean_kernel(before: Embeddings, settings: KernelSettings = KernelSettings(), *, seed: int = 0) -> float:
    """Return the mean entry of the kernel matrix before fine-tuning: the ablation without it."""
    check_embeddings(before, before)
    gamma, _ = gammas(before, before, settings, seed=seed)
    total = 0.0
    for pair in pairs(before, before, normalised=settings.kernel != "dot"):
        entries = pair.products if settings.kernel == "dot" else pair.gated(settings.kernel, gamma, gamma)[0]
        total += pair.weight * float(entries.sum())
    return total / len(before) ** 2


def displacement(before: Embeddings, after: Embeddings) -> Displacement:
    """Return how far fine-tuning moves normalised embeddings.

    Raises:
        DataError: see `kernel_divergence`.
    """
    check_embeddings(before, after)
    starts = range(0, len(before), BLOCK)
    mean = np.zeros(before.shape[1])
    squares, lengths = 0.0, []
    for start in starts:
        rows = slice(start, start + BLOCK)
        moved = unit(after[rows]) - unit(before[rows])
        mean += moved.sum(axis=0)
        lengths.append(np.sqrt((moved**2).sum(axis=1)))
        squares += float((moved**2).sum())
    # the mean square minus the square of the mean, so that one pass over the rows is enough
    spread = squares / len(before) - float(((mean / len(before)) ** 2).sum())
    return Displacement(float(np.sqrt(max(0.0, spread))), float(np.median(np.concatenate(lengths))))


@dataclass(frozen=True, slots=True, eq=False)
class PairBlock:
    """A rectangle of the pairs of samples.

    Attributes:
        products: dot products before fine-tuning, [a, b].
        later: after fine-tuning.
        same: rows and columns are the same samples.
    """

    products: Float64Array
    later: Float64Array
    same: bool

    @property
    def weight(self) -> int:
        """How often the rectangle stands in the symmetric matrix."""
        return 1 if self.same else 2

    def distances(self) -> tuple[Float64Array, Float64Array]:
        """Return squared distances of normalised embeddings before and after; exactly 0 on the diagonal."""
        # |a - b|² = 2 - 2 a·b of vectors of length 1, which rounding can bring below 0
        both = tuple(np.maximum(2 - 2 * products, 0) for products in (self.products, self.later))
        if self.same:
            for matrix in both:
                np.fill_diagonal(matrix, 0)
        return both[0], both[1]

    def gated(self, kernel: Kernel, first: float, second: float) -> tuple[Float64Array, Float64Array]:
        """Return Φ and |Φ ln(Φ / Φ')|; entries of 0 add nothing."""
        if kernel == "rbf":
            near, far = self.distances()
            gate = np.exp(-first * near)
            # ln Φ - ln Φ' of two rbf kernels is a difference of exponents: nothing is divided by a number near 0
            return gate, gate * np.abs(second * far - first * near)
        if kernel == "cosine":
            gate, later = np.clip(self.products + 1, 0, 2), np.clip(self.later + 1, 0, 2)
        else:
            gate, later = (np.sqrt(matrix) for matrix in self.distances())
        positive = (gate > 0) & (later > 0)
        ratio = np.divide(gate, later, out=np.ones_like(gate), where=positive)
        return gate, gate * np.abs(np.log(ratio))

    def change_without_gate(self, kernel: Kernel) -> Float64Array:
        """Return the squared difference of dot products, or the absolute change of the squared distance."""
        if kernel == "dot":
            squared: Float64Array = (self.products - self.later) ** 2
            return squared
        near, far = self.distances()
        return np.abs(far - near)


def pairs(before: Embeddings, after: Embeddings, *, normalised: bool) -> Iterator[PairBlock]:
    """Yield the upper triangle of blocks of all pairs."""
    rows = unit if normalised else plain
    # the matrix is symmetric: blocks above the diagonal count twice, see `weight`
    for start in range(0, len(before), BLOCK):
        first, second = rows(before[start : start + BLOCK]), rows(after[start : start + BLOCK])
        for other in range(start, len(before), BLOCK):
            if other == start:
                yield PairBlock(first @ first.T, second @ second.T, same=True)
                continue
            columns = slice(other, other + BLOCK)
            yield PairBlock(first @ rows(before[columns]).T, second @ rows(after[columns]).T, same=False)


def gammas(before: Embeddings, after: Embeddings, settings: KernelSettings, seed: int) -> tuple[float, float]:
    """Return γ of both sides; 1 where the kernel has none.

    Raises:
        DataError: the median distance is 0.
    """
    if settings.kernel != "rbf":
        return 1.0, 1.0
    if settings.gamma is not None:
        return settings.gamma, settings.gamma
    first = 1 / median_distance(before, seed)
    return first, 1 / median_distance(after, seed) if settings.per_side else first


def median_distance(embeddings: Embeddings, seed: int = 0) -> float:
    """Return the median distance of two different samples, normalised.

    Raises:
        DataError: it is 0 but for rounding, as most embeddings are the same.
    """
    rows = embeddings
    if len(rows) > EXACT_MEDIAN:
        # sorted, as the rows may be memory-mapped
        rows = rows[np.sort(np.random.default_rng(seed).choice(len(rows), EXACT_MEDIAN, replace=False))]
    vectors = unit(rows)
    parts = []
    for start in range(0, len(vectors), BLOCK):
        squared = squared_distances(vectors[start : start + BLOCK], vectors)
        # each pair once, and none of a sample with itself
        above = np.arange(len(vectors))[None] > np.arange(start, start + len(squared))[:, None]
        parts.append(np.sqrt(squared[above]))
    median = float(np.median(np.concatenate(parts)))
    if median < SAME:
        raise DataError("at least half of the pairs of embeddings are the same; expected embeddings that differ")
    return median


def squared_distances(first: Float64Array, second: Float64Array) -> Float64Array:
    """Return |a - b|² of rows of length 1, [a, b]."""
    squared: Float64Array = np.maximum(2 - 2 * first @ second.T, 0)
    if first is second:
        np.fill_diagonal(squared, 0)
    return squared


def unit(rows: Embeddings) -> Float64Array:
    """Return rows of length 1, in float64."""
    vectors = plain(rows)
    scaled: Float64Array = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return scaled


def plain(rows: Embeddings) -> Float64Array:
    """Return the rows as they are, in float64."""
    return np.asarray(rows, np.float64)


def check_embeddings(before: Embeddings, after: Embeddings) -> None:
    """Check two sets of embeddings.

    Raises:
        DataError: fewer than two samples, shapes that differ, a value that is not finite, or a vector of zeros.
    """
    if before.ndim != 2 or before.shape != after.shape:  # noqa: PLR2004  rows of vectors
        raise DataError(f"embeddings of shapes {before.shape} and {after.shape}; expected two of one shape [n, d]")
    if len(before) < 2:  # noqa: PLR2004  a pair
        raise DataError(f"{len(before)} samples; a kernel divergence needs at least 2")
    for rows, when in ((before, "before"), (after, "after")):
        bad = broken(rows)
        if bad.any():
            raise DataError(
                f"the embedding of sample {int(np.flatnonzero(bad)[0])} {when} fine-tuning is NaN, infinite or zero; "
                "expected finite vectors"
            )


def broken(rows: Embeddings) -> NDArray[np.bool_]:
    """Return which rows are not finite, or zero."""
    parts = (plain(rows[start : start + BLOCK]) for start in range(0, len(rows), BLOCK))
    return np.concatenate([~np.isfinite(part).all(axis=1) | ~part.any(axis=1) for part in parts])
