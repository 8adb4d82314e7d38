"""How numbers and names read in a report: shares in per cent, AUROC without the leading zero, intervals in brackets."""

import math

from assay.evaluation import Estimate

RARE = 0.001
"""Shares below are told as less than that."""
TWO_DIGITS = 0.1
"""From here on whole per cents are precise enough."""


def percent(share: float) -> str:
    """A share as people write it, with a space that does not break: `83 %`, `4.2 %`, `< 0.1 %`, `–` where unknown.

    One decimal appears below 10 % and above 99 %, where a tenth makes a difference.
    """
    return "–" if math.isnan(share) else f"{_hundredths(share)}\u00a0%"


def probability(p: float) -> str:
    """How often something comes up: `in 3 % of cases`, `in fewer than 1 case in 1,000`."""
    if math.isnan(p):
        return "with unknown probability"
    return f"in {percent(p)} of cases" if p >= RARE else "in fewer than 1 case in 1,000"


def likelihood(p: float) -> str:
    """A p-value as tables print it: `.41`, `.003`, `< .001`, `–` where unknown."""
    if math.isnan(p):
        return "–"
    return "< .001" if p < RARE else f"{p:.{3 if p < RARE * 10 else 2}f}".removeprefix("0")


def percent_interval(estimate: Estimate) -> str:
    """`79 % to 87 %`, or `no interval`."""
    if not estimate.has_interval:
        return "no interval"
    return f"{percent(estimate.low)} to {percent(estimate.high)}"


def percent_with_interval(estimate: Estimate) -> str:
    """`41 % [33, 50]`, or the bare share where the data give no interval."""
    if not estimate.has_interval:
        return percent(estimate.value)
    return f"{percent(estimate.value)} [{_hundredths(estimate.low)}, {_hundredths(estimate.high)}]"


def _hundredths(share: float) -> str:
    if 0 < share < RARE:
        return "< 0.1"
    if TWO_DIGITS <= round(share, 3) <= 1 - RARE * 10:
        return f"{100 * share:.0f}"
    return f"{100 * (share if share >= 1 else min(share, 1 - RARE)):.1f}".removesuffix(".0")


def auroc(estimate: Estimate) -> str:
    """`.842 [.801, .879]`, or `–` where it could not be measured."""
    return "–" if math.isnan(estimate.value) else str(estimate)


def decimal(value: float) -> str:
    """A number between 0 and 1 in the AUROC's spelling: `.6`."""
    return f"{value:g}".removeprefix("0")


def number(value: float) -> str:
    """Four significant digits with a real minus sign; `–` where unknown."""
    return "–" if math.isnan(value) else f"{value:.4g}".replace("-", "−")


def count(amount: float, noun: str) -> str:
    """`1 sample`, `12 samples`, `10,000 samples`."""
    shown = f"{amount:,.0f}" if float(amount).is_integer() else f"{amount:g}"
    return f"{shown} {noun}" if amount == 1 else f"{shown} {noun}s"


def listed(parts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
