"""Fitting of heads, one kind of evidence each, and of the outline of the training texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from assay.authorship.domain import OUTLINE, Domain, distances_from
from assay.authorship.evidence import HEADS, EvidenceMatrices
from assay.authorship.heads import LinearHead, SparseHead, TreeHead, standardised_table
from assay.types import BooleanArray, Float64Array

SMALLEST = 1e-12
TREES = 150
LEAVES = 12
SMALLEST_LEAF = 40
QUANTILE = 0.99
"""Share of the training texts of an environment that lie inside the outline."""


def fitted_head(
    kind: str,
    matrix: Any,  # noqa: ANN401  dense or sparse
    machine: BooleanArray,
    weights: Float64Array,
) -> LinearHead | SparseHead | TreeHead:
    """Return the head of a kind of evidence, fitted on weighted texts."""
    match HEADS[kind]:
        case "linear":
            return fit_linear(matrix, machine, weights)
        case "sparse":
            return fit_sparse(matrix, machine, weights)
        case _:
            return fit_trees(matrix, machine, weights)


def fit_linear(table: Float64Array, machine: BooleanArray, weights: Float64Array, *, c: float = 0.01) -> LinearHead:
    """Return a logistic model fitted on weighted texts.

    Args:
        table: float64 [n, columns], NaN where a feature has no value.
        machine: bool [n].
        weights: float64 [n].
        c: inverse strength of the penalty.
    """
    means, scales = column_moments(table, weights)
    model = LogisticRegression(C=c, max_iter=300)
    model.fit(standardised_table(table, means, scales), machine, sample_weight=weights)
    return LinearHead(means, scales, model.coef_[0].astype(np.float64), model.intercept_.astype(np.float64))


def fit_sparse(matrix: sparse.csr_matrix, machine: BooleanArray, weights: Float64Array) -> SparseHead:
    """Return a logistic model on n-grams, fitted on weighted texts; see `fit_linear`."""
    model = LogisticRegression(C=1.0, solver="liblinear", max_iter=200)
    model.fit(matrix, machine, sample_weight=weights)
    return SparseHead(model.coef_[0].astype(np.float32), model.intercept_.astype(np.float64))


def fit_trees(table: Float64Array, machine: BooleanArray, weights: Float64Array, *, seed: int = 0) -> TreeHead:
    """Return boosted trees fitted on weighted texts; see `fit_linear`."""
    model = HistGradientBoostingClassifier(
        max_iter=TREES,
        learning_rate=0.06,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=SMALLEST_LEAF,
        l2_regularization=5.0,
        max_features=0.3,
        early_stopping=False,
        random_state=seed,
    )
    absent = np.isnan(table).all(axis=0)
    model.fit(np.where(absent, 0.0, table), machine, sample_weight=weights)  # the library needs a value a column
    nodes = [trees[0].nodes for trees in model._predictors]  # noqa: SLF001  sklearn has no public export
    starts = np.concatenate([[0], np.cumsum([len(tree) for tree in nodes])])
    rows = np.concatenate(nodes)
    leaf = rows["is_leaf"].astype(bool)
    offsets = np.repeat(starts[:-1], np.diff(starts))
    own = np.arange(len(rows))
    return TreeHead(
        starts[:-1].astype(np.int64),
        np.where(leaf, 0, rows["feature_idx"]).astype(np.int64),
        rows["num_threshold"].astype(np.float64),
        np.where(leaf, own, rows["left"] + offsets).astype(np.int64),
        np.where(leaf, own, rows["right"] + offsets).astype(np.int64),
        rows["missing_go_to_left"].astype(bool),
        np.where(leaf, rows["value"], 0.0).astype(np.float64),
        np.asarray(model._baseline_prediction, np.float64).ravel()[:1],  # noqa: SLF001  as above
    )


def column_moments(table: Float64Array, weights: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return weighted mean and standard deviation of each column, NaN left out; 0 and 1 where nothing varies."""
    valid = ~np.isnan(table)
    totals = np.maximum((weights[:, None] * valid).sum(0), SMALLEST)
    means = (weights[:, None] * np.where(valid, table, 0.0)).sum(0) / totals
    squares = (weights[:, None] * np.where(valid, (table - means) ** 2, 0.0)).sum(0) / totals
    return means, np.where(squares > SMALLEST, np.sqrt(squares), 1.0)


def outlined(evidence: EvidenceMatrices, environments: Sequence[str]) -> Domain:
    """Return the outline of training texts; an empty one without the evidence that it is taken of."""
    table = evidence.matrices.get(OUTLINE)
    if table is None:
        return Domain(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    codes = np.array(environments, object)
    names = sorted(set(environments))
    table = np.where(np.isnan(table), column_moments(table, np.ones(len(table)))[0], table)
    centres = np.stack([table[codes == name].mean(0) for name in names])
    deviations = np.concatenate([table[codes == name] - centre for name, centre in zip(names, centres, strict=True)])
    scales = np.maximum(deviations.std(0), 1e-3)
    distances = [
        distances_from(table[codes == name], centre, scales) for name, centre in zip(names, centres, strict=True)
    ]
    return Domain(centres, scales, np.array([np.quantile(values, QUANTILE) for values in distances]))
