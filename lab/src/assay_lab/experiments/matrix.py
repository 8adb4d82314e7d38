"""The chart of a matrix of numbers, as an Altair chart in the colours of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    import altair as alt
else:  # a plotting library that cannot be imported costs the figures and not the report
    alt = lazy_loader.load("altair")

CHARACTER_WIDTH = 7.5
"""Pixels of a character of a label, estimated without its font."""


def heat_map(values: Mapping[tuple[str, str], float], *, middle: float = 1.0) -> alt.LayerChart:
    """Return a matrix of numbers: the higher above `middle`, the darker.

    Args:
        values: (row, column) → value, in the order in which rows and columns stand; NaN leaves the cell empty.
        middle: value without meaning, as 1 of a ratio; cells at or below it are pale.
    """
    present = {key: value for key, value in values.items() if not math.isnan(value)}
    rows = list(dict.fromkeys(row for row, _ in values))
    columns = list(dict.fromkeys(column for _, column in values))
    span = (max(present.values(), default=middle) - middle) or 1
    shades = []
    for (row, column), value in present.items():
        shade = min(0.6, max(0.05, (value - middle) / span))
        shades.append({"row": row, "column": column, "value": value, "shade": shade})
    # the width of text is estimated without its font, so room for the longest label is set by hand
    longest = CHARACTER_WIDTH * max(map(len, (*rows, *columns)), default=0)
    turned = alt.Axis(title=None, labelAngle=-30, domain=False, ticks=False, minExtent=longest / 2 + 10)
    across = alt.X("column:N", sort=columns, axis=turned)
    down = alt.Y("row:N", sort=rows, axis=alt.Axis(title=None, domain=False, ticks=False, minExtent=max(110, longest)))
    base = alt.Chart(alt.InlineData(values=shades)).encode(x=across, y=down)
    squares = base.mark_rect(color="var(--series-1)").encode(
        opacity=alt.Opacity("shade:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None)
    )
    return alt.LayerChart(layer=[squares, base.mark_text().encode(text=alt.Text("value:Q", format=".2f"))])
