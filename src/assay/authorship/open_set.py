"""Answers of a classifier of several classes that may be "unknown generator".

Probabilities are calibrated by a temperature on texts that the classifier was not fitted on. The class of a text is
refused where its conformal p-value against texts of that class is small: a text of a generator that was not in training
looks unlike every class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp, softmax

from assay.types import Float64Array, Int64Array

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

    @classmethod
    def of(cls, classes: Sequence[str], logits: Float64Array, truth: Int64Array) -> Self:
        """Return the calibration by held-out texts.

        Args:
            classes: the names.
            logits: float64 [n, classes].
            truth: int64 [n], place of the class of each text.
        """
        temperature = _temperature(logits, truth)
        own = softmax(logits / temperature, axis=1)[np.arange(len(truth)), truth]
        return cls(tuple(classes), temperature, tuple(np.sort(own[truth == place]) for place in range(len(classes))))

    def attribute(self, logits: Float64Array, *, alpha: float = ALPHA) -> Attribution:
        """Return the class of each text, or "unknown generator" at level alpha."""
        probabilities = np.asarray(softmax(logits / self.temperature, axis=1), np.float64)
        best = probabilities.argmax(1)
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


def _temperature(logits: Float64Array, truth: Int64Array) -> float:
    def loss(log_temperature: float) -> float:
        scaled = log_softmax(logits / np.exp(log_temperature), axis=1)
        return float(-scaled[np.arange(len(truth)), truth].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))
