"""The contaminated share of a benchmark: an estimate with an interval, an upper bound, and what can be detected.

The share λ is 1 - π₀, where π₀ is the share of samples whose conformal p-values are those of unseen text. Near 1 the
density of the p-values is π₀, as members seldom score below most unseen texts. It is estimated by the share of p-values
above one half, doubled (Storey, Taylor and Siegmund 2004).

The interval is Student's over resamples of the groups of both sides: the unseen text is drawn too.

The upper bound uses another part of the scores: the region that a tenth of the unseen text reaches. Texts that were
seen several times fill it, so there a small share shows with a fraction of the samples (`ContaminatedShare.upper_at`).
λ counts what looks trained on. Texts that were not trained on look more familiar, too, where other texts of their
project or benchmark were trained on ("spillover"), so λ is then too high. An allowance says how much higher such texts
may score. The lower end of the interval then counts only what exceeds it. It is the better of two bounds, made of the
samples lowered by the allowance: that of λ, and that of those which still reach the highest tenth of the unseen text.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from assay.errors import DataError
from assay.evaluation.arrays import Indices, group_codes, scorable
from assay.evaluation.bootstrap import RESAMPLES, SEED, Resamples
from assay.evaluation.calibration import HALF, UnseenTail, conformal_p_values, exceeding, flag_rate
from assay.evaluation.estimate import GROUPS_FOR_INTERVAL, Estimate, counted, unknown
from assay.evaluation.interval import SIGNIFICANCE, without_interval
from assay.evaluation.permutation_test import TOP
from assay.evaluation.power import POWER
from assay.types import BooleanArray, Float64Array

SHARE_LEVEL = 0.9
NORMAL_QUARTILES = float(ndtri(0.75) - ndtri(0.25))
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@dataclass(frozen=True, slots=True)
class ContaminatedShare:
    """Estimated share of a benchmark that looks trained on.

    Attributes:
        estimate: λ within 0 and 1, with its interval; with an allowance the lower end is that of what exceeds it.
        top: share of the samples that score as high as the highest `TOP` of the unseen text; the upper end of its
            90 % interval is a one-sided 95 % bound.
        samples: of the benchmark, with a score.
        unseen: texts with a score.
        density: how the density of the p-values at 1 was estimated.
    """

    estimate: Estimate
    top: Estimate
    samples: int
    unseen: int
    density: Literal["storey"] = "storey"

    def upper_at(self, reached: float) -> float:
        """Return the upper 95 % bound on the share of samples of which a part would show; NaN without an interval.

        A share s of such samples and the rest like unseen text give a top share of s · reached + (1 - s) · `TOP`.

        Args:
            reached: probability that such a sample scores as high as the highest `TOP` of unseen text: 1 where all of
                them do, `TOP` where they score like unseen text.
        """
        if math.isnan(self.top.high):
            return math.nan
        return min(1.0, max(0.0, (self.top.high - TOP) / (reached - TOP))) if reached > TOP else 1.0


@dataclass(frozen=True, slots=True)
class Effect:
    """How far texts that a model saw stand out from unseen text.

    Attributes:
        superiority: probability that such a text scores above an unseen one; chance is .5.
        top: probability that it scores as high as the highest `TOP` of unseen text; chance is `TOP`.
    """

    superiority: float
    top: float

    @classmethod
    def of(cls, scores: ArrayLike, unseen_scores: ArrayLike) -> "Effect":
        """Return the effect that scores [n] have against those of unseen text [m]; neither holds NaN."""
        values, unseen = scorable(scores), scorable(unseen_scores, "unseen scores")
        ordered = np.sort(unseen)
        below = (np.searchsorted(ordered, values, side) for side in SIDES)
        superiority = float(sum(counts.mean() for counts in below) / (2 * len(unseen)))
        return cls(superiority, float((conformal_p_values(values, unseen) <= TOP).mean()))


def robust_spread(values: ArrayLike) -> float:
    """Return the interquartile range in standard deviations of a normal distribution; NaN is left out."""
    kept = scorable(values)
    kept = kept[~np.isnan(kept)]
    return float(np.subtract(*np.quantile(kept, (0.75, 0.25)))) / NORMAL_QUARTILES if len(kept) else 0.0


def contaminated_share(
    scores: ArrayLike,
    unseen_scores: ArrayLike,
    groups: Sequence[Hashable],
    unseen_groups: Sequence[Hashable],
    *,
    allowance: float = 0.0,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> ContaminatedShare:
    """Estimate the share of a benchmark that looks trained on, from a score and unseen text.

    Args:
        scores: [n], higher = seen; NaN (unscorable) is left out.
        unseen_scores: [m], the same score of unseen text of the same kind.
        groups: [n]; None is a group of its own.
        unseen_groups: [m].
        allowance: how much higher texts may score that were not trained on, in units of the score.
        resamples: behind the interval.
        seed: of the resamples.

    Raises:
        DataError: an array is not one-dimensional or holds an infinity, or lengths differ.
    """
    values, unseen = scorable(scores), scorable(unseen_scores, "unseen scores")
    pooled, side = np.concatenate([values, unseen]), np.arange(len(values) + len(unseen)) < len(values)
    if len(groups) != len(values) or len(unseen_groups) != len(unseen):
        raise DataError(f"{len(groups)} + {len(unseen_groups)} groups for {len(values)} + {len(unseen)} scores")
    kept = ~np.isnan(pooled)
    pooled, side = pooled[kept], side[kept]
    kept_groups = list(compress([*groups, *unseen_groups], kept))
    n, m = int(side.sum()), int((~side).sum())
    if not n or not m:
        return ContaminatedShare(unknown(SHARE_LEVEL), top=unknown(SHARE_LEVEL), samples=n, unseen=m)
    top = _top_share(pooled, side, kept_groups)
    draws = Resamples.of(kept_groups, side, resamples=resamples, seed=seed)
    lowered = np.where(side, pooled - allowance, pooled)
    order = np.argsort(pooled[~side], kind="stable")
    ordered = pooled[~side][order]
    ranks = [np.searchsorted(ordered, each[side]) for each in ((pooled, lowered) if allowance else (pooled,))]

    def shares(weights: Float64Array) -> Float64Array:
        own, others = weights[:, side], weights[:, ~side][:, order]
        # p-values of every resample without sorting again: ranks stay, only the weights of unseen texts change
        below = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(others, axis=1)], axis=1)
        total = own.sum(axis=1)
        p_values = ((1 + below[:, -1:] - below[:, reached]) / (below[:, -1:] + 1) for reached in ranks)
        sums = np.column_stack([(own * np.where(each > HALF, 2.0, 0.0)).sum(axis=1) for each in p_values])
        null: Float64Array = 1 - sums / np.where(total > 0, total, np.nan)[:, None]
        return null

    spread, support = draws.spread(shares), draws.support(side, ~side)
    value, uncertainty = float(spread.values[0]), spread.uncertainty(0)
    inside = min(1.0, max(0.0, value))
    if support.fewest < GROUPS_FOR_INTERVAL or math.isnan(uncertainty.error):
        reason = f"too few groups for an interval: {counted(support.groups)}"
        estimate = without_interval(inside, support, reason, level=SHARE_LEVEL)
        return ContaminatedShare(estimate, top=top, samples=n, unseen=m)
    half = uncertainty.quantile(SHARE_LEVEL) * uncertainty.error
    least = value - half
    if allowance:
        both = (1 + SHARE_LEVEL) / 2  # the better of two bounds
        # what exceeds the allowance, seen twice: over all ranks, and in the top, where texts seen often stand out
        beyond, exceeding_it = spread.uncertainty(1), _top_share(lowered, own=side, groups=kept_groups, level=both)
        bounds = [float(spread.values[1]) - beyond.quantile(both) * beyond.error, (exceeding_it.low - TOP) / (1 - TOP)]
        # an allowance can only widen the interval
        least = min(least, max((bound for bound in bounds if not math.isnan(bound)), default=0.0))
    low, high = (min(1.0, max(0.0, end)) for end in (least, value + half))
    estimate = Estimate(value=inside, low=low, high=high, level=SHARE_LEVEL, groups=support.groups)
    return ContaminatedShare(estimate, top=top, samples=n, unseen=m)


def detectable_share(
    groups: Sequence[Hashable],
    unseen_scores: ArrayLike,
    unseen_groups: Sequence[Hashable],
    effect: Effect,
    *,
    allowance: float = 0.0,
) -> float:
    """Return the smallest λ that the test of a whole set reveals with the power `POWER`; above 1 where none does.

    The test is `set_test` with `TOP`: the larger of two statistics, each of which is taken at half the level. Samples
    of a group depend on each other as much as the unseen texts of a group do. With an allowance the samples that were
    not trained on score lower than the unseen text that they are compared with.

    Args:
        groups: [n], of the benchmark.
        unseen_scores: [m]; NaN is left out.
        unseen_groups: [m].
        effect: how far samples that were trained on stand out after the allowance is taken off their scores.
        allowance: taken off every score of the benchmark.
    """
    from scipy.stats import rankdata  # noqa: PLC0415  slow to import, needed only here

    values = scorable(unseen_scores, "unseen scores")
    kept = ~np.isnan(values)
    m = int(kept.sum())
    if not groups or m < 2:  # noqa: PLR2004  no spread
        return math.inf
    codes = group_codes(list(compress(unseen_groups, kept)), m)
    own_codes = group_codes(list(groups), len(groups))
    ranks = rankdata(values[kept]) / m
    quantiles = float(ndtri(1 - SIGNIFICANCE / 2) + ndtri(POWER))
    smallest = math.inf
    rest = Effect.of(values[kept] - allowance, values[kept]) if allowance else Effect(0.5, TOP)
    for column, variance, gain, loss in (
        (ranks, 1 / 12, effect.superiority - 0.5, 0.5 - rest.superiority),
        ((ranks > 1 - TOP).astype(np.float64), TOP * (1 - TOP), effect.top - TOP, TOP - rest.top),
    ):
        if gain > 0:
            # a share λ lifts the statistic by λ · gain, the rest lowers it by (1 - λ) · loss: λ has to make up for
            # both the loss and the quantiles of level and power
            dependence = _intraclass(column, codes)
            own, others = _inflation(own_codes, dependence), _inflation(codes, dependence)
            error = math.sqrt(variance * (own / len(groups) + others / m))
            smallest = min(smallest, (quantiles * error + loss) / (gain + loss))
    return smallest


def _top_share(
    scores: Float64Array, own: BooleanArray, groups: Sequence[Hashable], level: float = SHARE_LEVEL
) -> Estimate:
    """Return the share of samples that score as high as the highest `TOP` of the unseen text."""
    unseen = scores[~own]
    if exceeding(TOP, len(unseen)) < 1:
        return unknown(level)
    own_groups, unseen_groups = list(compress(groups, own)), list(compress(groups, ~own))
    p_values, tail = conformal_p_values(scores[own], unseen), UnseenTail.of(unseen, unseen_groups, TOP)
    return flag_rate(p_values, TOP, groups=own_groups, unseen=tail, level=level).rate


def _intraclass(values: Float64Array, codes: Indices) -> float:
    """Return the intraclass correlation by one-way analysis of variance, at least 0."""
    sizes = np.bincount(codes)
    count, total = len(sizes), len(values)
    if count in (1, total):
        return 0.0
    means = np.bincount(codes, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (count - 1)
    within = float(((values - means[codes]) ** 2).sum()) / (total - count)
    # size of a group where groups differ in size (analysis of variance with unequal groups)
    typical = (total - (sizes**2).sum() / total) / (count - 1)
    spread = between + (typical - 1) * within
    return max(0.0, (between - within) / spread) if spread > 0 else 0.0


def _inflation(codes: Indices, dependence: float) -> float:
    """Return the design effect of groups: 1 + (mean size of a sample's group - 1) × intraclass correlation."""
    sizes = np.bincount(codes)
    return 1 + (float((sizes**2).sum() / sizes.sum()) - 1) * dependence
