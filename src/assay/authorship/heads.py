"""Fitted heads: each turns one kind of evidence into a margin, positive where it looks machine-written.

A head is a few arrays, so that it can be stored without pickles.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from scipy import sparse

from assay.types import BooleanArray, Float64Array

Arrays = dict[str, NDArray[Any]]

CLIP = 3.0
"""Standard deviations at which a feature stops to count further: a single odd value cannot decide."""

LARGEST = 1e18
"""Bound on the numbers in a stored classifier: beyond it sums overflow, and no fitted number comes near."""


class EvidenceHead(ABC):
    """A fitted head: a frozen dataclass of arrays."""

    @abstractmethod
    def margins(self, features: Any) -> Float64Array:  # noqa: ANN401  a dense table or a sparse matrix
        """Return float64 [n], higher = machine-written."""

    def arrays(self) -> Arrays:
        """Return all that `restore` needs."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]  # a dataclass


@dataclass(frozen=True, slots=True, eq=False)
class LinearHead(EvidenceHead):
    """A logistic model on standardised features; a feature without a value counts as average.

    Attributes:
        means: float64 [columns].
        scales: float64 [columns], standard deviations.
        weights: float64 [columns].
        bias: float64 [1].
    """

    means: Float64Array
    scales: Float64Array
    weights: Float64Array
    bias: Float64Array

    def __post_init__(self) -> None:
        """Check that the arrays fit together.

        Raises:
            ValueError: they do not, or a scale is not above 0.
        """
        _check_shapes(self.bias, self.means, self.scales, self.weights)
        if not (self.scales > 0).all():
            raise ValueError("scales that are not above 0")

    def margins(self, features: Float64Array) -> Float64Array:
        """Return the log-odds, float64 [n]."""
        scaled = standardised_table(features, self.means, self.scales)
        return np.asarray(scaled @ self.weights + self.bias[0], np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class SparseHead(EvidenceHead):
    """A logistic model on hashed n-grams.

    Attributes:
        weights: float32 [columns].
        bias: float64 [1].
    """

    weights: NDArray[np.float32]
    bias: Float64Array

    def __post_init__(self) -> None:
        """Check that the arrays fit together.

        Raises:
            ValueError: they do not.
        """
        # the file may come from anyone: nothing is computed with arrays that do not fit
        _check_shapes(self.bias, self.weights)

    def margins(self, features: sparse.csr_matrix) -> Float64Array:
        """Return the log-odds, float64 [n]."""
        return np.asarray(features @ self.weights + self.bias[0], np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class TreeHead(EvidenceHead):
    """Boosted trees, all nodes of all trees in one row each.

    Attributes:
        roots: int64 [trees], row of each root.
        columns: int64 [nodes], feature that a node compares.
        thresholds: float64 [nodes], a value at most this goes left.
        left: int64 [nodes], row of the left child; the node itself where it is a leaf.
        right: int64 [nodes].
        missing_left: bool [nodes], a text without the feature goes left.
        values: float64 [nodes], of leaves; 0 elsewhere.
        baseline: float64 [1], added to every sum.
    """

    roots: NDArray[np.int64]
    columns: NDArray[np.int64]
    thresholds: Float64Array
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    missing_left: BooleanArray
    values: Float64Array
    baseline: Float64Array

    def __post_init__(self) -> None:
        """Check that every path ends.

        Raises:
            ValueError: an array is of another length, or a child is not a row behind its parent.
        """
        nodes = {name: array for name, array in self.arrays().items() if name not in ("roots", "baseline")}
        _check_shapes(self.baseline, *nodes.values())
        _check_shapes(self.baseline, self.roots)
        own = np.arange(len(self.left))
        leaf = self.left == own
        # each child lies behind its parent, so no forged file can make the walk run in a circle
        children = np.where(leaf, own + 1, np.minimum(self.left, self.right))
        if (
            not (leaf == (self.right == own)).all()
            or not (children > own).all()
            or not all(((rows >= 0) & (rows < len(own))).all() for rows in (self.roots, self.left, self.right))
        ):
            raise ValueError("trees whose nodes do not fit together")

    def margins(self, features: Float64Array) -> Float64Array:
        """Return the log-odds, float64 [n].

        Raises:
            ValueError: a node compares a feature that the table does not have.
        """
        if self.columns.max() >= features.shape[1]:
            raise ValueError(f"trees of {self.columns.max() + 1} features, expected at most {features.shape[1]}")
        total = np.full(len(features), self.baseline[0])
        # all texts walk down a tree together: a leaf leads to itself, so the walk ends when no text moves
        rows = np.arange(len(features))
        for root in self.roots.tolist():
            at = np.full(len(features), root)
            while (self.left[at] != at).any():
                value = features[rows, self.columns[at]]
                goes_left = np.where(np.isnan(value), self.missing_left[at], value <= self.thresholds[at])
                at = np.where(goes_left, self.left[at], self.right[at])
            total += self.values[at]
        return total


KINDS: Mapping[str, type[EvidenceHead]] = {"linear": LinearHead, "sparse": SparseHead, "trees": TreeHead}
"""Kinds of heads by name."""


def restore(kind: str, arrays: Mapping[str, NDArray[Any]]) -> EvidenceHead:
    """Return the head of these arrays.

    Raises:
        TypeError: an array is missing or is none of this kind.
        ValueError: the arrays do not fit together.
    """
    return KINDS[kind](**arrays)


def read_arrays(path: Path) -> Arrays:
    """Return the arrays of a safetensors file.

    Raises:
        OSError: the file cannot be read.
        SafetensorError: it is not a safetensors file.
        ValueError: an array has a value that no fitted classifier has; thresholds of trees may be infinite.
    """
    arrays: Arrays = load_file(path)
    for name, array in arrays.items():
        bounded = array[array != np.inf] if name.endswith("thresholds") else array
        if not (np.abs(bounded.astype(np.float64)) < LARGEST).all():
            raise ValueError(f"{name} has a value that is no finite number below {LARGEST:g}")
    return arrays


def _check_shapes(single: NDArray[Any], *columns: NDArray[Any]) -> None:
    if single.shape != (1,) or any(array.shape != (columns[0].size,) for array in columns):
        raise ValueError(f"arrays of {', '.join(str(array.shape) for array in columns)} that do not fit together")


def standardised_table(table: Float64Array, means: Float64Array, scales: Float64Array) -> Float64Array:
    """Return features in standard deviations from their means, within ± `CLIP`; a missing one is average."""
    scaled = np.clip((table - means) / scales, -CLIP, CLIP)
    return np.where(np.isnan(scaled), 0.0, scaled)
