"""How much higher a benchmark scores than unseen text of another form, after what a second model explains.

Scores of unseen text are regressed on what is known of each text without the audited model: its scores under a model
that saw neither set, or under the parent of the audited model, and its length. The residual of the benchmark is the
mean of what its scores exceed the prediction by, in standard deviations of the scores of the unseen text.

Every group of the unseen text (a package) has the same weight. The ridge penalty is chosen by leaving groups out.
The variance is CR2 by group (Bell and McCaffrey 2002), with Satterthwaite's degrees of freedom, plus that of the mean
of the benchmark over its own groups.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from assay.errors import DataError
from assay.evaluation.arrays import Indices, group_codes
from assay.evaluation.estimate import Estimate
from assay.types import BooleanArray, Float64Array

RESIDUAL_LEVEL = 0.9
"""Of the interval: each of its ends is a one-sided bound at 95 %."""
FEWEST_GROUPS = 20
"""Groups of unseen text below which a variance by group is not reliable."""
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
FOLDS = 10
SUPPORT = 0.95
"""Quantile of the leverage of the unseen text up to which a text counts as one of its kind."""
SMALLEST_EIGENVALUE = 1e-6


@dataclass(frozen=True, slots=True)
class FormResidual:
    """The residual of a benchmark against unseen text.

    Attributes:
        estimate: in standard deviations, with its 90 % interval over groups.
        error: its standard error; NaN without an interval.
        freedom: degrees of freedom of the interval.
        supported: share of the benchmark that is of the kind of the unseen text, by the leverage of the regression.
        nearest: the same residual by the nearest unseen text of each sample, in the same unit.
    """

    estimate: Estimate
    error: float = math.nan
    freedom: float = math.nan
    supported: float = math.nan
    nearest: float = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """Weighted ridge regression on unseen text; the first column is constant and not penalised."""

    design: Float64Array
    weights: Float64Array
    penalty: float

    @property
    def inverse(self) -> Float64Array:
        # the constant is not penalised: a shift of all scores has to be fitted whole
        penalties = np.diag([0.0] + [self.penalty] * (self.design.shape[1] - 1))
        squares = (self.design * self.weights[:, None]).T @ self.design
        return np.asarray(np.linalg.inv(squares + penalties), np.float64)

    def coefficients(self, values: Float64Array) -> Float64Array:
        coefficients: Float64Array = self.inverse @ ((self.design * self.weights[:, None]).T @ values)
        return coefficients

    def leverage(self, rows: Float64Array) -> Float64Array:
        leverages: Float64Array = np.einsum("ij,jk,ik->i", rows, self.inverse, rows)
        return leverages


class RegressedSide(NamedTuple):
    """One set of texts.

    Attributes:
        scores: [n], under the audited model; NaN (unscorable) is left out.
        covariates: [n, k], what is known without that model; rows with a NaN are left out.
        groups: [n]; None is a group of its own.
    """

    scores: ArrayLike
    covariates: ArrayLike
    groups: Sequence[Hashable]


def form_residual(benchmark: RegressedSide, unseen: RegressedSide) -> FormResidual:
    """Return how much higher a benchmark scores than unseen text, after what is known of the texts is taken off.

    Raises:
        DataError: lengths differ.
    """
    own, own_known, own_groups = _complete(benchmark)
    values, covariates, codes = _complete(unseen)
    counts = (_distinct(own_groups), _distinct(codes))
    if counts[1] < FEWEST_GROUPS or counts[0] < 2:  # noqa: PLR2004  no spread
        reason = f"{counts[1]} groups of unseen text with all values, expected at least {FEWEST_GROUPS}"
        return FormResidual(Estimate(math.nan, level=RESIDUAL_LEVEL, groups=counts, reason=reason))
    # a package counts once, however many texts it has
    inverse_sizes = (1 / np.bincount(codes))[codes]
    weights = inverse_sizes * (len(codes) / inverse_sizes.sum())
    centre = np.average(covariates, axis=0, weights=weights)
    scale = np.sqrt(np.average((covariates - centre) ** 2, axis=0, weights=weights))
    # a covariate without spread says nothing, and is divided by nothing
    scale[scale == 0] = 1.0
    rows, own_rows = (np.column_stack([np.ones(len(x)), (x - centre) / scale]) for x in (covariates, own_known))
    fit = _Fit(rows, weights, _penalty(rows, values=values, weights=weights, codes=codes))
    coefficients = fit.coefficients(values)
    spread = math.sqrt(float(np.average((values - np.average(values, weights=weights)) ** 2, weights=weights)))
    if spread == 0:
        reason = "all unseen texts have one value"
        return FormResidual(Estimate(0.0, level=RESIDUAL_LEVEL, groups=counts, reason=reason))
    residuals = own - own_rows @ coefficients
    of_fit, freedom = _cr2(fit, values=values, codes=codes, contrast=own_rows.mean(axis=0))
    of_own = float((np.bincount(own_groups, residuals - residuals.mean()) ** 2).sum()) / len(own) ** 2
    of_own *= counts[0] / (counts[0] - 1)
    total = of_fit + of_own
    # Satterthwaite: of a sum of two independent variances
    freedom = total**2 / (of_fit**2 / freedom + of_own**2 / (counts[0] - 1))
    value, error = float(residuals.mean()) / spread, math.sqrt(total) / spread
    half = float(stdtrit(freedom, (1 + RESIDUAL_LEVEL) / 2)) * error
    return FormResidual(
        Estimate(value, low=value - half, high=value + half, level=RESIDUAL_LEVEL, groups=counts),
        error=error,
        freedom=freedom,
        # a high leverage is a text that the regression extrapolates to
        supported=float((fit.leverage(own_rows) <= np.quantile(fit.leverage(rows), SUPPORT)).mean()),
        nearest=_by_nearest(own, own_rows=own_rows, values=values, rows=rows) / spread,
    )


def _complete(side: RegressedSide) -> tuple[Float64Array, Float64Array, Indices]:
    """Return the rows without a missing value."""
    values, rows = np.asarray(side.scores, np.float64), np.asarray(side.covariates, np.float64)
    if not len(values) == len(rows) == len(side.groups):
        counts = f"{len(values)} scores, {len(rows)} rows and {len(side.groups)} groups"
        raise DataError(f"{counts}; expected as many of each")
    kept: BooleanArray = np.isfinite(values) & np.isfinite(rows).all(axis=1)
    codes = group_codes(list(compress(side.groups, kept)), int(kept.sum()))
    return values[kept], rows[kept], codes


def _distinct(codes: Indices) -> int:
    return len(np.unique(codes))


def _penalty(rows: Float64Array, values: Float64Array, weights: Float64Array, codes: Indices) -> float:
    """Return the penalty with the smallest squared error on groups that were left out."""
    order = np.random.default_rng(0).permutation(_distinct(codes))
    folds = [np.isin(codes, part) for part in np.array_split(order, min(FOLDS, len(order)))]

    def error(penalty: float) -> float:
        total = 0.0
        for out in folds:
            fitted = _Fit(rows[~out], weights[~out], penalty).coefficients(values[~out])
            total += float((weights[out] * (values[out] - rows[out] @ fitted) ** 2).sum())
        return total

    return min(PENALTIES, key=error)


def _cr2(fit: _Fit, values: Float64Array, codes: Indices, contrast: Float64Array) -> tuple[float, float]:
    """Return the CR2 variance of a prediction, and its degrees of freedom."""
    weighted = (fit.design * fit.weights[:, None]).T
    to_values = fit.inverse @ weighted  # coefficients = to_values @ values
    left = np.eye(len(values)) - fit.design @ to_values  # residuals = left @ values
    residuals, influence = left @ values, contrast @ to_values
    parts, rows = [], []
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        values_of, vectors = np.linalg.eigh(left[own] @ left[own].T)
        # the inverse root of the group's block of (I - H)(I - H)' makes its residuals unbiased; it may be singular
        root = vectors @ np.diag(np.clip(values_of, SMALLEST_EIGENVALUE, None) ** -0.5) @ vectors.T
        adjusted = influence[own] @ root
        parts.append(float(adjusted @ residuals[own]))
        rows.append(adjusted @ left[own])
    products = np.array(rows) @ np.array(rows).T
    return float(np.square(parts).sum()), float(np.trace(products) ** 2 / np.square(products).sum())


def _by_nearest(own: Float64Array, own_rows: Float64Array, values: Float64Array, rows: Float64Array) -> float:
    """Return the mean difference between each sample and the unseen text that is nearest in what is known of both."""
    nearest = [int(np.argmin(np.square(rows - row).sum(axis=1))) for row in own_rows]
    return float((own - values[nearest]).mean())
