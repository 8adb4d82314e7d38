"""Statistics of a release: the values of its copies in, exact p-values out. Pure functions, natural logarithms.

Values are float64 [tasks, copies]; `published` holds the column of the published copy of each task. The lot is uniform
over the columns and independent of everything a model knows that has nothing of the publication. So whatever the values
are, drawing the lot again gives the distribution of any statistic of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import binom

from assay.evaluation import SIGNIFICANCE
from assay.types import Float64Array, Int64Array

EPSILON = 0.3
"""Weight of a task's likelihood ratio in the evidence; the rest stays at 1, so tasks without a trace cost little."""
DRAWS = 20_000
"""Lots that are drawn again."""
TIE = 1e-9
"""Values closer than this are ties: rounding must not decide."""
_EXPONENTS = np.geomspace(0.05, 50, 120)


def standardised_within(values: Float64Array) -> Float64Array:
    """Return values with mean 0 and standard deviation 1 in each row; 0 where all values of a row agree."""
    centred = values - values.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, keepdims=True)
    return np.where(deviation > TIE, centred / np.maximum(deviation, TIE), 0.0)


def likelihood_ratios(d: Float64Array) -> Float64Array:
    """Return w = e^d / (mean of e^d over the copies): its mean over a uniform lot is 1."""
    # the largest value is taken off before the exponential, which would overflow; the ratio stays as it is
    powers = np.exp(d - d.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.mean(axis=1, keepdims=True))


def evidence(d: Float64Array, epsilon: float = EPSILON) -> Float64Array:
    """Return log(1 - ε + ε w) for each copy: the logarithm of an e-value, if that copy is the published one."""
    return np.asarray(np.log1p(epsilon * (likelihood_ratios(d) - 1.0)))


def slopes(values: Float64Array, covariates: Sequence[Float64Array], own: Int64Array | None = None) -> Float64Array:
    """Return the pooled slope of each covariate within the rows: least squares over all copies, without the lot.

    Args:
        values: of the model.
        covariates: values of other models on the same copies.
        own: rows that are left out; None for no row.
    """
    kept = np.ones(len(values), bool)
    if own is not None:
        kept[own] = False
    # means are taken off within each task: the slope must not depend on how hard tasks are
    columns = [(each - each.mean(axis=1, keepdims=True))[kept].ravel() for each in covariates]
    centred = (values - values.mean(axis=1, keepdims=True))[kept].ravel()
    return np.asarray(np.linalg.lstsq(np.stack(columns, axis=1), centred, rcond=None)[0], np.float64)


def residuals(values: Float64Array, covariates: Sequence[Float64Array]) -> Float64Array:
    """Return the part of the values that the covariates do not explain.

    Exact for any covariate: the slope is a function of all values of a set, so a new lot leaves it as it is.
    """
    if not covariates:
        return values
    weights = slopes(values, covariates)
    return np.asarray(
        values - sum(weight * column for weight, column in zip(weights, covariates, strict=True)), np.float64
    )


