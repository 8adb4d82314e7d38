"""The generator of a text: a linear model of several classes that may answer "unknown generator"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from assay.authorship.heads import Arrays
from assay.authorship.normalising import Code
from assay.authorship.open_set import ALPHA, Attribution, OpenSet
from assay.authorship.style import FAMILIES, feature_table
from assay.authorship.wording import ngram_matrix
from assay.types import Float64Array

_FAMILIES = tuple(name for name in FAMILIES if name != "documentation")


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorModel:
    """A fitted model of several classes.

    Attributes:
        weights: float64 [classes, columns].
        biases: float64 [classes].
        centres: float64 [style columns], means of the hand-made features.
        scales: float64 [style columns], their standard deviations.
        calibration: by held-out texts.
        left_out: classes that were too small.
        accuracy: share of the held-out texts whose most probable class is the right one.
    """

    weights: Float64Array
    biases: Float64Array
    centres: Float64Array
    scales: Float64Array
    calibration: OpenSet
    left_out: tuple[str, ...]
    accuracy: float

    @property
    def classes(self) -> tuple[str, ...]:
        """The names."""
        return self.calibration.classes

    def attribute(self, codes: Sequence[Code], *, alpha: float = ALPHA) -> Attribution:
        """Return the class of each text, or "unknown generator" at level alpha."""
        return self.calibration.attribute(self._logits(features_of(codes, self.centres, self.scales)), alpha=alpha)

    def arrays(self) -> Arrays:
        """Return the four arrays that `restored` needs beside `content`."""
        return {name: getattr(self, name) for name in ("weights", "biases", "centres", "scales")}

    def content(self) -> dict[str, Any]:
        """Return all other fields, for JSON."""
        return {
            "calibration": self.calibration.content(),
            "left_out": list(self.left_out),
            "accuracy": self.accuracy,
        }

    @classmethod
    def restored(cls, content: Mapping[str, Any], arrays: Arrays) -> Self:
        """Return the model of `content` and `arrays`.

        Raises:
            KeyError: a field is missing.
            TypeError: a field is of another type, or an array is missing.
            ValueError: a field cannot be read, or the fields do not fit together.
        """
        result = cls(
            **arrays,
            calibration=OpenSet.restored(content["calibration"]),
            left_out=tuple(content["left_out"]),
            accuracy=float(content["accuracy"]),
        )
        shapes = [array.shape for array in (result.weights, result.biases, result.centres, result.scales)]
        classes, features = len(result.classes), result.centres.size
        expected = [(classes, result.weights.shape[-1]), (classes,), (features,), (features,)]
        if shapes != expected or not (result.scales > 0).all():
            raise ValueError(f"{classes} generators with arrays of {', '.join(map(str, shapes))}")
        return result

    def _logits(self, matrix: sparse.csr_matrix) -> Float64Array:
        return np.asarray(matrix @ self.weights.T, np.float64) + self.biases


def style_of(codes: Sequence[Code]) -> Float64Array:
    """Return the hand-made features of texts, float64 [n, style columns], NaN where one has no value."""
    return np.hstack([feature_table(codes, family) for family in _FAMILIES])


def features_of(codes: Sequence[Code], centres: Float64Array, scales: Float64Array) -> sparse.csr_matrix:
    """Return the n-grams of texts beside their standardised style, float64 [n, columns], sparse."""
    # style is divided by the root of its width, so that it weighs as much as the n-grams, whose rows have length 1
    scaled = np.clip((style_of(codes) - centres) / scales, -3, 3)
    dense = np.where(np.isnan(scaled), 0.0, scaled) / np.sqrt(scaled.shape[1])
    return sparse.csr_matrix(sparse.hstack([ngram_matrix(codes), sparse.csr_matrix(dense)]))
