"""The charts that figures are made of, as Altair charts: lines over a number, ROC curves, histograms.

Colours are CSS variables of the page, so one picture serves light and dark mode. Every chart is about as wide as a
phone: on a wide screen several stand side by side, and text is readable everywhere.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.garbage import garbage_collection_paused
from assay.reports.report import Measured
from assay.types import Float64Array

if TYPE_CHECKING:
    import altair as alt
else:

    class _Altair:
        """The plotting library, imported when a figure is drawn: one that cannot be imported costs no report.

        It is no lazy module: torch looks at all modules when it is imported, which would load them.
        """

        def __getattr__(self, name: str) -> object:
            if "altair" in sys.modules:
                return getattr(sys.modules["altair"], name)
            # jsonschema, without which there is no Altair, builds parsers of IRIs for seconds; it does without them
            # where the package cannot be imported, and no chart has an IRI
            parsers = sys.modules.setdefault(IRI_PARSERS, None)
            try:
                with garbage_collection_paused():
                    return getattr(importlib.import_module("altair"), name)
            finally:
                if parsers is None:
                    del sys.modules[IRI_PARSERS]

    alt = _Altair()

IRI_PARSERS = "rfc3987_syntax"
WIDTH, HEIGHT = 400, 320
MOST_SERIES = 4
"""Lines that can be distinguished by colour and dash."""
TICKS = 12
"""Numbers that an axis can show one by one."""
DECADE = 10
THOUSANDS = 10_000
"""From here on numbers are shortened: 10k."""
BINS = 30

CHANCE_COLOUR, BASELINE_COLOUR, MARK_COLOUR = "var(--chance)", "var(--baseline)", "var(--series-3)"
CHANCE_DASH = [1, 4]


LEGEND_CHARACTERS = 20
"""Longest name in a legend of two columns."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name, and the measured value at each x."""

    name: str
    points: Mapping[float, Measured]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One ROC curve: its name, false-positive rates and true-positive rates, both float64 [points]."""

    name: str
    fpr: Float64Array
    tpr: Float64Array


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of a line chart.

    Attributes:
        x, y: their titles.
        percent: True where y is a share.
        chance: level drawn as a dotted line; None draws none.
        labels: x → its label; then the points stand at even distances in the order of this mapping.
        range: (lowest, highest) of y; None: as far as the values go.
    """

    x: str
    y: str
    percent: bool = False
    chance: float | None = None
    labels: Mapping[float, str] | None = None
    range: tuple[float, float] | None = None


def line_chart(series: Sequence[Series], axes: Axes) -> alt.LayerChart:
    """Return lines, with their points where these are few; the first series with its intervals.

    Numbers that grow by factors, over a decade and more, stand on a logarithmic axis.

    Args:
        series: at most `MOST_SERIES`, the leading one first.
        axes: see `Axes`.
    """
    labels = axes.labels or {}
    places = dict(zip(labels, range(len(labels)), strict=True))
    xs: set[float] = set()
    rows: list[dict[str, object]] = []
    leading_rows: list[dict[str, object]] = []
    for line in reversed(series):  # the leading series is drawn last, on top
        leading_rows = []
        for x, point in line.points.items():
            # JSON has no NaN: the line has a gap there
            if math.isnan(point.value):
                continue
            row: dict[str, object] = {"series": line.name, "x": places.get(x, x), "value": point.value}
            # without an interval its bar has no length
            row |= {"low": point.value, "high": point.value}
            if point.has_interval:
                row |= {"low": point.low, "high": point.high}
            leading_rows.append(row)
            xs.add(x)
        rows += leading_rows
    across = _labelled_axis(axes) if axes.labels else _number_axis(sorted(xs), axes.x)
    y_axis = alt.Axis(title=axes.y, tickCount=6, format="~p" if axes.percent else alt.Undefined)
    up: dict[str, Any] = {"axis": y_axis, "scale": _from(axes.range)}
    style = _styles([line.name for line in series])
    base = alt.Chart(alt.InlineData(values=rows))
    leading = alt.Chart(alt.InlineData(values=leading_rows))
    layers: list[alt.Chart] = []
    if axes.chance is not None:
        layers.append(_level(axes.chance, up))
    layers += [
        leading.mark_rule(color="var(--series-1)", strokeWidth=5, opacity=0.3).encode(
            x=across, y=alt.Y("low:Q", **up), y2="high:Q"
        ),
        base.mark_line().encode(x=across, y=alt.Y("value:Q", **up), **style),
    ]
    # many points would hide the line
    if axes.labels or len(xs) <= TICKS:
        points = base.mark_point(filled=True, size=36, opacity=1)
        layers.append(points.encode(x=across, y=alt.Y("value:Q", **up), color=style["color"]))
    return alt.LayerChart(layer=layers)


