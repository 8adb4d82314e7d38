"""Fitting of classifiers: balanced over collections and languages, stacked on texts of other collections."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.model_selection import GroupKFold

from assay.authorship.classifier import Classifier, WeightedHead
from assay.authorship.domain import shown_or_not
from assay.authorship.evidence import HEADS, EvidenceMatrices, Vectors, evidence_of
from assay.errors import DataError
from assay.types import BooleanArray, Float64Array, Int64Array
from assay_lab.classifiers.heads import fitted_head, outlined
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.classifiers.settings import FitSettings

FEWEST = 20
"""Texts of each class that a fit needs."""

FOLDS = 4
SMALLEST_SLOPE, SMALLEST_SPREAD = 0.01, 1e-6

HEAD_WEIGHTS: Mapping[str, float] = MappingProxyType(dict.fromkeys(HEADS, 1.0) | {"documentation": 3.0})
"""Weight of the standardised margin of each kind of evidence."""


def fit_classifier(
    labelled: LabelledCode,
    settings: FitSettings | None = None,
    *,
    vectors: Vectors | None = None,
    evidence: EvidenceMatrices | None = None,
) -> Classifier:
    """Return a classifier fitted on labelled code.

    Each class of each environment (collection and language) has the same total weight, so that no large collection
    and no language decides alone. An environment without one of the classes is left out: it would teach to recognise
    the collection. The weights of the heads are fixed (`HEAD_WEIGHTS`), because weights fitted on a handful of
    collections carried over badly. Slope and bias of their sum are fitted on collections that the heads were not
    fitted on, so the sum is a log-odds for a new collection.

    Args:
        labelled: texts of both classes.
        settings: see there.
        vectors: model of the evidence `hidden`.
        evidence: of all texts, where it is at hand already.

    Raises:
        DataError: fewer than `FEWEST` texts of a class.
    """
    settings = settings or FitSettings()
    chosen = subsample(labelled, settings.per_class, settings.seed)
    kept = labelled.take(chosen)
    chosen = chosen[_with_both_classes(kept)]
    kept = labelled.take(chosen)
    _check(kept)
    evidence = evidence.take(chosen) if evidence else evidence_of(kept.codes, settings.evidence, vectors)
    heads = _fit_heads(evidence, kept, np.arange(len(kept)))
    slope, bias = _log_odds(evidence, kept) if settings.log_odds else (1.0, 0.0)
    scaled = {kind: replace(head, weight=head.weight * slope) for kind, head in heads.items()}
    record = _record(kept, settings)
    if vectors is not None:
        record |= {"hidden": vectors.name, "hidden_digest": vectors.digest}
    return Classifier(scaled, bias, outlined(evidence, kept.environments), record)


def _log_odds(evidence: EvidenceMatrices, labelled: LabelledCode) -> tuple[float, float]:
    """Return slope and bias of the sum of margins, fitted on collections that the heads were not fitted on."""
    transferred, tested = np.zeros(len(labelled)), np.zeros(len(labelled), np.bool_)
    for fitted_rows, other in _folds(labelled):
        transferred[other] = _sum(_fit_heads(evidence, labelled, fitted_rows), evidence.take(other))
        tested[other] = True
    weights = balanced_weights(labelled, np.flatnonzero(tested))
    return _platt(transferred[tested], ~labelled.human[tested], weights)


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


def _fit_heads(evidence: EvidenceMatrices, labelled: LabelledCode, rows: Int64Array) -> dict[str, WeightedHead]:
    """Return the heads fitted on some rows, relative to their margins there."""
    weights, machine = balanced_weights(labelled, rows), ~labelled.human[rows]
    fitted = {}
    for kind, matrix in evidence.take(rows).matrices.items():
        head = fitted_head(kind, matrix, machine, weights)
        margins = head.margins(matrix)
        spread = max(float(margins.std()), SMALLEST_SPREAD)
        # a text without the sign of a generator that others show is no sign of a person: it counts nothing
        centre = margins.min() if shown_or_not(margins) else np.median(margins)
        fitted[kind] = WeightedHead(head, float(centre), spread, HEAD_WEIGHTS[kind])
    return fitted


def _sum(heads: Mapping[str, WeightedHead], evidence: EvidenceMatrices) -> Float64Array:
    parts = [head.part(evidence.matrices[kind]) for kind, head in heads.items()]
    return np.asarray(np.sum(parts, axis=0), np.float64)


def _folds(labelled: LabelledCode) -> list[tuple[Int64Array, Int64Array]]:
    """Return (fitted, left out) rows: a collection at a time, or grouped folds if fewer than two collections can be.

    A fold never shares a group with the rows that are fitted, and both classes are fitted.

    Raises:
        DataError: the texts of a class are in too few groups.
    """
    groups = np.array(labelled.groups, object)
    folds = [
        (np.flatnonzero(~np.isin(groups, groups[rows])), rows)
        for rows in labelled.rows_of("collection").values()
        if _both(labelled, rows)
    ]
    folds = [(fitted, rows) for fitted, rows in folds if _both(labelled, fitted)]
    if len(folds) >= 2:  # noqa: PLR2004  one to fit, one to leave out
        return folds
    count = min(FOLDS, len(set(labelled.groups)))
    if count >= 2:  # noqa: PLR2004  as above
        splits = GroupKFold(count).split(groups, labelled.human, labelled.groups)
        folds = [(fitted.astype(np.int64), rows.astype(np.int64)) for fitted, rows in splits]
        folds = [(fitted, rows) for fitted, rows in folds if _both(labelled, fitted)]
    if not folds or not _both(labelled, np.concatenate([rows for _, rows in folds])):
        people, machines = (len(set(groups[side])) for side in (labelled.human, ~labelled.human))
        raise DataError(
            f"texts by people are in {people} groups and those by generators in {machines}, expected more of each: "
            "texts of one group are never both fitted and tested"
        )
    return folds


def _both(labelled: LabelledCode, rows: Int64Array) -> bool:
    """Return True if some rows hold texts of people and of generators."""
    return len(set(labelled.human[rows].tolist())) == 2  # noqa: PLR2004  both classes


def _platt(sums: Float64Array, machine: BooleanArray, weights: Float64Array) -> tuple[float, float]:
    """Return slope and bias of the log-odds; the slope is positive, because directions are not learned here."""
    signs = np.where(machine, 1.0, -1.0)
    share = weights / weights.sum()

    def loss(parameters: Float64Array) -> float:
        return float((share * np.logaddexp(0, -signs * (parameters[0] * sums + parameters[1]))).sum())

    best = minimize(loss, np.array([0.3, 0.0]), method="L-BFGS-B", bounds=[(SMALLEST_SLOPE, None), (None, None)])
    return float(best.x[0]), float(best.x[1])


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
        "evidence": list(settings.evidence),
        "per_class": settings.per_class,
        "seed": settings.seed,
    }
