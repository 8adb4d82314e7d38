"""Measured values with their confidence intervals."""

import math
from dataclasses import dataclass

GROUPS_FOR_INTERVAL = 10
"""Smallest number of groups of a class for which there is an interval."""

ADVISED_GROUPS = 20
"""Below this number of groups of a class an interval has a warning."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its confidence interval.

    Attributes:
        value: computed on all the data; NaN if it could not be computed.
        low: lower end of the interval; NaN if there is none (for example with too few groups).
        high: upper end of the interval; NaN exactly if `low` is.
        level: share of repetitions of the whole study whose interval would contain the true value.
        groups: number of independent groups of each class, positives first; empty if the interval is not one over
            groups.
        reason: why there is no interval; None if there is an interval.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    level: float = 0.95
    groups: tuple[int, ...] = ()
    reason: str | None = None

    @property
    def has_interval(self) -> bool:
        """Return True if the value has an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def warning(self) -> str | None:
        """Warning about an interval over fewer than `ADVISED_GROUPS` groups of a class; else None."""
        if not self.has_interval or not self.groups or min(self.groups) >= ADVISED_GROUPS:
            return None
        return f"The interval rests on {self.support} only; {ADVISED_GROUPS} a class are advised."

    @property
    def support(self) -> str:
        """Number of groups of each class, `31 + 28 groups`; empty if the interval is not one over groups."""
        return f"{counted(self.groups)} group{'s' * (self.groups != (1,))}" if self.groups else ""

    def __str__(self) -> str:
        """Return the value as tables print it: `.842 [.801, .879; 31 + 28]`, the number of groups last."""
        if math.isnan(self.value):
            return "nan"
        if not self.has_interval:
            return f"{_short(self.value)} [{self.reason or 'no interval'}]"
        support = f"; {counted(self.groups)}" if self.groups else ""
        return f"{_short(self.value)} [{_short(self.low)}, {_short(self.high)}{support}]"


def counted(groups: tuple[int, ...]) -> str:
    """Return the number of groups of each class: `31 + 28`."""
    return " + ".join(f"{count:,}" for count in groups)


def unknown(level: float = 0.95) -> Estimate:
    """Return the estimate of a value that could not be measured."""
    return Estimate(math.nan, level=level, reason="not measured")


def _short(value: float) -> str:
    # the sum makes a negative zero positive, and what rounds to one is mended below
    text = f"{value + 0.0:.3f}"
    if text == "-0.000":
        text = "0.000"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
