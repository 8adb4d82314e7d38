"""Fitting of the model that names the generator of a text, and of the calibration that lets it answer "unknown"."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from assay.authorship.open_set import GeneratorModel, OpenSet, features_of, style_of
from assay.errors import DataError
from assay.types import Float64Array, Int64Array
from assay_lab.classifiers.heads import column_moments
from assay_lab.classifiers.labelled import LabelledCode

FEWEST = 20
"""Texts of a class; smaller ones are left out and stay unknown."""

HELD_OUT = 0.25


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
    style = style_of([labelled.codes[row] for row in fitted])
    centres, scales = column_moments(style, np.ones(len(style)))
    truth = np.array([classes.index(names[row]) for row in range(len(names)) if names[row] in classes])
    position = {row: at for at, row in enumerate(row for row in range(len(names)) if names[row] in classes)}
    model = LogisticRegression(C=1.0, max_iter=200, class_weight="balanced")
    model.fit(
        features_of([labelled.codes[row] for row in fitted], centres, scales), truth[[position[row] for row in fitted]]
    )
    weights, biases = np.asarray(model.coef_, np.float64), np.asarray(model.intercept_, np.float64)
    if len(classes) == 2:  # noqa: PLR2004  the library keeps one row for two classes
        weights, biases = np.vstack([-weights, weights]) / 2, np.concatenate([-biases, biases]) / 2
    logits = np.asarray(features_of([labelled.codes[row] for row in left_rows], centres, scales) @ weights.T) + biases
    held_truth = truth[[position[row] for row in left_rows]]
    calibration = calibrated_open_set(classes, logits, held_truth)
    left_out = tuple(sorted(set(counts) - set(classes)))
    accuracy = float((logits.argmax(1) == held_truth).mean())
    return GeneratorModel(weights, biases, centres, scales, calibration, left_out, accuracy)


def _count(names: Sequence[str], name: str, rows: Int64Array) -> int:
    return sum(names[row] == name for row in rows)


def calibrated_open_set(classes: Sequence[str], logits: Float64Array, truth: Int64Array) -> OpenSet:
    """Return the calibration of a classifier by held-out texts.

    Args:
        classes: the names.
        logits: float64 [n, classes].
        truth: int64 [n], place of the class of each text.
    """
    temperature = _temperature(logits, truth)
    own = softmax(logits / temperature, axis=1)[np.arange(len(truth)), truth]
    return OpenSet(tuple(classes), temperature, tuple(np.sort(own[truth == place]) for place in range(len(classes))))


def _temperature(logits: Float64Array, truth: Int64Array) -> float:
    def loss(log_temperature: float) -> float:
        scaled = log_softmax(logits / np.exp(log_temperature), axis=1)
        return float(-scaled[np.arange(len(truth)), truth].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))
