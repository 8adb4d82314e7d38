"""The generator of a text: a linear model of several classes that may answer "unknown generator"."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from assay.authorship.heads import Arrays, column_moments
from assay.authorship.labelled import LabelledCode
from assay.authorship.normalising import Code
from assay.authorship.open_set import ALPHA, Attribution, OpenSet
from assay.authorship.style import FAMILIES, feature_table
from assay.authorship.wording import ngram_matrix
from assay.errors import DataError
from assay.types import Float64Array, Int64Array

FEWEST = 20
"""Texts of a class; smaller ones are left out and stay unknown."""

HELD_OUT = 0.25
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
        return self.calibration.attribute(self._logits(_features(codes, self.centres, self.scales)), alpha=alpha)

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


def fit_generators(labelled: LabelledCode, *, seed: int = 0) -> GeneratorModel:
    """Return a model of the generators with at least `FEWEST` texts, and of people.

    A quarter of the groups is held out for the temperature and the p-values.

    Raises:
        DataError: fewer than two classes are large enough, in either part of the split.
    """
    names = labelled.generators
    counts = Counter(names)
    kept = {name for name, count in counts.items() if count >= FEWEST}
    parts = labelled.parted({"fitted": 1 - HELD_OUT, "calibrating": HELD_OUT}, seed=seed)
    fitted_rows, held_rows = parts["fitted"], parts["calibrating"]
    classes = tuple(
        sorted(
            name for name in kept if any(names[row] == name for row in fitted_rows) and _count(names, name, held_rows)
        )
    )
    if len(classes) < 2:  # noqa: PLR2004  one class needs no classifier
        raise DataError(f"{len(classes)} classes with at least {FEWEST} texts, expected two or more")
    fitted = np.array([row for row in fitted_rows if names[row] in classes])
    left_rows = np.array([row for row in held_rows if names[row] in classes])
    style = _style([labelled.codes[row] for row in fitted])
    centres, scales = column_moments(style, np.ones(len(style)))
    truth = np.array([classes.index(names[row]) for row in range(len(names)) if names[row] in classes])
    position = {row: at for at, row in enumerate(row for row in range(len(names)) if names[row] in classes)}
    model = LogisticRegression(C=1.0, max_iter=200, class_weight="balanced")
    model.fit(
        _features([labelled.codes[row] for row in fitted], centres, scales), truth[[position[row] for row in fitted]]
    )
    weights, biases = np.asarray(model.coef_, np.float64), np.asarray(model.intercept_, np.float64)
    if len(classes) == 2:  # noqa: PLR2004  the library keeps one row for two classes
        weights, biases = np.vstack([-weights, weights]) / 2, np.concatenate([-biases, biases]) / 2
    logits = np.asarray(_features([labelled.codes[row] for row in left_rows], centres, scales) @ weights.T) + biases
    held_truth = truth[[position[row] for row in left_rows]]
    calibration = OpenSet.of(classes, logits, held_truth)
    left_out = tuple(sorted(set(counts) - set(classes)))
    accuracy = float((logits.argmax(1) == held_truth).mean())
    return GeneratorModel(weights, biases, centres, scales, calibration, left_out, accuracy)


def _count(names: Sequence[str], name: str, rows: Int64Array) -> int:
    return sum(names[row] == name for row in rows)


def _style(codes: Sequence[Code]) -> Float64Array:
    return np.hstack([feature_table(codes, family) for family in _FAMILIES])


def _features(codes: Sequence[Code], centres: Float64Array, scales: Float64Array) -> sparse.csr_matrix:
    scaled = np.clip((_style(codes) - centres) / scales, -3, 3)
    dense = np.where(np.isnan(scaled), 0.0, scaled) / np.sqrt(scaled.shape[1])
    return sparse.csr_matrix(sparse.hstack([ngram_matrix(codes), sparse.csr_matrix(dense)]))
