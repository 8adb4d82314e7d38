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
from itertools import compress
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, betaln, gammaln

from assay.errors import AssayError, DataError
from assay.evaluation.arrays import group_codes, scorable
from assay.evaluation.estimate import Estimate
from assay.evaluation.interval import COVERAGE, Uncertainty
from assay.evaluation.shares import design_effect, grouped_share
from assay.types import Float64Array

MINIMUM_UNSEEN = 20
"""Below this the smallest possible p-value is above 1/21 = .048: nothing could be flagged at 5 %."""

ADVISED_UNSEEN = 100
"""Below this the false-positive rate at a nominal 5 % deviates by more than 2 % (one standard deviation)."""

HALF = 0.5
"""Storey's threshold: p-values above it are mostly those of unseen text."""

QUADRATURE = 64
"""Thresholds at which the flagged share is read, at equal steps of probability."""


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


def null_share(p_values: ArrayLike) -> float:
    """Return Storey's estimate of the share of null (unseen) samples: 2 (1 + #{p > 1/2}) / m, at most 1.

    Storey, Taylor and Siegmund 2004; the added 1 keeps it from being too small in finite samples. NaN
    p-values are left out; NaN if no p-value remains.
    """
    values = _p_values(p_values)
    tested = values[~np.isnan(values)]
    if not len(tested):
        return np.nan
    return min(1.0, float((1 + (tested > HALF).sum()) / (len(tested) * HALF)))


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
    # a q-value is the least of its own step and of all behind it
    q[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1] * share, 1.0)
    return q


@dataclass(frozen=True, slots=True)
class UnseenTail:
    """The unseen texts, as far as a share of flagged samples depends on their draw.

    Attributes:
        texts: m, those with a score.
        groups: number of their groups; texts of one group are not independent.
        inflation: design effect (Kish 1965) of the share of unseen texts that reach the threshold: its variance by
            group over that of independent texts, at least 1; NaN if there are fewer than two groups.
    """

    texts: int
    groups: int
    inflation: float

    @classmethod
    def independent(cls, texts: int) -> Self:
        """Return the tail of so many independent texts."""
        return cls(texts, texts, 1.0)

    @classmethod
    def of(cls, unseen_scores: ArrayLike, groups: Sequence[Hashable] | None, alpha: float = 0.05) -> Self:
        """Return the tail of the unseen texts that calibrate a test at `alpha`; NaN scores are left out.

        Args:
            unseen_scores: [m or more].
            groups: of them; None is a group of its own, None for all means all are.
            alpha: the nominal level.

        Raises:
            DataError: lengths differ, or a score is infinite.
        """
        scores = scorable(unseen_scores, "unseen scores")
        scored = ~np.isnan(scores)
        codes = group_codes(groups, len(scores))[scored]
        if not len(codes):
            return cls(0, 0, np.nan)
        codes, values = np.unique(codes, return_inverse=True)[1], scores[scored]
        # the k-th highest unseen score is the threshold that the level sets
        k = max(1, exceeding(alpha, len(values)))
        return cls(len(values), int(codes.max()) + 1, design_effect(values >= np.sort(values)[-k], codes))


