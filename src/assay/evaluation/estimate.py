"""A number that was measured, with what the data leave open about it."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its confidence interval.

    Attributes:
        value: computed on all the data; NaN where it could not be computed.
        low: lower end of the interval; NaN where the data give none (one group, say).
        high: upper end of the interval; NaN exactly where `low` is.
        level: share of repetitions of the whole study whose interval would hold the truth.
    """

    value: float
    low: float
    high: float
    level: float = 0.95

    @property
    def has_interval(self) -> bool:
        """Whether the data were enough to bound the value."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def __str__(self) -> str:
        """As tables print it: `.842 [.801, .879]`."""
        if math.isnan(self.value):
            return "nan"
        bounds = f"{_short(self.low)}, {_short(self.high)}" if self.has_interval else "no interval"
        return f"{_short(self.value)} [{bounds}]"


def unknown(level: float = 0.95) -> Estimate:
    """The estimate of what could not be measured."""
    return Estimate(math.nan, math.nan, math.nan, level)


def _short(value: float) -> str:
    text = f"{value + 0.0:.3f}"
    if text == "-0.000":
        text = "0.000"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
