"""Lines over a number: the figure that testbed pages and experiments are made of."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.evaluation.estimate import Estimate
from assay.reports.figures import Figure, drawn, series_style


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name, and the value at each x."""

    name: str
    points: Mapping[float, Estimate]


def line_figure(
    name: str, title: str, caption: str, series: Sequence[Series], *, x: str, y: str, chance: float | None = None
) -> Figure:
    """Lines with their points; the first with its intervals, where it has any.

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
    across: dict[str, Any] = {"field": "x", "type": "quantitative", "axis": {"title": x, "grid": False, "tickCount": 6}}
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
        ],
    }
    told = "; ".join(f"{one.name}: " + ", ".join(f"{at:g} {e}" for at, e in _few(one.points)) for one in series)
    return Figure(name, title, caption, f"{title}. {told}.", drawn(name, title, f"{told}.", spec))


def _or(value: float, instead: float) -> float:
    return instead if math.isnan(value) else value


def _few(points: Mapping[float, Estimate], most: int = 12) -> list[tuple[float, Estimate]]:
    """A dozen points for a reader who cannot see the picture."""
    known = list(points.items())
    return known if len(known) <= most else [*known[:: len(known) // most], known[-1]]
