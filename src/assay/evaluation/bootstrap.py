"""Variation of a value over groups: samples of one project, task or book are not independent.

A resample draws as many groups as there are, with replacement (Efron and Tibshirani 1993, ch. 8; Davison and
Hinkley 1997, section 3.8, resampling of clusters), and a group drawn twice counts its samples twice. So a
resample is a vector of integer weights, and a statistic is a function of a block of weights [r, n] to values
[r, k].

Strata. Classes may live in different groups (a project is a member or is not) or in the same (a task with a
leaked and a fresh form). Groups with the same set of classes form a stratum and are drawn from that stratum,
so a resample keeps the design of the study. A stratum of a single group would never vary and would claim too
much: such strata are pooled. Where a resample still lacks a class, the statistic is NaN there; such resamples are
ignored, and their number is reported.

The resamples give the standard error and its degrees of freedom; `interval` makes the interval. Percentiles of the
resamples are not used: with few groups they are too narrow (`assay lab run statistics/interval_coverage`).
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import DataError
from assay.evaluation.arrays import Indices, group_codes
from assay.evaluation.estimate import Estimate
from assay.evaluation.interval import COVERAGE, RATE, Range, Support, Uncertainty, interval
from assay.types import BooleanArray, Float64Array

RESAMPLES = 1000
SEED = 0

WEIGHTS_AT_ONCE = 1 << 19
"""Weights in memory at a time: 4 MiB of float64, independent of the number of resamples."""

FEWEST_FREEDOM = 5.0
"""Degrees of freedom below which their own estimate is not reliable; it is raised to this."""

Statistic = Callable[[Float64Array], Float64Array]
"""Weights [r, n] to values [r, k]."""


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """Draws of groups. All statistics that are computed from the same draws are paired.

    Attributes:
        group: intp [n], the group of each sample.
        strata: the groups of each stratum.
        size: number of resamples, R.
        seed: of the generator; the same groups, classes, size and seed always give the same draws.
    """

    group: Indices
    strata: tuple[Indices, ...]
    size: int = RESAMPLES
    seed: int = SEED

    @classmethod
    def of(
        cls, groups: Sequence[Hashable], classes: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED
    ) -> Self:
        """Plan draws of `groups` [n], where a sample's class is `classes` [n] (booleans or small numbers).

        Raises:
            DataError: lengths differ, there is no sample, or fewer than one resample is requested.
        """
        kinds = np.asarray(classes)
        if not len(kinds):
            raise DataError("no samples; expected at least one")
        if resamples < 1:
            raise DataError(f"{resamples} resamples; expected at least 1")
        codes = group_codes(groups, len(kinds))
        return cls(codes, strata=_strata(codes, kinds), size=resamples, seed=seed)

    def weights(self) -> Iterator[Float64Array]:
        """Yield sample weights in blocks [r, n], R rows in all."""
        for drawn in self._draws():
            yield drawn[:, self.group]

    def spread(self, statistic: Statistic) -> "Spread":
        """Return the k values of a statistic with their standard errors and degrees of freedom."""
        values = statistic(np.ones((1, len(self.group))))[0]
        blocks, groups = [], int(self.group.max()) + 1
        joint, picked = np.zeros((groups, len(values))), np.zeros(groups)
        for drawn in self._draws():
            deviations = statistic(drawn[:, self.group]) - values
            joint += (drawn - 1).T @ np.nan_to_num(deviations)
            picked += (drawn - 1).sum(0)
            blocks.append(deviations)
        replicates = np.concatenate(blocks)
        # what a group adds to the value is the covariance of its count with the replicates (Efron 2014)
        influence = (joint - picked[:, None] * np.nan_to_num(replicates).mean(0)) / self.size
        lost = np.isnan(replicates).sum(0)
        # with most resamples lost, those that are left are no fair draw of them
        enough = (2 * lost < self.size) & (self.size - lost > 1)
        variance = np.full(len(values), np.nan)
        # a column without two values has no variance, and numpy would warn of it
        for column in np.flatnonzero(enough):
            variance[column] = np.nanvar(replicates[:, column], ddof=1)
        errors, freedom = standard_errors(variance, influence=influence, strata=self.strata, size=self.size)
        return Spread(values, errors=errors, freedom=freedom, lost=lost)

    def support(self, *classes: BooleanArray) -> Support:
        """Return the numbers of groups and samples of the classes, one mask [n] for each class."""
        groups = tuple(len(np.unique(self.group[mask])) for mask in classes)
        return Support(groups, int(np.sum(classes, axis=1).min()))

    def _draws(self) -> Iterator[Float64Array]:
        """Yield how often each group was drawn, in blocks [r, groups]."""
        rng = np.random.default_rng(self.seed)
        groups = int(self.group.max()) + 1
        # blocks bound the memory; the generator draws the same numbers whatever their size
        rows = max(1, WEIGHTS_AT_ONCE // len(self.group))
        for start in range(0, self.size, rows):
            count = min(rows, self.size - start)
            drawn = np.zeros((count, groups))
            for stratum in self.strata:
                picks = rng.integers(len(stratum), size=(count, len(stratum)))
                # one count for all resamples of a block: each has a range of numbers of its own
                flat = (picks + np.arange(count)[:, None] * len(stratum)).ravel()
                drawn[:, stratum] = np.bincount(flat, minlength=count * len(stratum)).reshape(count, -1)
            yield drawn


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Variation of the k values of a statistic over resamples of groups.

    Attributes:
        values: float64 [k], on all the data.
        errors: float64 [k], standard errors; NaN where more than half of the resamples have no value.
        freedom: float64 [k], degrees of freedom of each error.
        lost: intp [k], resamples without a value because a class was missing from them.
    """

    values: Float64Array
    errors: Float64Array
    freedom: Float64Array
    lost: Indices

    def uncertainty(self, column: int) -> Uncertainty:
        """Return the standard error and the degrees of freedom of one of the k values."""
        return Uncertainty(float(self.errors[column]), float(self.freedom[column]))

    def estimate(
        self, column: int, support: Support, *, within: Range | None = RATE, level: float = COVERAGE
    ) -> Estimate:
        """Return one of the k values with its interval; arguments as `interval`."""
        return interval(float(self.values[column]), self.uncertainty(column), support, within=within, level=level)


