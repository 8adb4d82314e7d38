"""Fitting of classifiers: logistic regression on n-grams, balanced over collections and languages."""

from collections import defaultdict
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from assay.authorship import Classifier, ngram_matrix
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
    own = ngrams_of(kept) if matrix is None else matrix[chosen]
    return Classifier(fitted_weights(kept, np.arange(len(kept)), own), _record(kept, settings))


def fitted_weights(labelled: LabelledCode, rows: Int64Array, matrix: Any) -> Any:  # noqa: ANN401  sparse; float32
    """Return the weight of each column, float32 [columns], fitted on some rows; the bias of a score means nothing."""
    model = LogisticRegression(C=3.0, solver="liblinear", max_iter=200)
    model.fit(matrix[rows], ~labelled.human[rows], sample_weight=balanced_weights(labelled, rows))
    return model.coef_[0].astype(np.float32)


def ngrams_of(labelled: LabelledCode) -> sparse.csr_matrix:
    """Return the n-grams of labelled texts; see `ngram_matrix`."""
    return ngram_matrix(labelled.texts, labelled.codes)


def subsample(labelled: LabelledCode, per_class: int | None, seed: int = 0) -> Int64Array:
    """Return the rows of at most `per_class` texts of each class of each environment, ascending."""
    permutation = np.random.default_rng(seed).permutation
    shuffled = map(permutation, _cells(labelled, np.arange(len(labelled))).values())
    return np.sort(np.concatenate([rows[:per_class] for rows in shuffled])).astype(np.int64)


def balanced_weights(labelled: LabelledCode, rows: Int64Array) -> Float64Array:
    """Return a weight per row, so that every class of every environment has the same total; the mean is 1."""
    weights = np.zeros(len(labelled))
    for cell in _cells(labelled, rows).values():
        weights[cell] = 1 / len(cell)
    # a mean of 1 keeps the regularisation the same for every number of texts
    chosen = weights[rows]
    return np.asarray(chosen / chosen.mean(), np.float64)


def _cells(labelled: LabelledCode, rows: Int64Array) -> dict[tuple[str, bool], Int64Array]:
    cells: defaultdict[tuple[str, bool], list[int]] = defaultdict(list)
    for row in rows.tolist():
        cells[labelled.environments[row], bool(labelled.human[row])].append(row)
    return {key: np.array(cells[key]) for key in sorted(cells)}


def _with_both_classes(labelled: LabelledCode) -> Int64Array:
    """Return the rows of environments that have texts of people and of generators."""
    environments = np.array(labelled.environments, object)
    of_people, of_machines = set(environments[labelled.human]), set(environments[~labelled.human])
    return np.flatnonzero(np.isin(environments, list(of_people & of_machines)))


def _check(labelled: LabelledCode) -> None:
    people, machines = int(labelled.human.sum()), int((~labelled.human).sum())
    if min(people, machines) < FEWEST:
        raise DataError(
            f"{people} texts by people and {machines} by generators in collections and languages that have both, "
            f"expected at least {FEWEST} of each"
        )


def _record(labelled: LabelledCode, settings: FitSettings) -> dict[str, Any]:
    collections = {}
    for name, rows in labelled.rows_of("collection").items():
        people = int(labelled.human[rows].sum())
        collections[name] = {"people": people, "generators": len(rows) - people}
    return {
        "collections": collections,
        "languages": sorted(set(map(str, labelled.languages))),
        "per_class": settings.per_class,
        "seed": settings.seed,
    }
