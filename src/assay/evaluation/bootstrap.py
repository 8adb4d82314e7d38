"""Intervals by resampling groups: samples of one project, task or book stand or fall together.

A resample draws as many groups as there are, with replacement (Efron and Tibshirani 1993, ch. 8; Davison and
Hinkley 1997, section 3.8, resampling of clusters), and a group drawn twice counts its samples twice. So a
resample is a vector of integer weights, and a statistic is a function of a block of weights [r, n] to values
[r, k].

Strata. Classes may live in different groups (a project is a member or is not) or in the same (a task with a
leaked and a fresh form). Groups with the same set of classes form a stratum and are drawn from that stratum,
so a resample keeps the design of the study. A stratum of a single group would never vary and would claim too
much: such strata are pooled. Where a resample still lacks a class, the statistic is NaN there; the interval
ignores those resamples and says how many there were (`ignored`).

No interval is given (NaN bounds) where a class comes from a single group: nothing there says how another
group would differ.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import DataError
from assay.evaluation.arrays import Booleans, Floats, Indices, both_classes, group_codes, labels, scorable
from assay.evaluation.estimate import Estimate
from assay.evaluation.ranking import Sweep

RESAMPLES = 1000
SEED = 0
LEVEL = 0.95

BLOCK = 1 << 19
"""Weights held at a time: 4 MiB of float64, whatever the number of resamples."""

Statistic = Callable[[Floats], Floats]
"""Weights [r, n] to values [r, k]."""

Metric = Callable[[Sweep, Floats], Floats]
"""Sorted scores and weights [..., n] to values [...]."""


def auroc_of(sweep: Sweep, weights: Floats) -> Floats:
    """The AUROC as a `Metric`."""
    return sweep.counts(weights).auroc()


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """The draws of groups, made once, so that whatever is computed from them is paired.

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
            DataError: lengths differ, there is no sample, or fewer than one resample is asked for.
        """
        kinds = np.asarray(classes)
        if not len(kinds):
            raise DataError("no samples; expected at least one")
        if resamples < 1:
            raise DataError(f"{resamples} resamples; expected at least 1")
        codes = group_codes(groups, len(kinds))
        return cls(codes, _strata(codes, kinds), resamples, seed)

    def weights(self) -> Iterator[Floats]:
        """Sample weights in blocks [r, n], R rows in all."""
        rng = np.random.default_rng(self.seed)
        groups = int(self.group.max()) + 1
        rows = max(1, BLOCK // len(self.group))
        for start in range(0, self.size, rows):
            count = min(rows, self.size - start)
            drawn = np.zeros((count, groups))
            for stratum in self.strata:
                picks = rng.integers(len(stratum), size=(count, len(stratum)))
                flat = (picks + np.arange(count)[:, None] * len(stratum)).ravel()
                drawn[:, stratum] = np.bincount(flat, minlength=count * len(stratum)).reshape(count, -1)
            yield drawn[:, self.group]

    def replicates(self, statistic: Statistic) -> Floats:
        """[R, k]: the statistic of every resample."""
        return np.concatenate([statistic(block) for block in self.weights()])

    def independent(self, classes: ArrayLike, used: Booleans) -> int:
        """The fewest groups that any class of the `used` samples comes from."""
        kinds = np.asarray(classes)
        return min((len(np.unique(self.group[used & (kinds == kind)])) for kind in np.unique(kinds)), default=0)


def interval(
    value: float, replicates: Floats, *, independent: int, rate: bool = False, level: float = LEVEL
) -> Estimate:
    """The percentile interval of `replicates` [R] around `value`.

    NaN replicates (a resample without one of the classes) are ignored; where more than half are NaN, or fewer
    than two independent groups stand behind a class, there is no interval. Where a `rate` (AUROC, TPR,
    accuracy: within 0 and 1) of exactly 0 or 1 never varies, the percentiles would claim certainty: the bound
    is then Clopper and Pearson's for that many independent trials, (alpha / 2) ** (1 / independent) from the
    other end. That is exact for a share of groups, and conservative for an AUROC, which contains that many
    independent pairs.
    """
    valid = replicates[~np.isnan(replicates)]
    # a spread needs two groups
    if np.isnan(value) or independent < 2 or 2 * len(valid) < len(replicates):  # noqa: PLR2004  as said above
        return Estimate(value, np.nan, np.nan, level)
    tail = (1 - level) / 2
    if rate and value in (0.0, 1.0) and (valid == value).all():
        bound = tail ** (1 / independent)
        low, high = (bound, 1.0) if value else (0.0, 1 - bound)
        return Estimate(value, low, high, level)
    low, high = np.quantile(valid, (tail, 1 - tail))
    return Estimate(value, float(low), float(high), level)


def ignored(replicates: Floats) -> int:
    """How many resamples gave no value because a class was missing from them."""
    return int(np.isnan(replicates).sum())


def grouped_bootstrap(
    statistic: Statistic,
    groups: Sequence[Hashable],
    classes: ArrayLike | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    rate: bool = False,
    level: float = LEVEL,
) -> tuple[Estimate, ...]:
    """Estimates of the k values of `statistic`, which takes weights [r, n] and returns [r, k].

    Args:
        statistic: sees weights of one for the value, integer weights for the resamples.
        groups: [n]; None is a group of its own.
        classes: [n], what every resample has to keep; one class where None.
        resamples: R.
        seed: of the draws.
        rate: whether the values are rates within 0 and 1 (see `interval`).
        level: of the interval.
    """
    kinds = np.zeros(len(groups), np.bool_) if classes is None else np.asarray(classes)
    draws = Resamples.of(groups, kinds, resamples=resamples, seed=seed)
    everything = np.ones(len(kinds))
    values = statistic(everything[None, :])[0]
    replicates = draws.replicates(statistic)
    independent = draws.independent(kinds, np.ones(len(kinds), np.bool_))
    return tuple(
        interval(float(v), r, independent=independent, rate=rate, level=level)
        for v, r in zip(values, replicates.T, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """How two scores differ on the same samples.

    Attributes:
        estimate: metric of the first minus metric of the second, with its paired interval.
        p_value: two-sided, of no difference: twice the smaller share of resamples on either side of zero,
            (1 + count) / (R + 1). NaN where there is no interval.
        samples: how many samples both scores could score; only these are compared.
    """

    estimate: Estimate
    p_value: float
    samples: int


def paired_difference(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    positive: ArrayLike,
    groups: Sequence[Hashable],
    *,
    metric: Metric = auroc_of,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> Difference:
    """The difference of a metric between two scores, both computed on every resample.

    Args:
        scores_a: [n], NaN where unscorable.
        scores_b: [n], NaN where unscorable.
        positive: [n].
        groups: [n]; None is a group of its own.
        metric: the AUROC unless another is given.
        resamples: R.
        seed: of the draws.
        level: of the interval.

    Raises:
        DataError: shapes differ, a score is infinite, or the samples that both can score are of one class.
    """
    a, b = scorable(scores_a), scorable(scores_b)
    truths = labels(positive, len(a))
    if a.shape != b.shape:
        raise DataError(f"{len(a)} scores against {len(b)}; expected scores of the same samples")
    both = ~(np.isnan(a) | np.isnan(b))
    both_classes(truths[both])
    sweeps = [Sweep.over(scores[both], truths[both]) for scores in (a, b)]

    def difference(weights: Floats) -> Floats:
        first, second = (metric(sweep, weights[:, both]) for sweep in sweeps)
        return (first - second)[:, None]

    draws = Resamples.of(groups, truths, resamples=resamples, seed=seed)
    replicates = draws.replicates(difference)[:, 0]
    value = float(difference(np.ones((1, len(a))))[0, 0])
    independent = draws.independent(truths, both)
    estimate = interval(value, replicates, independent=independent, level=level)
    p_value = _two_sided(replicates) if estimate.has_interval else np.nan
    return Difference(estimate, p_value, int(both.sum()))


def _two_sided(replicates: Floats) -> float:
    valid = replicates[~np.isnan(replicates)]
    smaller = min((valid <= 0).sum(), (valid >= 0).sum())
    return min(1.0, 2 * float(1 + smaller) / (len(valid) + 1))


def _strata(group: Indices, classes: Booleans) -> tuple[Indices, ...]:
    _, kind = np.unique(classes, return_inverse=True)
    present = np.zeros((int(group.max()) + 1, int(kind.max()) + 1), np.bool_)
    present[group, kind] = True
    _, stratum = np.unique(present, axis=0, return_inverse=True)
    members = [np.flatnonzero(stratum.ravel() == s) for s in range(int(stratum.max()) + 1)]
    alone = [m for m in members if len(m) == 1]
    shared = sorted((m for m in members if len(m) > 1), key=len)
    if len(alone) == 1 and shared:
        shared[-1] = np.append(shared[-1], alone[0])
    elif alone:
        shared.append(np.concatenate(alone))
    return tuple(shared)
