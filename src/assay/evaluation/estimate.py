"""A number that was measured, with what the data leave open about it."""

import math
from dataclasses import dataclass

GROUPS_FOR_INTERVAL = 10
"""Fewest groups of a class that an interval needs."""

ADVISED_GROUPS = 20
"""Below this an interval is given with a warning."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its confidence interval.

    Attributes:
        value: computed on all the data; NaN where it could not be computed.
        low: lower end of the interval; NaN where the data give none (too few groups, say).
        high: upper end of the interval; NaN exactly where `low` is.
        level: share of repetitions of the whole study whose interval would hold the truth.
        groups: number of independent groups of each class behind the interval, members first; empty where the
            interval is not one over groups.
        reason: why there is no interval; None where there is one.
    """

    value: float
    low: float
    high: float
    level: float = 0.95
    groups: tuple[int, ...] = ()
    reason: str | None = None

    @property
    def has_interval(self) -> bool:
        """Whether the data were enough to bound the value."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def warning(self) -> str | None:
        """What limits the interval: a class of fewer than `ADVISED_GROUPS` groups; None where nothing does."""
        if not self.has_interval or not self.groups or min(self.groups) >= ADVISED_GROUPS:
            return None
        return f"The interval rests on {self.support} only; {ADVISED_GROUPS} a class are advised."

    @property
    def support(self) -> str:
        """What the interval rests on: `31 + 28 groups`; empty where it is not one over groups."""
        return f"{counted(self.groups)} groups" if self.groups else ""

    def __str__(self) -> str:
        """As tables print it: `.842 [.801, .879; 31 + 28]`, the number of groups last."""
        if math.isnan(self.value):
            return "nan"
        if not self.has_interval:
            return f"{_short(self.value)} [{self.reason or 'no interval'}]"
        support = f"; {counted(self.groups)}" if self.groups else ""
        return f"{_short(self.value)} [{_short(self.low)}, {_short(self.high)}{support}]"


def counted(groups: tuple[int, ...]) -> str:
    """The number of groups of each class: `31 + 28`."""
    return " + ".join(f"{count:,}" for count in groups)


def unknown(level: float = 0.95) -> Estimate:
    """The estimate of what could not be measured."""
    return Estimate(math.nan, math.nan, math.nan, level, reason="not measured")


def _short(value: float) -> str:
    text = f"{value + 0.0:.3f}"
    if text == "-0.000":
        text = "0.000"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