def roc_chart(
    curves: Sequence[Curve], *, baseline: str | None = None, x: str, y: str, limit: float = 1.0
) -> alt.LayerChart:
    """Return ROC curves and the diagonal of chance, up to a false-positive rate of `limit`.

    Args:
        curves: the leading one first.
        baseline: name of the curve that is drawn as a baseline.
        x: title of the horizontal axis.
        y: title of the vertical axis.
        limit: right edge; below 1, vertical lines mark 1 % and 5 %, and the vertical axis ends where the curves do.
    """
    diagonal = np.array([0.0, 1.0])
    lines = [*curves, Curve("chance", diagonal, diagonal)]
    rows = []
    # a weak curve that is stretched to the top would look strong
    reached = 0.2
    for line in lines:
        points = zip(line.fpr.tolist(), line.tpr.tolist(), strict=True)
        # Vega sorts points by x unless told an order, which tears steps of equal x apart
        rows += [{"series": line.name, "fpr": fpr, "tpr": tpr, "order": at} for at, (fpr, tpr) in enumerate(points)]
        reached = max(reached, float(np.interp(limit, line.fpr, line.tpr)) * 1.05)
    height = min(1.0, reached)  # of the whole curve always 1, which every curve reaches
    axis: dict[str, Any] = {"format": ".0%", "tickCount": 6}
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(clip=True)
        .encode(
            x=alt.X("fpr:Q", scale=alt.Scale(domain=[0, limit], nice=False), axis=alt.Axis(title=x, **axis)),
            y=alt.Y("tpr:Q", scale=alt.Scale(domain=[0, height], nice=False), axis=alt.Axis(title=y, **axis)),
            order="order:Q",
            **_styles([line.name for line in lines], baseline),
        )
    )
    if limit == 1:
        return alt.LayerChart(layer=[chart])
    guides = alt.Chart(alt.InlineData(values=[{"fpr": 0.01}, {"fpr": 0.05}]))
    rules = guides.mark_rule(color=CHANCE_COLOUR, strokeWidth=1).encode(x="fpr:Q")
    return alt.LayerChart(layer=[rules, chart])