@dataclass(frozen=True, slots=True)
class FlagRate:
    """Samples of a benchmark that a test flags, and the rate that it would flag if nothing had leaked.

    Attributes:
        flagged: samples with p <= alpha.
        samples: samples with a p-value.
        unscorable: samples without one.
        alpha: the nominal level.
        rate: flagged / samples with its interval. It covers the draw of the samples and, with m, that of the unseen
            texts, both by group.
        chance: the rate expected if nothing leaked: floor(alpha (m + 1)) / (m + 1) with m unseen samples,
            alpha itself if m is None.
        p_value: of a rate at least this high if nothing leaked. With m the number of flags has a beta-binomial
            distribution, because all samples are compared with the same unseen set; exact for independent texts and
            scores without ties. Where texts have groups, both numbers of texts are divided by their design effect.
            NaN if either side has fewer than two groups.
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
    unseen: UnseenTail | int | None = None,
    level: float = COVERAGE,
) -> FlagRate:
    """Return the share of samples flagged at `alpha`, its interval, and its chance level.

    The threshold is drawn with the unseen texts: the rate T at which it flags text never seen is Beta(k, m + 1 - k),
    with k and m divided by the design effect. What the benchmark would flag at another T is read from its own p-values.
    The variance of that is added to the variance between the groups of the benchmark.

    Args:
        p_values: [n], NaN where unscorable.
        alpha: flag where p <= alpha.
        groups: [n], samples of one group are not independent; None: every sample is a group of its own.
        unseen: the calibration set of conformal p-values; a number stands for independent texts.
        level: of the interval.

    Raises:
        DataError: a p-value or `alpha` outside [0, 1].
    """
    values = _p_values(p_values)
    if not 0 <= alpha <= 1:
        raise DataError(f"a level alpha of {alpha}; expected a number from 0 to 1")
    tail = UnseenTail.independent(unseen) if isinstance(unseen, int) else unseen
    tested = ~np.isnan(values)
    hits = values[tested] <= alpha
    flagged, samples = int(hits.sum()), len(hits)
    codes = group_codes(groups if groups is None else list(compress(groups, tested)), samples)
    chance, p_value = _at_chance(flagged, samples=samples, alpha=alpha, tail=tail, inflation=design_effect(hits, codes))
    extra = None if tail is None or not samples else _threshold_uncertainty(values[tested], alpha, tail)
    rate = grouped_share(hits, codes.tolist(), level=level, also=extra)
    return FlagRate(
        flagged,
        samples=samples,
        unscorable=len(values) - samples,
        alpha=alpha,
        rate=rate,
        chance=chance,
        p_value=p_value,
    )


def _threshold_uncertainty(p_values: Float64Array, alpha: float, tail: UnseenTail) -> tuple[Uncertainty, int]:
    """Return the uncertainty of the flagged share that comes from the draw of the unseen texts, and their groups."""
    freedom = float(max(tail.groups - 1, 1))
    k = exceeding(alpha, tail.texts)
    if k in (0, tail.texts + 1) or np.isnan(tail.inflation):
        return Uncertainty(0.0, freedom), tail.groups
    shares = (np.arange(QUADRATURE) + 0.5) / QUADRATURE
    # equal steps of probability: each threshold has the same weight in the mean below
    rates = betaincinv(k / tail.inflation, (tail.texts + 1 - k) / tail.inflation, shares)
    levels = np.arange(1, tail.texts + 2) / (tail.texts + 1)  # below the first the share stays as it is there
    reached = np.searchsorted(np.sort(p_values), levels * (1 + 1e-12), side="right") / len(p_values)
    # how far the flagged share would move if another draw of unseen text had set the threshold
    shift = np.interp(rates, levels, reached) - np.mean(p_values <= alpha)
    return Uncertainty(float(np.sqrt((shift**2).mean())), freedom), tail.groups


def _at_chance(
    flagged: int, samples: int, alpha: float, tail: UnseenTail | None, inflation: float
) -> tuple[float, float]:
    """Return the chance level and P(at least this many flags) if nothing leaked; `inflation` is the benchmark's."""
    if np.isnan(inflation) or (tail is not None and np.isnan(tail.inflation)):
        return (alpha if tail is None else exceeding(alpha, tail.texts) / (tail.texts + 1)), np.nan
    # so many independent samples carry as much as these, which depend on each other by group
    flags, trials = int(flagged / inflation + 1e-9), round(samples / inflation)
    if tail is None:
        return alpha, float(betainc(flags, trials - flags + 1, alpha)) if flags else 1.0
    k = exceeding(alpha, tail.texts)
    chance = k / (tail.texts + 1)
    if k in (0, tail.texts + 1):
        return chance, float(k > 0 or not flagged)
    below = (tail.texts + 1 - k) / tail.inflation
    return chance, beta_binomial_tail(flags, trials=trials, above=k / tail.inflation, below=below)


def beta_binomial_tail(count: int, trials: int, above: float, below: float) -> float:
    """Return P(at least `count` of `trials`) where the rate of a trial is drawn from Beta(above, below)."""
    if count <= 0:
        return 1.0
    counts = np.arange(count, trials + 1)
    # in logarithms: binomial coefficients of a thousand trials are no floats
    log_choose = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    log_probabilities = log_choose + betaln(counts + above, trials - counts + below) - betaln(above, below)
    return min(1.0, float(np.exp(log_probabilities).sum()))


def exceeding(alpha: float, unseen: int) -> int:
    """Return k: a sample is flagged if fewer than k unseen texts reach its score, so P(flag) is Beta(k, m + 1 - k)."""
    # the factor takes back what rounding takes off, as in .29 × 100
    return int(np.floor(alpha * (unseen + 1) * (1 + 1e-12)))


def _p_values(p_values: ArrayLike) -> Float64Array:
    values = scorable(p_values, "p-values")
    outside = values[(values < 0) | (values > 1)]
    if len(outside):
        raise DataError(f"a p-value of {outside[0]}; expected numbers from 0 to 1")
    return values