def standard_errors(
    variance: Float64Array, influence: Float64Array, strata: Sequence[Indices], size: float
) -> tuple[Float64Array, Float64Array]:
    """Return standard errors [k] and their degrees of freedom, from the variance [k] over `size` resamples.

    Resampling G groups underestimates a variance by (G - 1) / G; each stratum is corrected by its share in it. The
    degrees of freedom are Satterthwaite's (1946), and fewer where a few groups make up most of the variance: the
    variance of the sum of squared influences [groups, k] is then itself estimated from their fourth powers.

    Args:
        variance: [k], before any correction.
        influence: [groups, k], what each group adds to the values.
        strata: the groups of each stratum.
        size: number of resamples behind variance and influences; infinite where they are exact.
    """
    noise = np.nan_to_num(variance) / size  # of each influence, since there are only so many resamples
    shares, variances_of_squares, squares_per_freedom = [], [], []
    for stratum in strata:
        values, count = influence[stratum], len(stratum)
        # the noise of the finite number of resamples adds to the squares and fourth powers of every influence
        squares = np.maximum((values**2).sum(0) - count * noise, 0)
        fourths = (values**4).sum(0) - 6 * noise * squares - 3 * count * noise**2
        bias = count / max(count - 1, 1)
        shares.append(squares * bias)
        variances_of_squares.append(np.maximum(fourths - squares**2 / count, 0) * bias**3)
        squares_per_freedom.append((squares * bias) ** 2 / max(count - 1, 1))
    total = np.sum(shares, 0)
    raw = np.sum([share * (len(s) - 1) / len(s) for share, s in zip(shares, strata, strict=True)], 0)
    varies = total > 0
    safe = np.where(varies, total, 1)
    inflated = np.where(varies, variance * safe / np.where(raw > 0, raw, 1), variance)
    fewest = float(min(map(len, strata)) - 1)
    satterthwaite = np.where(varies, safe**2 / np.where(varies, np.sum(squares_per_freedom, 0), 1), fewest)
    kurtosis = np.sum(variances_of_squares, 0)
    # 2 × variance² over the variance of the variance: the degrees of freedom of a scaled chi-square
    heavy = np.where(kurtosis > 0, 2 * safe**2 / np.where(kurtosis > 0, kurtosis, 1), np.inf)
    freedom = np.minimum(satterthwaite, np.maximum(heavy, FEWEST_FREEDOM))
    return np.sqrt(inflated), np.maximum(freedom, 1.0)


def grouped_bootstrap(
    statistic: Statistic,
    groups: Sequence[Hashable],
    classes: ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    within: Range | None = None,
    level: float = COVERAGE,
) -> tuple[Estimate, ...]:
    """Return estimates of the k values of `statistic`, which takes weights [r, n] and returns [r, k].

    Args:
        statistic: called with weights of 1 for the value, with integer weights for the resamples.
        groups: [n]; None is a group of its own.
        classes: [n]; every resample contains groups of each class. None: all samples are of one class.
        resamples: R.
        seed: of the draws.
        within: the range that the values cannot leave (see `interval`); None for means without one.
        level: of the interval.
    """
    kinds = np.zeros(len(groups), np.bool_) if classes is None else np.asarray(classes)
    draws = Resamples.of(groups, kinds, resamples=resamples, seed=seed)
    spread = draws.spread(statistic)
    support = draws.support(*(kinds == kind for kind in np.unique(kinds)[::-1]))
    return tuple(spread.estimate(i, support, within=within, level=level) for i in range(len(spread.values)))


def _strata(group: Indices, classes: BooleanArray) -> tuple[Indices, ...]:
    """Return the groups of each stratum: groups that have samples of the same classes."""
    _, kind = np.unique(classes, return_inverse=True)
    present = np.zeros((int(group.max()) + 1, int(kind.max()) + 1), np.bool_)
    present[group, kind] = True
    _, stratum = np.unique(present, axis=0, return_inverse=True)
    strata = sorted((np.flatnonzero(stratum.ravel() == s) for s in range(int(stratum.max()) + 1)), key=len)
    single = sum(len(groups) == 1 for groups in strata)
    alone, shared = strata[:single], strata[single:]
    # a stratum of one group never varies: it joins the largest other stratum, or all such groups form one
    if len(alone) == 1 and shared:
        shared[-1] = np.append(shared[-1], alone[0])
    elif alone:
        shared.append(np.concatenate(alone))
    return tuple(shared)
