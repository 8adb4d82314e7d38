"""Ranking metrics of a score with their intervals, and the number of samples that it could score."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from assay.evaluation.arrays import both_classes, labels, scorable
from assay.evaluation.bootstrap import RESAMPLES, SEED, Resamples, Spread, Statistic
from assay.evaluation.estimate import GROUPS_FOR_INTERVAL, Estimate, unknown
from assay.evaluation.interval import COVERAGE, Support, without_interval
from assay.evaluation.ranking import Sweep, roc_curve
from assay.types import BooleanArray, Float64Array

FALSE_POSITIVE_RATES = (0.01, 0.05)
METRICS = 2 + len(FALSE_POSITIVE_RATES)
CURVE_POINTS = 200

ALLOWED_FALSE_POSITIVES = 5
"""Smallest number of false positives that a rate must allow for an interval of its TPR. With fewer, the highest
negatives alone determine the threshold, and resamples of them do not show how far it may be off."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Metrics of how well a score ranks positives above negatives.

    Attributes:
        name: of the score.
        positives: positive samples with a score.
        negatives: negative samples with a score.
        unscorable_positives: positive samples without one; they count in no metric.
        unscorable_negatives: negative samples without one.
        groups: number of groups of the scored samples.
        auroc: area under the ROC curve; reported as it is, also below one half.
        auprc: average precision.
        auprc_chance: chance level of the AUPRC: the share of positives among the scored samples.
        tpr_at_fpr: largest TPR at an FPR of at most 0.01 and 0.05 (the keys). It depends on few negatives: there
            is no interval if the FPR allows fewer than `ALLOWED_FALSE_POSITIVES` of them.
        fpr: float64 [at most 200], the ROC curve from (0, 0) to (1, 1); empty if a class has no score.
        tpr: float64, as long as `fpr`.
        ignored_resamples: resamples that lost a class and were left out of the intervals.
    """

    name: str
    positives: int
    negatives: int
    unscorable_positives: int
    unscorable_negatives: int
    groups: int
    auroc: Estimate
    auprc: Estimate
    auprc_chance: float
    tpr_at_fpr: Mapping[float, Estimate]
    fpr: Float64Array
    tpr: Float64Array
    ignored_resamples: int = 0

    @property
    def coverage(self) -> float:
        """Share of the samples that could be scored."""
        scored = self.positives + self.negatives
        return scored / (scored + self.unscorable_positives + self.unscorable_negatives)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the limits of the metrics, for the reader of a report."""
        notes = []
        if not (self.positives and self.negatives):
            notes.append(f"{self.positives} positives and {self.negatives} negatives could be scored: no metric.")
        for rate in self.tpr_at_fpr:
            least = round(1 / rate)
            if 0 < self.negatives < least:
                allows = f"TPR at {rate:.0%} FPR allows no false positive at all with {self.negatives} negatives"
                notes.append(f"{allows} (it takes {least} to allow one).")
        if self.positives and self.negatives and not self.auroc.has_interval:
            reason = f"{self.auroc.reason} (members + non-members); it takes {GROUPS_FOR_INTERVAL} a class."
            notes.append(reason.capitalize())
        if self.auroc.warning:
            notes.append(self.auroc.warning)
        return tuple(notes)


def rank_score(
    name: str,
    scores: ArrayLike,
    positive: ArrayLike,
    groups: Sequence[Hashable],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = COVERAGE,
) -> Ranking:
    """Return the ranking metrics of one score; see `rank_all`."""
    return rank_all({name: scores}, positive, groups, resamples=resamples, seed=seed, level=level)[name]


def rank_all(
    scores: Mapping[str, ArrayLike],
    positive: ArrayLike,
    groups: Sequence[Hashable],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    level: float = COVERAGE,
) -> dict[str, Ranking]:
    """Return the ranking metrics of several scores of the same samples, on the same resamples.

    A score that no sample of a class has gets NaN estimates and a note, not an error.

    Args:
        scores: name to [n], higher = positive, NaN where unscorable.
        positive: [n], booleans.
        groups: [n], drawn as a whole; None is a group of its own.
        resamples: number of resamples for an interval.
        seed: of the draws.
        level: of the intervals.

    Raises:
        DataError: shapes differ, a score is infinite, or all samples are of one class.
    """
    truths = labels(positive, len(groups))
    both_classes(truths)
    columns = {name: _Column.of(name, values, truths) for name, values in scores.items()}
    measurable = {name: column.measured() for name, column in columns.items() if column.measurable}
    draws = Resamples.of(groups, truths, resamples=resamples, seed=seed)

    def every_metric(weights: Float64Array) -> Float64Array:
        return np.concatenate([metrics(weights) for metrics in measurable.values()], axis=-1)

    spread = draws.spread(every_metric) if measurable else None
    first = {name: METRICS * place for place, name in enumerate(measurable)}
    rankings = {}
    for name, column in columns.items():
        estimates, lost = [unknown(level)] * METRICS, 0
        if spread is not None and name in measurable:
            negatives = column.used & ~truths
            support = draws.support(column.used & truths, negatives)
            estimates = _estimates(spread, first[name], support, negatives=int(negatives.sum()), level=level)
            lost = int(spread.lost[first[name]])
        rankings[name] = column.ranking(estimates, groups=len(np.unique(draws.group[column.used])), lost=lost)
    return rankings


