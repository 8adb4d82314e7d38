"""Charts of matrices and of points, as Altair charts in the colours of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.types import Float64Array

if TYPE_CHECKING:
    import altair as alt

MOST_CELLS = 50
"""Rows of a shaded matrix; of a larger one each cell is the mean of a block."""
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
    # all values may lie at the middle, and nothing is divided by 0
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


def shaded_matrix(values: Float64Array) -> alt.Chart:
    """Return a square matrix as shades, the largest value the darkest, without its numbers."""
    vega: Any = import_module("altair")
    size = min(MOST_CELLS, len(values))
    edges = np.linspace(0, len(values), size + 1).astype(int)
    # blocks may differ by one row, so each sum is divided by its own size
    sums = np.add.reduceat(np.add.reduceat(values, edges[:-1], axis=0), edges[:-1], axis=1)
    means = sums / np.outer(np.diff(edges), np.diff(edges))
    low, span = means.min(), np.ptp(means) or 1
    cells = []
    for (row, column), value in np.ndenumerate((means - low) / span):
        cells.append({"row": row, "column": column, "shade": round(float(value), 3)})
    place = {"axis": None, "scale": vega.Scale(paddingInner=0)}
    chart: alt.Chart = (
        vega.Chart(vega.InlineData(values=cells))
        .mark_rect(color="var(--series-1)")
        .encode(
            x=vega.X("column:O", **place),
            y=vega.Y("row:O", **place),
            opacity=vega.Opacity("shade:Q", scale=vega.Scale(domain=[0, 1], range=[0, 1]), legend=None),
        )
    )
    return chart


def scatter(points: Mapping[str, Float64Array], *, x: str, y: str) -> alt.Chart:
    """Return points in colours by class.

    Args:
        points: class → float64 [points, 2].
        x: title of the horizontal axis.
        y: title of the vertical axis.
    """
    vega: Any = import_module("altair")
    rows = []
    for name, places in points.items():
        rows += [{"class": name, "x": across, "y": up} for across, up in places.tolist()]
    legend = vega.Legend(title=None, orient="top", columns=3) if len(points) > 1 else None
    scale = vega.Scale(zero=False)
    chart: alt.Chart = (
        vega.Chart(vega.InlineData(values=rows))
        .mark_point(filled=True, size=20, opacity=0.7)
        .encode(
            x=vega.X("x:Q", title=x, scale=scale),
            y=vega.Y("y:Q", title=y, scale=scale),
            color=vega.Color("class:N", legend=legend),
        )
    )
    return chart
