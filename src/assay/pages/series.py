"""Lines over a number: the figure that testbed pages and experiments are made of."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.evaluation import Estimate
from assay.pages.figures import Figure, drawn, series_style

TICKS = 12
"""Numbers that an axis can show one by one."""
DECADE = 10
THOUSANDS = 10_000
"""From here on numbers are shortened: 10k."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name, and the value at each x."""

    name: str
    points: Mapping[float, Estimate]


def line_figure(
    name: str, title: str, caption: str, series: Sequence[Series], *, x: str, y: str, chance: float | None = None
) -> Figure:
    """Lines, with their points where these are few; the first with its intervals, where it has any.

    Numbers that grow by factors, over a decade and more, stand on a logarithmic axis.

    Args:
        name: unique within a page, letters and hyphens.
        title: what is shown.
        caption: how to read it.
        series: at most four, the leading one first.
        x: what the horizontal axis is.
        y: what the vertical axis is.
        chance: drawn as a dotted line.
    """
    rows = [
        {"series": one.name, "x": at, "value": e.value, "low": _or(e.low, e.value), "high": _or(e.high, e.value)}
        for one in reversed(series)
        for at, e in one.points.items()
        if not math.isnan(e.value)
    ]
    measured = sorted({at for one in series for at, e in one.points.items() if not math.isnan(e.value)})
    across = axis_of(measured, x)
    up: dict[str, Any] = {"type": "quantitative", "axis": {"title": y, "tickCount": 6}, "scale": {"zero": False}}
    style = series_style([one.name for one in series])
    leading = [row for row in rows if row["series"] == series[0].name]
    guide = [
        {
            "data": {"values": [{"chance": chance}]},
            "mark": {"type": "rule", "color": "var(--chance)", "strokeDash": [1, 4], "strokeWidth": 1.5},
            "encoding": {"y": {"field": "chance", **up}},
        }
    ]
    points = {
        "mark": {"type": "point", "filled": True, "size": 36, "opacity": 1},
        "encoding": {"x": across, "y": {"field": "value", **up}, "color": style["color"]},
    }
    spec = {
        "data": {"values": rows},
        "layer": [
            *(guide if chance is not None else []),
            {
                "data": {"values": leading},
                "mark": {"type": "rule", "color": "var(--series-1)", "strokeWidth": 5, "opacity": 0.3},
                "encoding": {"x": across, "y": {"field": "low", **up}, "y2": {"field": "high"}},
            },
            {"mark": {"type": "line"}, "encoding": {"x": across, "y": {"field": "value", **up}, **style}},
            *([points] if len(measured) <= TICKS else []),
        ],
    }
    told = "; ".join(f"{one.name}: " + ", ".join(f"{at:g} {e}" for at, e in _few(one.points)) for one in series)
    return Figure(name, title, caption, f"{title}. {told}.", drawn(name, title, f"{told}.", spec))


def axis_of(measured: Sequence[float], title: str) -> dict[str, Any]:
    """The horizontal axis: ticks where something was measured, as long as these are few enough to be told apart."""
    logarithmic = by_factors(measured)
    axis: dict[str, Any] = {"title": title, "grid": False}
    if len(measured) <= TICKS:
        # of numbers that would cover each other on a straight axis, one is left out
        axis |= {"values": list(measured), "labelOverlap": "greedy"}
        axis |= {"format": "~s" if max(measured, default=0) >= THOUSANDS else ",~f"}
    else:
        axis["tickCount"] = 6
    across: dict[str, Any] = {"field": "x", "type": "quantitative", "axis": axis}
    if logarithmic:
        across["scale"] = {"type": "log", "domain": [measured[0], measured[-1]], "nice": False}
    return across


def by_factors(measured: Sequence[float]) -> bool:
    """Whether ascending numbers span a decade and are spaced more evenly by their logarithms than by themselves."""
    if len(measured) < 3 or measured[0] <= 0 or measured[-1] < DECADE * measured[0]:  # noqa: PLR2004  two have one gap
        return False
    steps = np.diff(measured), np.diff(np.log(measured))
    plain, logarithms = (float(gaps.std() / gaps.mean()) for gaps in steps)
    return logarithms < plain


def _or(value: float, instead: float) -> float:
    return instead if math.isnan(value) else value


def _few(points: Mapping[float, Estimate], most: int = 12) -> list[tuple[float, Estimate]]:
    """A dozen points for a reader who cannot see the picture."""
    known = list(points.items())
    return known if len(known) <= most else [*known[:: len(known) // most], known[-1]]