def tpr_estimate(
    spread: Spread, column: int, support: Support, *, fpr: float, negatives: int, level: float = COVERAGE
) -> Estimate:
    """Return a TPR at a fixed FPR, with its interval if the FPR allows enough false positives.

    Args:
        spread: of the metrics.
        column: of the TPR among them.
        support: groups and samples of the TPR.
        fpr: the false-positive rate.
        negatives: number of negatives that have a score.
        level: of the interval.
    """
    estimate = spread.estimate(column, support, level=level)
    # rounded: a product that misses the limit by a rounding error reaches it
    if not estimate.has_interval or round(fpr * negatives, 9) >= ALLOWED_FALSE_POSITIVES:
        return estimate
    reason = f"too few non-members for an interval: {negatives}, expected {round(ALLOWED_FALSE_POSITIVES / fpr)}"
    return without_interval(estimate.value, support, reason, level=level)


def _estimates(spread: Spread, first: int, support: Support, *, negatives: int, level: float) -> list[Estimate]:
    """Return AUROC, AUPRC and TPRs of the score whose metrics begin at column `first`."""
    estimates = [spread.estimate(column, support, level=level) for column in (first, first + 1)]
    for column, rate in enumerate(FALSE_POSITIVE_RATES, first + 2):
        estimates.append(tpr_estimate(spread, column, support, fpr=rate, negatives=negatives, level=level))
    return estimates


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One score of all samples, and a mask of the samples that have it."""

    name: str
    values: Float64Array
    truths: BooleanArray
    used: BooleanArray

    @classmethod
    def of(cls, name: str, scores: ArrayLike, truths: BooleanArray) -> Self:
        values = scorable(scores, f"scores of {name!r}")
        labels(truths, len(values))
        return cls(name, values=values, truths=truths, used=~np.isnan(values))

    @property
    def measurable(self) -> bool:
        """Return True if both classes have a score."""
        return bool((self.used & self.truths).any() and (self.used & ~self.truths).any())

    def measured(self) -> Statistic:
        """Return the statistic of AUROC, AUPRC and TPRs: weights [r, n] to [r, METRICS]."""
        # the scores are sorted once, for all resamples
        sweep = Sweep.over(self.values[self.used], self.truths[self.used])
        everything = bool(self.used.all())

        def metrics(weights: Float64Array) -> Float64Array:
            counts = sweep.counts(weights if everything else weights[:, self.used])
            tprs = [counts.tpr_at_fpr(rate) for rate in FALSE_POSITIVE_RATES]
            return np.stack([counts.auroc(), counts.auprc(), *tprs], axis=-1)

        return metrics

    def ranking(self, estimates: Sequence[Estimate], *, groups: int, lost: int) -> Ranking:
        fpr, tpr = np.zeros(0), np.zeros(0)
        if self.measurable:
            fpr, tpr = thinned(*roc_curve(self.values[self.used], self.truths[self.used])[:2])
        positives, negatives = (int((self.used & side).sum()) for side in (self.truths, ~self.truths))
        area, precision, *rates = estimates
        return Ranking(
            name=self.name,
            positives=positives,
            negatives=negatives,
            unscorable_positives=int(self.truths.sum()) - positives,
            unscorable_negatives=int((~self.truths).sum()) - negatives,
            groups=groups,
            auroc=area,
            auprc=precision,
            auprc_chance=positives / (positives + negatives) if positives + negatives else np.nan,
            tpr_at_fpr=dict(zip(FALSE_POSITIVE_RATES, rates, strict=True)),
            fpr=fpr,
            tpr=tpr,
            ignored_resamples=lost,
        )


def thinned(fpr: Float64Array, tpr: Float64Array, points: int = CURVE_POINTS) -> tuple[Float64Array, Float64Array]:
    """Return at most `points` of the points of a curve, both ends included.

    Points inside a straight line are removed first, which does not change the curve. Of the others, half are spread
    evenly over fpr + tpr (gaps of at most about 4 / points) and half evenly over ln fpr, because detectors are compared
    at small false-positive rates, and plots magnify the left edge.
    """
    steps = np.stack([np.diff(fpr), np.diff(tpr)])
    turn = steps[0, 1:] * steps[1, :-1] - steps[0, :-1] * steps[1, 1:]
    # the cross product of two neighbouring steps is 0 on a straight line
    corner = np.concatenate([[True], np.abs(turn) > np.finfo(np.float64).eps, [True]])
    fpr, tpr = fpr[corner], tpr[corner]
    if len(fpr) <= points:
        return fpr, tpr
    half = points // 2
    first = fpr[fpr > 0][0]
    # the sum grows along the curve, on flat and on steep parts alike
    along = np.searchsorted(fpr + tpr, np.linspace(0, 2, half))
    left = np.searchsorted(fpr, np.geomspace(first, 1, points - half), side="right") - 1
    kept = np.unique(np.clip(np.concatenate([[0], along[1:-1], left[:-1], [len(fpr) - 1]]), 0, len(fpr) - 1))
    return fpr[kept], tpr[kept]
