"""Dose and response: how often must a model see a sample before a score detects it?

The dose is the number of times that the text occurs in the training data; dose 0 is never seen. Each dose is compared
with dose 0 on the same resamples, so the points of the curve can be compared with each other.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import DataError
from assay.evaluation.arrays import finite, scorable
from assay.evaluation.bootstrap import RESAMPLES, SEED, Resamples
from assay.evaluation.correlation import weighted_spearman
from assay.evaluation.estimate import Estimate, unknown
from assay.evaluation.interval import CORRELATION
from assay.evaluation.ranking import Sweep
from assay.evaluation.ranking_result import tpr_estimate
from assay.types import Float64Array

FALSE_POSITIVE_RATE = 0.05


@dataclass(frozen=True, slots=True)
class DosePoint:
    """One dose of a dose-response curve.

    Attributes:
        name: of the score.
        dose: how often the model saw these samples.
        samples: samples of this dose with a score.
        unscorable: samples of this dose without one.
        mean: mean score of this dose.
        auroc: of this dose against dose 0.
        tpr_at_fpr_5: TPR of this dose where at most 5 % of dose 0 are flagged.
    """

    name: str
    dose: float
    samples: int
    unscorable: int
    mean: Estimate
    auroc: Estimate
    tpr_at_fpr_5: Estimate


def dose_response(
    name: str,
    scores: ArrayLike,
    doses: ArrayLike,
    groups: Sequence[Hashable],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[DosePoint, ...]:
    """Return every dose above 0 compared with dose 0, in ascending order of dose.

    A dose without a scored sample gives NaN estimates, not an error.

    Args:
        name: of the score.
        scores: [n], higher = member, NaN where unscorable.
        doses: [n], not negative.
        groups: [n], drawn as a whole; None is a group of its own.
        resamples: R.
        seed: of the draws.

    Raises:
        DataError: shapes differ, a score is infinite, a dose is negative, or none is 0 or none above 0.
    """
    values, amounts = _checked(scores, doses)
    if (amounts > 0).all() or not (amounts > 0).any():
        raise DataError(f"doses from {amounts.min():g} to {amounts.max():g}; expected dose 0 and doses above it")
    draws = Resamples.of(groups, amounts, resamples=resamples, seed=seed)
    present = map(float, np.unique(amounts[amounts > 0]))
    return tuple(_point(name, dose, values=values, amounts=amounts, draws=draws) for dose in present)


def dose_correlation(
    scores: ArrayLike,
    doses: ArrayLike,
    groups: Sequence[Hashable],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Estimate:
    """Return Spearman's correlation of score and dose over all scored samples; arguments as `dose_response`.

    The samples of one dose are tied, so even a score that orders the doses perfectly has a correlation below 1.
    """
    values, amounts = _checked(scores, doses)
    used = ~np.isnan(values)
    if not used.any():
        return unknown()
    draws = Resamples.of(groups, amounts, resamples=resamples, seed=seed)

    def correlation(weights: Float64Array) -> Float64Array:
        return weighted_spearman(values[used], amounts[used], weights[:, used])[:, None]

    return draws.spread(correlation).estimate(0, draws.support(used), within=CORRELATION)


def _point(name: str, dose: float, *, values: Float64Array, amounts: Float64Array, draws: Resamples) -> DosePoint:
    used = ~np.isnan(values)
    dosed = used & (amounts == dose)
    # dose 0 is the other class of every point
    judged = used & ((amounts == dose) | (amounts == 0))
    samples, unscorable = int(dosed.sum()), int((amounts == dose).sum() - dosed.sum())
    if not samples or not (judged & ~dosed).any():
        missing = unknown()
        return DosePoint(
            name, dose=dose, samples=samples, unscorable=unscorable, mean=missing, auroc=missing, tpr_at_fpr_5=missing
        )
    sweep = Sweep.over(values[judged], dosed[judged])

    def statistic(weights: Float64Array) -> Float64Array:
        dosed_weights = weights[:, dosed]
        total = dosed_weights.sum(-1)
        mean = np.where(total > 0, dosed_weights @ values[dosed] / np.where(total > 0, total, 1), np.nan)
        counts = sweep.counts(weights[:, judged])
        return np.stack([mean, counts.auroc(), counts.tpr_at_fpr(FALSE_POSITIVE_RATE)], axis=-1)

    spread, unseen = draws.spread(statistic), judged & ~dosed
    support = draws.support(dosed, unseen)
    mean = spread.estimate(0, draws.support(dosed), within=None)
    auroc = spread.estimate(1, support)
    tpr = tpr_estimate(spread, 2, support, fpr=FALSE_POSITIVE_RATE, negatives=int(unseen.sum()))
    return DosePoint(name, dose=dose, samples=samples, unscorable=unscorable, mean=mean, auroc=auroc, tpr_at_fpr_5=tpr)


def _checked(scores: ArrayLike, doses: ArrayLike) -> tuple[Float64Array, Float64Array]:
    values, amounts = scorable(scores), finite(doses, "doses")
    if values.shape != amounts.shape or not len(values):
        raise DataError(f"{len(values)} scores and {len(amounts)} doses; expected one dose a score")
    if (amounts < 0).any():
        raise DataError(f"a dose of {amounts.min():g}; expected none below 0")
    return values, amounts