def histogram(
    classes: Mapping[str, Float64Array],
    x: str,
    *,
    edges: Float64Array | None = None,
    level: float | None = None,
    colours: Mapping[str, str] | None = None,
    unit: str = "samples",
    mark: tuple[str, float] | None = None,
) -> alt.LayerChart:
    """Return the share of each class per bin.

    Args:
        classes: name → float64 [n], finite; each sums to 1. The outermost bars hold everything beyond them.
        x: title of the horizontal axis.
        edges: of the bins; None: over all but the outermost hundredth of the values.
        level: share drawn as a dotted line; None draws none.
        colours: class → colour, of those that have one of their own.
        unit: what is counted.
        mark: name and place of one more value, drawn as a vertical line; None for none.
    """
    if edges is None:
        # the marked value belongs to the range, so that it does not stand at its edge
        single = [] if mark is None else [[mark[1]]]
        edges = histogram_edges(np.concatenate([*classes.values(), *single]))
    rows, palette = [], []
    others = iter(("var(--series-1)", "var(--series-3)", "var(--series-4)", "var(--series-2)"))
    for name, values in classes.items():
        # clipped, so that values beyond the ends are drawn in the outermost bars and not lost
        counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        # shares, so that classes of different size compare
        bars_of = zip(counts / len(values), edges[:-1], edges[1:], strict=True)
        rows += [{"class": name, "left": left, "right": right, "share": share} for share, left, right in bars_of]
        palette.append((colours or {}).get(name) or next(others, CHANCE_COLOUR))
    scale = alt.Scale(domain=list(classes), range=palette)
    legend = None
    if len(classes) > 1:
        legend = alt.Legend(title=None, orient="top", symbolType="square", offset=4)
    share = alt.Axis(title=f"share of {unit}", format=".0%", tickCount=5)
    domain = alt.Scale(domain=[float(edges[0]), float(edges[-1])], nice=False, zero=False)
    bars = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(fillOpacity=0.45, strokeWidth=1, strokeOpacity=0.9, binSpacing=0)
        .encode(
            x=alt.X("left:Q", scale=domain, axis=alt.Axis(title=x, grid=False, tickCount=6)),
            x2="right:Q",
            y=alt.Y("share:Q", stack=None, axis=share),
            y2=alt.Y2Datum(0),
            color=alt.Color("class:N", scale=scale, legend=legend),
            stroke=alt.Stroke("class:N", scale=scale, legend=None),
        )
    )
    layers = [bars]
    if level is not None:
        layers.append(_level(level, {"axis": share}))
    if mark is not None:
        layers += _marked(*mark, ends=(float(edges[0]), float(edges[-1])))
    return alt.LayerChart(layer=layers)


def histogram_edges(values: Float64Array) -> Float64Array:
    """Return the edges of at most `BINS` bins over all but the outermost half per cent on either side."""
    # one outlier would squeeze everything else into a single bar
    low, high = np.quantile(values, [0.005, 0.995])
    # equal values still need a bar of some width
    if low == high:
        low, high = low - 0.5, high + 0.5
    # about 2 √n bins: fewer hide a second peak, more draw noise
    return np.linspace(low, high, min(BINS, max(8, math.ceil(2 * len(values) ** (1 / 2)))) + 1)


def grows_by_factors(values: Sequence[float]) -> bool:
    """Return True where ascending numbers span a decade and their logarithms are spaced more evenly than they are."""
    if len(values) < 3 or values[0] <= 0 or values[-1] < DECADE * values[0]:  # noqa: PLR2004  two have one gap
        return False
    # the coefficient of variation of the gaps: the scale on which they are more alike is the natural one
    plain, logarithmic = (float(gaps.std() / gaps.mean()) for gaps in (np.diff(values), np.diff(np.log(values))))
    return logarithmic < plain


