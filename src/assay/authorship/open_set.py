"""Answers of a classifier of several classes that may be "unknown generator".

Probabilities are calibrated by a temperature on texts that the classifier was not fitted on. The class of a text is
refused where its conformal p-value against texts of that class is small: a text of a generator that was not in training
looks unlike every class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, softmax

from assay.authorship.heads import Arrays
from assay.authorship.normalising import Code
from assay.authorship.style import FAMILIES, feature_table
from assay.authorship.wording import ngram_matrix
from assay.types import Float64Array

HUMAN = "human"
"""Class of the texts of people."""
UNKNOWN = "unknown generator"
ALPHA = 0.05
TEMPERATURES = (1e-3, 1e3)
"""Bounds of a stored temperature; those that are fitted lie far inside."""
CALIBRATION = "calibration.json"
"""Name of the file of a fine-tuned folder that holds its calibration."""


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """Answers for n texts.

    Attributes:
        classes: the names, "human" among them.
        probabilities: float64 [n, classes].
        p_values: float64 [n], of the most probable class: how usual the text is for it.
        answers: the most probable class, or "unknown generator".
    """

    classes: tuple[str, ...]
    probabilities: Float64Array
    p_values: Float64Array
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OpenSet:
    """Calibration of the logits of a classifier.

    Attributes:
        classes: the names, in the order of the logits.
        temperature: that the logits are divided by.
        conformity: per class, ascending probabilities that held-out texts of the class had for it.
    """

    classes: tuple[str, ...]
    temperature: float
    conformity: tuple[Float64Array, ...]

    def attribute(self, logits: Float64Array, *, alpha: float = ALPHA) -> Attribution:
        """Return the class of each text, or "unknown generator" at level alpha."""
        probabilities = np.asarray(softmax(logits / self.temperature, axis=1), np.float64)
        best = probabilities.argmax(1)
        # conformal: the place of a probability among those that held-out texts of the same class had for it
        p_values = np.array(
            [
                (1 + np.searchsorted(self.conformity[place], probabilities[row, place], side="right"))
                / (len(self.conformity[place]) + 1)
                for row, place in enumerate(best)
            ]
        )
        answers = tuple(UNKNOWN if p <= alpha else self.classes[place] for place, p in zip(best, p_values, strict=True))
        return Attribution(self.classes, probabilities, p_values, answers)

    def log_odds_against(self, name: str, logits: Float64Array) -> Float64Array:
        """Return the calibrated log-odds that a text is of any other class, float64 [n].

        Args:
            name: the class.
            logits: float64 [n, classes].
        """
        scaled, place = logits / self.temperature, self.classes.index(name)
        # log of the summed odds of all other classes, without leaving the logarithm
        return np.asarray(logsumexp(np.delete(scaled, place, axis=1), axis=1) - scaled[:, place], np.float64)

    def content(self) -> dict[str, Any]:
        """Return all that `restored` needs, for JSON."""
        return {
            "classes": list(self.classes),
            "temperature": self.temperature,
            "conformity": [values.tolist() for values in self.conformity],
        }

    @classmethod
    def restored(cls, content: Mapping[str, Any]) -> Self:
        """Return the calibration of `content`.

        Raises:
            KeyError: a field is missing.
            TypeError: a field is of another type.
            ValueError: the temperature is far from any that is fitted, or the fields do not fit each other.
        """
        classes, temperature = tuple(content["classes"]), float(content["temperature"])
        conformity = tuple(np.array(values, np.float64) for values in content["conformity"])
        if len(conformity) != len(classes) or not TEMPERATURES[0] < temperature < TEMPERATURES[1]:
            raise ValueError(f"{len(classes)} classes, {len(conformity)} of them calibrated, temperature {temperature}")
        if not all(isinstance(name, str) for name in classes) or len(set(classes)) < len(classes):
            raise ValueError("classes that are not different names")
        if not all(values.ndim == 1 and ((values >= 0) & (values <= 1)).all() for values in conformity):
            raise ValueError("conformity that is not a list of probabilities for each class")
        return cls(classes, temperature, conformity)


# The generator of a text: a linear model of several classes that may answer "unknown generator".

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
        return {"calibration": self.calibration.content(), "left_out": list(self.left_out), "accuracy": self.accuracy}

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
