"""Intervals that are valid with few groups: Wilson's, with an effective sample size and Student's quantile.

Wilson's interval (1927) of a share p of n independent trials contains every share that is within z standard errors of
p, where the standard error is that of the share in question. Here n is the *effective* sample size p (1 - p) / V with V
the variance over resamples of groups (Kish 1965; Korn and Graubard 1998 for surveys of few clusters), and z is
Student's quantile, because V itself is estimated from few groups. An AUROC, a TPR, an average precision or an accuracy
takes the place of p: all are within 0 and 1 and vary less near the ends.

Near the ends V is too small: classes that separate perfectly do so in every resample. A pseudo-error of a quarter of a
sample, p (1 - p) = 1 / (4 n), is therefore added to the observed one, as uncertain as if each group were one trial. It
is negligible beside any real spread. Both variances have their own degrees of freedom, the second G - 1 of G groups in
the smaller class; Satterthwaite's formula gives those of the sum. A perfect AUROC has the lower bound G / (G + t²), and
no other value has a higher one.
"""

import math
from dataclasses import dataclass

from scipy.special import stdtrit

from assay.evaluation.estimate import GROUPS_FOR_INTERVAL, Estimate, counted

COVERAGE = 0.95
"""Probability that an interval covers the true value, where nothing else is said."""
SIGNIFICANCE = 0.05
"""Largest p-value of a significant result, where nothing stricter is said."""

Range = tuple[float, float]
RATE: Range = (0.0, 1.0)
CORRELATION: Range = (-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Support:
    """Groups and samples that a value is computed from.

    Attributes:
        groups: number of independent groups of each class.
        samples: number of samples of the smallest class.
    """

    groups: tuple[int, ...]
    samples: int

    @property
    def fewest(self) -> int:
        """Number of groups of the class that has the fewest."""
        return min(self.groups, default=0)


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Variation of a value over resamples of groups.

    Attributes:
        error: standard error; NaN if it could not be computed.
        freedom: degrees of freedom of that error.
    """

    error: float
    freedom: float

    def plus(self, other: "Uncertainty") -> "Uncertainty":
        """Return the uncertainty of a sum of independent parts; degrees of freedom by Satterthwaite (1946)."""
        own, others = self.error**2, other.error**2
        # a part without variance adds none, and its degrees of freedom, which may be 0, say nothing of the sum
        if own == 0:
            return other
        freedom = (own + others) ** 2 / (own**2 / self.freedom + others**2 / other.freedom)
        return Uncertainty(math.sqrt(own + others), freedom)

    def quantile(self, level: float) -> float:
        """Return Student's quantile of a two-sided interval."""
        return float(stdtrit(self.freedom, (1 + level) / 2))


def interval(
    value: float, uncertainty: Uncertainty, support: Support, *, within: Range | None, level: float = COVERAGE
) -> Estimate:
    """Return a value with its interval; without an interval if a class has fewer than `GROUPS_FOR_INTERVAL` groups.

    Args:
        value: computed on all the data.
        uncertainty: of the value.
        support: groups and samples that it is computed from.
        within: the range that the value cannot leave; None for a mean without one, whose interval is Student's.
        level: of the interval.
    """
    if math.isnan(value):
        return without_interval(value, support, "not measured", level=level)
    if support.fewest < GROUPS_FOR_INTERVAL:
        reason = f"too few groups for an interval: {counted(support.groups)}"
        return without_interval(value, support, reason, level=level)
    if math.isnan(uncertainty.error):
        return without_interval(value, support, "no interval: resamples of the groups lose a class", level=level)
    if within is None:
        half = uncertainty.quantile(level) * uncertainty.error
        return Estimate(value, low=value - half, high=value + half, level=level, groups=support.groups)
    start, end = within
    width = end - start
    scaled = Uncertainty(uncertainty.error / width, uncertainty.freedom)
    low, high = _wilson((value - start) / width, observed=scaled, support=support, level=level)
    return Estimate(value, low=start + low * width, high=start + high * width, level=level, groups=support.groups)


def without_interval(value: float, support: Support, reason: str, level: float = COVERAGE) -> Estimate:
    """Return a value without an interval, and the reason."""
    return Estimate(value, level=level, groups=support.groups, reason=reason)


def pseudo_error(support: Support) -> float:
    """Return the pseudo-error of a quarter of a sample, which is added to p (1 - p) of a share."""
    return 1 / (4 * support.samples)


def _wilson(share: float, observed: Uncertainty, support: Support, level: float) -> Range:
    # effective sample size p (1 - p) / V, with the pseudo-error in both parts (see the head of this file)
    errors = pseudo_error(support)
    added = Uncertainty(math.sqrt(errors / support.fewest), support.fewest - 1)
    total = observed.plus(added)
    low, high = wilson_ends(share, (share * (1 - share) + errors) / total.error**2, total.quantile(level))
    # a share just below 1 with errors in one group has a tiny variance; its interval must not be tighter than that of 1
    perfect, _ = wilson_ends(1.0, support.fewest, added.quantile(level))
    return min(low, perfect), max(high, 1 - perfect)


def wilson_ends(share: float, trials: float, quantile: float) -> Range:
    """Return Wilson's interval (1927) of a share of independent trials, whose number need not be whole."""
    spread = quantile**2 / trials
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    # at 0 and 1 the formula gives the end of the range up to rounding
    return (0.0 if share <= 0 else centre - half), (1.0 if share >= 1 else centre + half)
