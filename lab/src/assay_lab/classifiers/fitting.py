"""Fitting of classifiers: logistic regression on n-grams, balanced over collections and languages."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from assay.authorship import Classifier
from assay.authorship.ngrams import ngram_matrix
from assay.errors import DataError
from assay.types import Float64Array, Int64Array
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.classifiers.settings import FitSettings

FEWEST = 20
"""Texts of each class that a fit needs."""


def fit_classifier(
    labelled: LabelledCode, settings: FitSettings | None = None, *, matrix: sparse.csr_matrix | None = None
) -> Classifier:
    """Return a classifier fitted on labelled code.

    Each class of each environment (collection and language) has the same total weight, so that no large collection
    and no language decides alone. An environment without one of the classes is left out: it would teach to recognise
    the collection.

    Args:
        labelled: texts of both classes.
        settings: see there.
        matrix: n-grams of all texts, where they are at hand already.

    Raises:
        DataError: fewer than `FEWEST` texts of a class.
    """
    settings = settings or FitSettings()
    chosen = subsample(labelled, settings.per_class, settings.seed)
    chosen = chosen[_with_both_classes(labelled.take(chosen))]
    kept = labelled.take(chosen)
    _check(kept)
    rows = np.arange(len(kept))
    return Classifier(
        fitted_weights(kept, rows, ngrams_of(kept) if matrix is None else matrix[chosen]), _record(kept, settings)
    )


def fitted_weights(labelled: LabelledCode, rows: Int64Array, matrix: Any) -> Any:  # noqa: ANN401  sparse; float32
    """Return the weight of each column, float32 [columns], fitted on some rows; the bias of a score means nothing."""
    model = LogisticRegression(C=3.0, solver="liblinear", max_iter=200)
    model.fit(matrix[rows], ~labelled.human[rows], sample_weight=balanced_weights(labelled, rows))
    return model.coef_[0].astype(np.float32)


def ngrams_of(labelled: LabelledCode) -> sparse.csr_matrix:
    """Return the n-grams of labelled texts; see `ngram_matrix`."""
    return ngram_matrix([sample.text for sample in labelled.samples], labelled.codes)


def subsample(labelled: LabelledCode, per_class: int | None, seed: int = 0) -> Int64Array:
    """Return the rows of at most `per_class` texts of each class of each environment, ascending."""
    generator = np.random.default_rng(seed)
    chosen = [generator.permutation(rows)[:per_class] for rows in _cells(labelled, np.arange(len(labelled))).values()]
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def balanced_weights(labelled: LabelledCode, rows: Int64Array) -> Float64Array:
    """Return a weight per row, so that every class of every environment has the same total; the mean is 1."""
    weights = np.zeros(len(labelled))
    for cell in _cells(labelled, rows).values():
        weights[cell] = 1 / len(cell)
    chosen = weights[rows]
    return np.asarray(chosen / chosen.mean(), np.float64)


def _cells(labelled: LabelledCode, rows: Int64Array) -> dict[tuple[str, bool], Int64Array]:
    cells: dict[tuple[str, bool], list[int]] = {}
    for row in rows.tolist():
        cells.setdefault((labelled.environments[row], bool(labelled.human[row])), []).append(row)
    return {key: np.array(members) for key, members in sorted(cells.items())}


def _with_both_classes(labelled: LabelledCode) -> Int64Array:
    """Return the rows of environments that have texts of people and of generators."""
    cells = _cells(labelled, np.arange(len(labelled)))
    both = {environment for environment, human in cells if (environment, not human) in cells}
    return np.array([row for row, name in enumerate(labelled.environments) if name in both], np.int64)


def _check(labelled: LabelledCode) -> None:
    people, machines = int(labelled.human.sum()), int((~labelled.human).sum())
    if min(people, machines) < FEWEST:
        raise DataError(
            f"{people} texts by people and {machines} by generators in collections and languages that have both, "
            f"expected at least {FEWEST} of each"
        )


def _record(labelled: LabelledCode, settings: FitSettings) -> dict[str, Any]:
    collections = {
        name: {"people": int(labelled.human[rows].sum()), "generators": int((~labelled.human[rows]).sum())}
        for name, rows in labelled.rows_of("collection").items()
    }
    languages = sorted({str(sample.language) for sample in labelled.samples})
    return {
        "collections": collections,
        "languages": languages,
        "per_class": settings.per_class,
        "seed": settings.seed,
    }
