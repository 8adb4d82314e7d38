"""The generator of a text: a linear model of several classes that may answer "unknown generator".

The class of a text is refused where its conformal p-value against held-out texts of that class is small: a text of a
generator that was not in training looks unlike every class. Probabilities are calibrated by a temperature on the same
held-out texts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from assay.authorship.heads import column_moments
from assay.authorship.labelled import LabelledCode
from assay.authorship.normalising import Code
from assay.authorship.style import FAMILIES, feature_table
from assay.authorship.wording import ngram_matrix
from assay.datasets import split_by_group
from assay.errors import DataError
from assay.types import Float64Array, Int64Array, Sample

UNKNOWN = "unknown generator"
FEWEST = 20
"""Texts of a class; smaller ones are left out and stay unknown."""

HELD_OUT = 0.25
ALPHA = 0.05
_FAMILIES = tuple(name for name in FAMILIES if name != "documentation")


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
class GeneratorModel:
    """A fitted model of several classes.

    Attributes:
        classes: the names.
        weights: float64 [classes, columns].
        biases: float64 [classes].
        centres: float64 [style columns], means of the hand-made features.
        scales: float64 [style columns], their standard deviations.
        temperature: that the log-odds are divided by.
        conformity: per class, ascending probabilities that held-out texts of the class had for it.
        left_out: classes that were too small.
    """

    classes: tuple[str, ...]
    weights: Float64Array
    biases: Float64Array
    centres: Float64Array
    scales: Float64Array
    temperature: float
    conformity: tuple[Float64Array, ...]
    left_out: tuple[str, ...]

    def attribute(self, codes: Sequence[Code], *, alpha: float = ALPHA) -> Attribution:
        """Return the class of each text, or "unknown generator" at level alpha."""
        logits = self._logits(_features(codes, self.centres, self.scales))
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
    fitted_rows, held_rows = _split(labelled, seed)
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
    temperature = _temperature(logits, held_truth)
    own = softmax(logits / temperature, axis=1)[np.arange(len(left_rows)), held_truth]
    conformity = tuple(np.sort(own[held_truth == place]) for place in range(len(classes)))
    return GeneratorModel(
        classes, weights, biases, centres, scales, temperature, conformity, tuple(sorted(set(counts) - set(classes)))
    )


def _count(names: Sequence[str], name: str, rows: Int64Array) -> int:
    return sum(names[row] == name for row in rows)


def _split(labelled: LabelledCode, seed: int) -> tuple[Int64Array, Int64Array]:
    markers = [Sample(str(row), "", group=group) for row, group in enumerate(labelled.groups)]
    parts = split_by_group(markers, {"fitted": 1 - HELD_OUT, "held": HELD_OUT}, seed=seed)
    rows = {name: np.array([int(sample.id) for sample in part], np.int64) for name, part in parts.items()}
    return rows["fitted"], rows["held"]


def _style(codes: Sequence[Code]) -> Float64Array:
    return np.hstack([feature_table(codes, family) for family in _FAMILIES])


def _features(codes: Sequence[Code], centres: Float64Array, scales: Float64Array) -> sparse.csr_matrix:
    scaled = np.clip((_style(codes) - centres) / scales, -3, 3)
    dense = np.where(np.isnan(scaled), 0.0, scaled) / np.sqrt(scaled.shape[1])
    return sparse.csr_matrix(sparse.hstack([ngram_matrix(codes), sparse.csr_matrix(dense)]))


def _temperature(logits: Float64Array, truth: Int64Array) -> float:
    def loss(log_temperature: float) -> float:
        scaled = log_softmax(logits / np.exp(log_temperature), axis=1)
        return float(-scaled[np.arange(len(truth)), truth].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))
