"""The leak that a calibrated audit would have detected, and the least leak that its flags prove.

Both follow from the realised scores alone; no model is run. A leak of a share s is modelled as moving s of the samples
into the region that only 1 in 20 unseen texts reaches (for alpha = .05), where they are flagged. The other samples are
flagged as unseen text is, with the threshold drawn anew. What really leaked may move less far, so a smaller leak is not
detected and a larger one may be missed: this is the best case.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlog1py, xlogy

from assay.evaluation.arrays import group_codes, scorable
from assay.evaluation.calibration import FlagRate, UnseenTail, beta_binomial_tail, conformal_p_values, exceeding
from assay.evaluation.interval import SIGNIFICANCE
from assay.evaluation.shares import design_effect

POWER = 0.8
"""Probability with which a leak has to be found before it counts as one that a test detects."""


@dataclass(frozen=True, slots=True)
class DetectableLeak:
    """The smallest leak that a test of the flagged share detects.

    Attributes:
        share: of the benchmark; NaN where not even a leak of every sample that can be flagged would be detected.
        power: probability of detection at that share.
        samples: of the benchmark, with a score.
        tied: samples that share the most common value, if there are several: the score is at its floor or its ceiling
            there, and counts as unable to show a leak.
        tied_value: that value; NaN without ties.
    """

    share: float
    power: float
    samples: int
    tied: int
    tied_value: float


@dataclass(frozen=True, slots=True)
class FlagTest:
    """The test of a flagged share: how many flags are significant, and how many unseen text raises.

    Attributes:
        trials: samples with a score, divided by their design effect.
        critical: least number of flags among the trials that is significant at `SIGNIFICANCE`.
        above, below: parameters of the beta law of the rate at which unseen text is flagged.
        inflation: design effect of the samples.
    """

    trials: int
    critical: int
    above: float
    below: float
    inflation: float

    def power(self, leaked: int, flagged: float = 1.0) -> float:
        """Return the probability of a significant result.

        Args:
            leaked: trials that leaked.
            flagged: probability that one of these is flagged; the others are flagged as unseen text is.
        """
        counts = np.arange(leaked + 1)
        # binomial law of the flags among the leaked trials; the rest of the flags come from the others
        chosen = np.exp(
            gammaln(leaked + 1)
            - gammaln(counts + 1)
            - gammaln(leaked - counts + 1)
            + xlogy(counts, flagged)
            + xlog1py(leaked - counts, -flagged)
        )
        rest, others = np.zeros(leaked + 1), self.trials - leaked
        for count in np.flatnonzero(chosen):  # each tail is a sum of its own, and most probabilities underflow to 0
            missing = self.critical - int(count)
            rest[count] = beta_binomial_tail(missing, trials=others, above=self.above, below=self.below)
        return float(chosen @ rest)


def flag_test(
    scores: ArrayLike,
    unseen_scores: ArrayLike,
    tail: UnseenTail,
    *,
    alpha: float = 0.05,
    groups: Sequence[Hashable] | None = None,
) -> FlagTest | None:
    """Return the test of a flagged share; None where there are too few samples, texts or groups for any result.

    Args:
        scores: [n] of the benchmark, NaN where unscorable.
        unseen_scores: [m or more].
        tail: of the unseen texts at `alpha`.
        alpha: level at which single samples are flagged.
        groups: [n].

    Raises:
        AssayError: too few unseen texts, see `conformal_p_values`.
    """
    values, unseen = scorable(scores), scorable(unseen_scores, "unseen scores")
    codes = group_codes(groups, len(values))[~np.isnan(values)]
    values, unseen = values[~np.isnan(values)], unseen[~np.isnan(unseen)]
    if not len(values):
        return None
    codes = np.unique(codes, return_inverse=True)[1]
    inflation = design_effect(conformal_p_values(values, unseen) <= alpha, codes)
    k = exceeding(alpha, tail.texts)
    if np.isnan(inflation) or np.isnan(tail.inflation) or not 0 < k <= tail.texts:
        return None
    trials = max(1, round(len(values) / inflation))
    # the law that `flag_rate` tests with, as if no unseen scores were tied
    nominal = k / tail.inflation, (tail.texts + 1 - k) / tail.inflation
    # the least number of flags that chance alone seldom reaches
    critical = next((c for c in range(1, trials + 1) if beta_binomial_tail(c, trials, *nominal) <= SIGNIFICANCE), None)
    if critical is None:
        return None
    # with ties at the threshold fewer unseen texts lie above it than k - 1
    above = int((unseen > np.sort(unseen)[-k]).sum())
    return FlagTest(
        trials,
        critical=critical,
        above=(above + 1) / tail.inflation,
        below=(tail.texts - above) / tail.inflation,
        inflation=inflation,
    )


def detectable_leak(
    scores: ArrayLike,
    unseen_scores: ArrayLike,
    tail: UnseenTail,
    *,
    alpha: float = 0.05,
    groups: Sequence[Hashable] | None = None,
) -> DetectableLeak:
    """Return the smallest share of a benchmark whose leak `flag_rate` detects at `SIGNIFICANCE` with the power `POWER`.

    Args:
        scores: [n] of the benchmark, NaN where unscorable.
        unseen_scores: [m or more].
        tail: of the unseen texts at `alpha`.
        alpha: level at which single samples are flagged.
        groups: [n].

    Raises:
        AssayError: too few unseen texts, see `conformal_p_values`.
    """
    values = scorable(scores)
    values = values[~np.isnan(values)]
    if not len(values):
        return DetectableLeak(np.nan, power=POWER, samples=0, tied=0, tied_value=np.nan)
    distinct, counts = np.unique(values, return_counts=True)
    most = int(counts.max())
    tied, tied_value = (most, float(distinct[counts.argmax()])) if most > 1 else (0, np.nan)
    nothing = DetectableLeak(np.nan, power=POWER, samples=len(values), tied=tied, tied_value=tied_value)
    test = flag_test(scores, unseen_scores, tail, alpha=alpha, groups=groups)
    if test is None:
        return nothing
    # the power grows with the leak, so the first one that is enough is the smallest; tied samples cannot move up
    for leaked in range(int((len(values) - tied) / test.inflation) + 1):
        if test.power(leaked) >= POWER:
            return replace(nothing, share=leaked / test.trials)
    return nothing


def seen_share_bound(rates: Sequence[FlagRate]) -> float:
    """Return a lower confidence bound of the share of samples that are not like unseen text.

    Of unseen samples a share c is flagged, of all others at most every one: F ≤ λ + (1 - λ) c. So with the lower end L
    of the interval of F, λ ≥ (L - c) / (1 - c). The largest bound over several levels is returned; with two levels and
    intervals of 95 %, whose lower ends are exceeded in 2.5 % of cases each, it holds in 95 % of cases.

    Args:
        rates: of the same samples, at different levels.

    Returns:
        0 where nothing is proved; NaN without intervals.
    """
    useful = [rate for rate in rates if rate.rate.has_interval and rate.chance < 1]
    if not useful:
        return np.nan
    # a lower bound of each level is one of the share, so the largest holds if all of them do
    return max(0.0, *((rate.rate.low - rate.chance) / (1 - rate.chance) for rate in useful))