def theme(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart in the size, font and colours of the page.

    The theme goes into the specification, not into a configured chart, since Altair allows that on no nested chart.
    """
    specification: dict[str, Any] = chart.to_dict(validate=False)  # tests validate; thousands of points take seconds
    return specification | {
        "width": WIDTH,
        "height": HEIGHT,
        "autosize": {"type": "fit", "contains": "padding"},
        "padding": 2,
        "config": CONFIG,
    }


CONFIG: Mapping[str, Any] = {
    "aria": False,  # the picture has one description of its own
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--ink-soft)",
        "titleColor": "var(--ink-soft)",
        "gridColor": "var(--rule)",
        "domainColor": "var(--ink-soft)",
        "tickColor": "var(--ink-soft)",
        "labelFontSize": 12,
        "titleFontSize": 12.5,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelFlush": False,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "labelFontSize": 12.5,
        "labelLimit": 170,
        "columnPadding": 30,
        "rowPadding": 4,
        "padding": 4,
    },
}


def _level(level: float, up: Mapping[str, Any]) -> alt.Chart:
    """A dotted horizontal line."""
    line = alt.Chart(alt.InlineData(values=[{"level": level}]))
    dotted = line.mark_rule(color=CHANCE_COLOUR, strokeDash=CHANCE_DASH, strokeWidth=1.5)
    chart: alt.Chart = dotted.encode(y=alt.Y("level:Q", **up))
    return chart


def _marked(name: str, place: float, *, ends: tuple[float, float]) -> Iterator[alt.Chart]:
    """Yield a vertical line, and its name at the top on the side where there is more room."""
    at = alt.Chart(alt.InlineData(values=[{"place": float(np.clip(place, *ends)), "name": name}]))
    yield at.mark_rule(color=MARK_COLOUR, strokeWidth=3).encode(x="place:Q")
    align: Literal["left", "right"] = "right"
    dx = -7
    if place < sum(ends) / 2:
        align, dx = "left", 7
    text = at.mark_text(align=align, dx=dx, dy=8, fontSize=12.5, fontWeight="bold", color=MARK_COLOUR)
    yield text.encode(x="place:Q", y=alt.value(0), text="name:N")


def _from(limits: tuple[float, float] | None) -> alt.Scale:
    if limits is None:
        return alt.Scale(zero=False)
    return alt.Scale(domain=list(limits), nice=False, zero=False)


def _labelled_axis(axes: Axes) -> alt.X:
    labels = list((axes.labels or {}).values())
    scale = alt.Scale(domain=[-0.4, len(labels) - 0.6], nice=False, zero=False)
    names = f"{json.dumps(labels)}[datum.value]"
    ticks = list(range(len(labels)))
    return alt.X("x:Q", scale=scale, axis=alt.Axis(values=ticks, labelExpr=names, title=axes.x, grid=False))


def _number_axis(xs: Sequence[float], title: str) -> alt.X:
    """The horizontal axis: ticks where something was measured, as long as these are few enough to be read."""
    shown: dict[str, Any] = {"tickCount": 6}
    if len(xs) <= TICKS:
        # of numbers that would cover each other on a straight axis, some are left out
        shown = {"values": list(xs), "labelOverlap": "greedy"}
        shown["format"] = "~s" if max(xs, default=0) >= THOUSANDS else ",~f"
    scale: Any = alt.Undefined
    if grows_by_factors(xs):
        scale = alt.Scale(type="log", domain=[xs[0], xs[-1]], nice=False)
    return alt.X("x:Q", axis=alt.Axis(title=title, grid=False, **shown), scale=scale)


def _styles(names: Sequence[str], baseline: str | None = None) -> dict[str, Any]:
    """Colour, dash and width of each series: no series is marked by colour alone."""
    dashes = enumerate(([1, 0], [6, 2], [2, 2], [8, 2, 2, 2]), 1)
    # chance and baseline look the same in every chart, whatever stands beside them
    fixed: dict[str, tuple[str, list[int], float]] = {"chance": (CHANCE_COLOUR, CHANCE_DASH, 1.5)}
    if baseline is not None:
        fixed[baseline] = (BASELINE_COLOUR, [10, 4], 1.75)
    looks = []
    for name in names:
        if name in fixed:
            looks.append(fixed[name])
        else:
            number, dash = next(dashes)
            looks.append((f"var(--series-{number})", dash, 1.75 if looks else 2.5))
    colour, dash, width = map(list, zip(*looks, strict=True))
    columns = 2 if max(map(len, names), default=0) <= LEGEND_CHARACTERS else 1
    limit = CONFIG["legend"]["labelLimit"] * 2 // columns
    legend = alt.Legend(
        title=None, orient="bottom", columns=columns, labelLimit=limit, symbolType="stroke", symbolSize=420, offset=6
    )

    def scale(values: list[Any]) -> alt.Scale:
        return alt.Scale(domain=list(names), range=values)

    stroke: Any = alt.value(width[0])
    if len(names) > 1:  # of a scale with a single width Vega makes NaN
        stroke = alt.StrokeWidth("series:N", scale=scale(width), legend=legend)
    return {
        "color": alt.Color("series:N", scale=scale(colour), legend=legend),
        "strokeDash": alt.StrokeDash("series:N", scale=scale(dash), legend=legend),
        "strokeWidth": stroke,
    }
