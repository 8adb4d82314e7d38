"""The chart of a matrix of numbers, as an Altair chart in the colours of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

CHARACTER_WIDTH = 7.5
"""Pixels of a character of a label, estimated without its font."""


def heat_map(values: Mapping[tuple[str, str], float], *, middle: float = 1.0) -> alt.LayerChart:
    """Return a matrix of numbers: the higher above `middle`, the darker.

    Args:
        values: (row, column) → value, in the order in which rows and columns stand; NaN leaves the cell empty.
        middle: value without meaning, as 1 of a ratio; cells at or below it are pale.
    """
    # Imported when a chart is drawn: a lazy module among the modules is awoken by torch, which asks each for its file.
    vega: Any = import_module("altair")
    present = {key: value for key, value in values.items() if not math.isnan(value)}
    rows = list(dict.fromkeys(map(itemgetter(0), values)))
    columns = list(dict.fromkeys(map(itemgetter(1), values)))
    span = (max(present.values(), default=middle) - middle) or 1
    shades = []
    for (row, column), value in present.items():
        shade = min(0.6, max(0.05, (value - middle) / span))
        shades.append({"row": row, "column": column, "value": value, "shade": shade})
    # the width of text is estimated without its font, so room for the longest label is set by hand
    longest = CHARACTER_WIDTH * max(map(len, (*rows, *columns)), default=0)
    turned = vega.Axis(title=None, labelAngle=-30, domain=False, ticks=False, minExtent=longest / 2 + 10)
    across = vega.X("column:N", sort=columns, axis=turned)
    down = vega.Y(
        "row:N", sort=rows, axis=vega.Axis(title=None, domain=False, ticks=False, minExtent=max(110, longest))
    )
    base = vega.Chart(vega.InlineData(values=shades)).encode(x=across, y=down)
    squares = base.mark_rect(color="var(--series-1)").encode(
        opacity=vega.Opacity("shade:Q", scale=vega.Scale(domain=[0, 1], range=[0, 1]), legend=None)
    )
    chart: alt.LayerChart = vega.LayerChart(
        layer=[squares, base.mark_text().encode(text=vega.Text("value:Q", format=".2f"))]
    )
    return chart
