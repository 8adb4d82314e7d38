"""Valid p-values of a score, from text that the audited model has certainly not seen.

Split-conformal p-values (Vovk, Gammerman and Shafer 2005; Bates et al. 2023, "Testing for outliers with
conformal p-values"): if the sample is exchangeable with the unseen ones (same language, same kind, same
period), P(p <= a) <= a for every a and every score. No distribution is assumed: a normal null distribution of variant
discrepancies was measured to flag 16 % at a nominal 5 %.

Over a benchmark the p-values share one set of unseen text. They are then positively dependent, and
Benjamini-Hochberg still controls the false discovery rate (Bates et al. 2023), as does the adaptive form with
Storey's estimate of the null share (Marandon, Lei, Mary and Roquain 2024).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaln, gammaln, ndtri

from assay.errors import AssayError, DataError
from assay.evaluation.arrays import scorable
from assay.evaluation.estimate import Estimate, unknown
from assay.evaluation.interval import LEVEL, wilson_ends
from assay.evaluation.shares import grouped_share
from assay.types import Float64Array

MINIMUM_UNSEEN = 20
"""Below this the smallest possible p-value is above 1/21 = .048: nothing could be flagged at 5 %."""

ADVISED_UNSEEN = 100
"""Below this the false-positive rate at a nominal 5 % deviates by more than 2 % (one standard deviation)."""


def conformal_p_values(scores: ArrayLike, unseen_scores: ArrayLike) -> Float64Array:
    """Return the p-value (1 + #{unseen >= s}) / (m + 1) of every score s; conservative with ties.

    Args:
        scores: [n], higher = member; NaN (unscorable) gives NaN.
        unseen_scores: [m or more], the same score of text certainly not seen; NaN are left out of m.

    Returns:
        float64 [n], in [1 / (m + 1), 1].

    Raises:
        AssayError: fewer than `MINIMUM_UNSEEN` unseen samples could be scored.
        DataError: an array is not one-dimensional or holds an infinity.
    """
    values, unseen = scorable(scores), scorable(unseen_scores, "unseen scores")
    unseen = np.sort(unseen[~np.isnan(unseen)])
    check_unseen(len(unseen), "unseen samples with a score")
    at_least = len(unseen) - np.searchsorted(unseen, values, side="left")
    return np.where(np.isnan(values), np.nan, (1 + at_least) / (len(unseen) + 1))


def check_unseen(unseen: int, noun: str = "unseen samples") -> None:
    """Check that a number of unseen samples can calibrate.

    Raises:
        AssayError: it is below `MINIMUM_UNSEEN`.
    """
    if unseen < MINIMUM_UNSEEN:
        raise AssayError(f"{unseen} {noun}; calibration needs at least {MINIMUM_UNSEEN}, better {ADVISED_UNSEEN}")


def unseen_note(unseen: int) -> str | None:
    """Return a note on a calibration set of `unseen` samples; None if it is large enough."""
    if unseen >= ADVISED_UNSEEN:
        return None
    return (
        f"Calibrated on {unseen} unseen samples only: no p-value can be below {1 / (unseen + 1):.3f}, and "
        f"the false-positive rate at 5 % may well be off by "
        f"{200 * np.sqrt(0.05 * 0.95 / unseen):.0f} percentage points; {ADVISED_UNSEEN} or more are advised."
    )


def null_share(p_values: ArrayLike, *, threshold: float = 0.5) -> float:
    """Return Storey's estimate of the share of null (unseen) samples: (1 + #{p > t}) / (m (1 - t)), at most 1.

    Storey, Taylor and Siegmund 2004; the added 1 keeps it from being too small in finite samples. NaN
    p-values are left out; NaN if no p-value remains.
    """
    values = _p_values(p_values)
    tested = values[~np.isnan(values)]
    if not len(tested):
        return np.nan
    return min(1.0, float((1 + (tested > threshold).sum()) / (len(tested) * (1 - threshold))))


def benjamini_hochberg(p_values: ArrayLike, *, adaptive: bool = False) -> Float64Array:
    """Return q-values: the smallest false discovery rate at which each sample is still flagged.

    Benjamini and Hochberg 1995; `adaptive` multiplies by the estimated `null_share`, which flags more if
    many samples have leaked. NaN p-values stay NaN and are not counted as tests.

    Raises:
        DataError: a p-value outside [0, 1].
    """
    values = _p_values(p_values)
    tested = np.flatnonzero(~np.isnan(values))
    q = np.full(len(values), np.nan)
    if not len(tested):
        return q
    order = tested[np.argsort(values[tested], kind="stable")]
    steps = values[order] * len(order) / np.arange(1, len(order) + 1)
    share = null_share(values) if adaptive else 1.0
    q[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1] * share, 1.0)
    return q


@dataclass(frozen=True, slots=True)
class FlagRate:
    """Samples of a benchmark that a test flags, and the rate that it would flag if nothing had leaked.

    Attributes:
        flagged: samples with p <= alpha.
        samples: samples with a p-value.
        unscorable: samples without one.
        alpha: the nominal level.
        rate: flagged / samples with its interval. The interval covers the drawing of samples, by group; it does
            not cover the drawing of the unseen set; `p_value` does.
        chance: the rate expected if nothing leaked: floor(alpha (m + 1)) / (m + 1) with m unseen samples,
            alpha itself if m is None.
        p_value: of a rate at least this high if nothing leaked. With m it is exact for scores without
            ties: the number of flags has a beta-binomial distribution, because all samples are compared with the
            same unseen set.
    """

    flagged: int
    samples: int
    unscorable: int
    alpha: float
    rate: Estimate
    chance: float
    p_value: float


def flag_rate(
    p_values: ArrayLike,
    alpha: float = 0.05,
    *,
    groups: Sequence[Hashable] | None = None,
    unseen: int | None = None,
    level: float = LEVEL,
) -> FlagRate:
    """Return the share of samples flagged at `alpha`, its interval, and its chance level.

    Args:
        p_values: [n], NaN where unscorable.
        alpha: flag where p <= alpha.
        groups: [n], samples of one group are not independent; None: every sample is a group of its own.
        unseen: m, the size of the calibration set of conformal p-values.
        level: of the interval.

    Raises:
        DataError: a p-value or `alpha` outside [0, 1].
    """
    values = _p_values(p_values)
    if not 0 <= alpha <= 1:
        raise DataError(f"a level alpha of {alpha}; expected a number from 0 to 1")
    tested = ~np.isnan(values)
    hits = values[tested] <= alpha
    flagged, samples = int(hits.sum()), len(hits)
    chance, p_value = _at_chance(flagged, samples, alpha, unseen)
    kept = None if groups is None else [group for group, counts in zip(groups, tested, strict=True) if counts]
    rate = grouped_share(hits, kept, level=level)
    return FlagRate(flagged, samples, len(values) - samples, alpha, rate, chance, p_value)


def wilson(successes: int, trials: int, *, level: float = LEVEL) -> Estimate:
    """Return a proportion of independent trials with Wilson's score interval (1927)."""
    if not trials:
        return unknown(level)
    low, high = wilson_ends(successes / trials, trials, float(ndtri((1 + level) / 2)))
    return Estimate(successes / trials, low, high, level)


def _at_chance(flagged: int, samples: int, alpha: float, unseen: int | None) -> tuple[float, float]:
    """Return the chance level and P(at least this many flags) if nothing leaked."""
    if unseen is None:
        upper = float(betainc(flagged, samples - flagged + 1, alpha)) if flagged else 1.0
        return alpha, upper
    # p <= alpha means above the k-th highest unseen score; P(above it) has the distribution Beta(k, m + 1 - k), so the
    # number of flags is beta-binomial; the sum below is its upper tail in logarithms
    k = int(np.floor(alpha * (unseen + 1) * (1 + 1e-12)))
    chance = k / (unseen + 1)
    if flagged == 0:
        return chance, 1.0
    if k in (0, unseen + 1):
        return chance, float(k > 0)
    counts = np.arange(flagged, samples + 1)
    log_choose = gammaln(samples + 1) - gammaln(counts + 1) - gammaln(samples - counts + 1)
    log_probabilities = log_choose + betaln(counts + k, samples - counts + unseen + 1 - k) - betaln(k, unseen + 1 - k)
    return chance, min(1.0, float(np.exp(log_probabilities).sum()))


def _p_values(p_values: ArrayLike) -> Float64Array:
    values = scorable(p_values, "p-values")
    outside = values[(values < 0) | (values > 1)]
    if len(outside):
        raise DataError(f"a p-value of {outside[0]}; expected numbers from 0 to 1")
    return values