def by_cluster(table: Float64Array, clusters: Sequence[str]) -> tuple[Float64Array, list[Int64Array]]:
    """Return the sums of rows that share a lot, and the rows of each sum."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(clusters):
        rows.setdefault(name, []).append(row)
    members = list(map(partial(np.asarray, dtype=np.int64), rows.values()))
    return np.stack([table[group].sum(axis=0) for group in members]), members


@dataclass(frozen=True, slots=True)
class LotTest:
    """The test of one lot.

    Attributes:
        observed: the statistic of the lot that was drawn.
        p_value: exact, one-sided; large values of the statistic count against the null.
        z: the statistic in standard deviations of a new lot, for people.
        e_value: its mean over lots is 1 at most under the null; e-values of versions multiply.
    """

    observed: float
    p_value: float
    z: float
    e_value: float


def lot_test(table: Float64Array, published: Int64Array, *, draws: int = DRAWS, seed: int = 0) -> LotTest:
    """Test a sum over clusters: draw the lot of each cluster again, and count ties against rejection.

    Args:
        table: value of each copy, [clusters, copies].
        published: column of the published copy of each cluster.
        draws: new lots.
        seed: of the new lots, which are independent of the lot that was drawn.
    """
    rows = np.arange(len(table))
    observed = float(table[rows, published].sum())
    generator = np.random.default_rng(seed)
    reached = 0
    # in blocks: all draws at once need memory for draws × clusters numbers
    for begin in range(0, draws, 1000):
        size = min(1000, draws - begin)
        again = table[rows, generator.integers(0, table.shape[1], (size, len(table)))].sum(axis=1)
        reached += int((again >= observed - TIE).sum())
    # the lot that was drawn counts among the draws: p is never 0, and never too small
    p_value = (1 + reached) / (1 + draws)
    if not reached:
        # draws show nothing below 1 in 20,001; further out the bound says more
        p_value = min(p_value, chernoff_bound(table, observed))
    spread = float(np.sqrt(table.var(axis=1).sum()))
    centre = float(table.mean(axis=1).sum())
    # the sum within a cluster is no e-value; divided by its mean over the lot it is
    normaliser = float(np.log(np.exp(table - table.max(axis=1, keepdims=True)).mean(axis=1)).sum())
    log_e = observed - float(table.max(axis=1).sum()) - normaliser
    z = 0.0
    if spread > TIE:
        z = (observed - centre) / spread
    # the exponential of more than 709 is no float64
    return LotTest(observed, p_value, z=z, e_value=float(np.exp(min(log_e, 700.0))))


def chernoff_bound(table: Float64Array, observed: float) -> float:
    """Return a bound of P(sum ≥ observed) over the lot: the least of e^(-λ observed) Π mean e^(λ value) over λ."""
    top = table.max(axis=1, keepdims=True)
    # log of the mean of e^(λ value), without overflow: the largest value is taken off and added again
    logs = [
        float((np.log(np.exp(each * (table - top)).mean(axis=1)) + each * top[:, 0]).sum() - each * (observed - TIE))
        for each in _EXPONENTS
    ]
    return float(np.exp(min(0.0, *logs)))


def memorised_at_least(first: int, tasks: int, copies: int, level: float = SIGNIFICANCE) -> int:
    """Return a lower bound (confidence 1 - level) of the number of tasks whose published copy the model knows.

    A task that the model does not know ranks its published copy first with chance 1/K at most. So m₀ unknown tasks are
    possible if they plausibly give the first ranks that the m - m₀ others leave over.

    Args:
        first: R, tasks whose published copy ranks strictly first.
        tasks: m.
        copies: K.
        level: chance that the bound is too high, at most.
    """
    # for every number of unknown tasks: the first ranks that they would have to give by chance
    unknown = np.arange(tasks + 1)
    needed = first - (tasks - unknown)
    # sf(n - 1) is the chance of n or more
    possible = unknown[binom.sf(needed - 1, unknown, 1 / copies) > level]
    return int(tasks - possible.max())


def pooled_outcome(counts: Sequence[Float64Array], *, draws: int = DRAWS, seed: int = 0) -> float:
    """Return the one-sided p-value of differences whose signs are fair coins, one coin for each group of tasks.

    Args:
        counts: differences (public - twin) of the tasks of each group.
        draws: of the signs, where they are not a plain binomial.
        seed: of the signs.
    """
    # a group without a difference has no sign to flip
    sums = np.array([group.sum() for group in counts if group.sum() != 0.0])
    if not sums.size:
        return 1.0
    # all of one size: only the number of positive signs matters, which is binomial
    if np.ptp(np.abs(sums)) < TIE:
        return float(binom.sf(int((sums > 0).sum()) - 1, sums.size, 0.5))
    # only the size of each difference is measured; under the null its sign is a coin
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (draws, sums.size))
    reached = int(((signs * np.abs(sums)).sum(axis=1) >= sums.sum() - TIE).sum())
    return (1 + reached) / (1 + draws)
