"""The plots of a report, as static SVG from Vega-Lite specifications.

Colours are CSS variables of the page, so one picture serves light and dark mode. Every figure is drawn about as wide
as a phone: on a wide screen several stand side by side, and text is readable everywhere.
"""

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import vl_convert
from numpy.typing import NDArray

from assay.evaluation import Estimate
from assay.leakage import Audit, ScoreSummary
from assay.pages.blind import compares_labels, measured_baseline
from assay.pages.wording import count, listed, number, percent
from assay.types import MEMBER, NONMEMBER

Spec = dict[str, Any]
Values = NDArray[np.float64]

VEGA_LITE = "5.20"
WIDTH, HEIGHT = 400, 320
SERIES = 4
BINS = 30
LOW_FPR = 0.1


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot.

    Attributes:
        name: unique within a page, letters and hyphens.
        title: what is shown.
        caption: how to read it.
        description: what a reader who cannot see it should know, with the numbers.
        svg: inline SVG, described by `title` and `description`.
    """

    name: str
    title: str
    caption: str
    description: str
    svg: str


def roc(audit: Audit) -> tuple[Figure, ...]:
    """The ROC curves: whole, and where false positives are few. Empty without labels of both classes."""
    shown = _leading(audit)
    curves = [(s.score, s.ranking.fpr, s.ranking.tpr) for s in shown if s.ranking is not None]
    if not curves:
        return ()
    baseline = measured_baseline(audit) if compares_labels(audit) else None
    blind = f"{baseline[0]} (blind)" if baseline else None
    if baseline and blind:
        curves.append((blind, baseline[1].fpr, baseline[1].tpr))
    diagonal = np.array([0.0, 1.0])
    curves.append(("chance", diagonal, diagonal))
    rows = [
        {"series": name, "fpr": float(x), "tpr": float(y), "order": i}
        for name, fpr, tpr in curves
        for i, (x, y) in enumerate(zip(fpr, tpr, strict=True))
    ]
    names = [name for name, _, _ in curves]
    told = listed(
        [f"{s.score} AUROC {s.ranking.auroc}" for s in shown if s.ranking is not None]
        + ([f"{blind} AUROC {baseline[1].auroc}"] if baseline else [])
    )
    whole = Figure(
        name="roc",
        title="ROC: members found against non-members accused",
        caption=f"{_whose(audit, shown)} The further above the dotted line of chance, the better.",
        description=f"ROC curves. {told}.",
        svg=drawn("roc", "ROC curves", f"{told}.", _roc_spec(rows, names, blind, limit=1.0, height=1.0)),
    )
    reached = [float(np.interp(LOW_FPR, fpr, tpr)) for _, fpr, tpr in curves]
    rates = _rates_told(shown)
    low = Figure(
        name="roc-low",
        title="The same where false accusations are rare",
        caption=f"The left edge of the same curves. Vertical lines mark {percent(0.01)} and {percent(0.05)} false "
        "positives, where a detector has to work to be of use.",
        description=rates,
        svg=drawn(
            "roc-low",
            "ROC curves at low false-positive rates",
            rates,
            _roc_spec(rows, names, blind, limit=LOW_FPR, height=min(1.0, max(0.2, max(reached) * 1.05))),
        ),
    )
    return (whole, low)


def dose_response(audit: Audit) -> tuple[Figure, ...]:
    """AUROC over the number of exposures, and the share found or flagged; empty where doses are unknown."""
    shown = [s for s in _leading(audit) if s.doses]
    if not shown:
        return ()
    level = percent(shown[0].doses[0].auroc.level)
    area = _dose_figure(
        "dose-auroc",
        "AUROC by number of exposures",
        f"{_whose(audit, shown)} Each number of exposures is held against samples never seen. Bars: {level} intervals "
        f"of {shown[0].score}; those of the others stand in the table. Dotted: chance.",
        {s.score: {f"{p.dose:g}": p.auroc for p in s.doses} for s in shown},
        axis={"title": "AUROC", "format": ".1f"},
        chance=0.5,
    )
    return (area, _flagged(shown) or _found(shown))


def _found(shown: Sequence[ScoreSummary]) -> Figure:
    return _dose_figure(
        "dose-tpr",
        f"Share found when {percent(0.05)} of the unseen are flagged",
        f"Thresholds from the never-seen samples themselves. Bars: intervals of {shown[0].score}. Dotted: chance.",
        {s.score: {f"{p.dose:g}": p.tpr_at_fpr_5 for p in s.doses} for s in shown},
        axis={"title": f"found at {percent(0.05)} FPR", "format": ".0%"},
        chance=0.05,
    )


def _flagged(shown: Sequence[ScoreSummary]) -> Figure | None:
    """The same with the threshold from other text, so that the never-seen samples show the true false positives."""
    held = {s.score: s.calibration.by_dose for s in shown if s.calibration is not None and s.calibration.by_dose}
    if shown[0].score not in held:
        return None
    first = next(iter(held[shown[0].score].values()))
    return _dose_figure(
        "dose-flagged",
        "Share flagged by a threshold set beforehand",
        f"Thresholds from other unseen text. Never seen: the false positives that do happen; chance (dotted) is "
        f"{percent(first.chance)}. Bars: intervals of {shown[0].score}.",
        {
            score: {"never" if dose == 0 else f"{dose:g}": rate.rate for dose, rate in sorted(rates.items())}
            for score, rates in held.items()
        },
        axis={"title": "flagged", "format": ".0%"},
        chance=first.chance,
    )


def _dose_figure(
    name: str,
    title: str,
    caption: str,
    series: Mapping[str, Mapping[str, Estimate]],
    *,
    axis: Spec,
    chance: float,
) -> Figure:
    """One line a series over the number of exposures; the first series with its intervals."""
    doses = sorted({dose for points in series.values() for dose in points}, key=lambda d: d != "never" and float(d))
    rows: list[Spec] = [
        {
            "series": score,
            "place": doses.index(dose),
            "value": e.value,
            "low": e.low if e.has_interval else e.value,
            "high": e.high if e.has_interval else e.value,
        }
        for score, points in reversed(list(series.items()))  # the leading score is drawn last, on top
        for dose, e in points.items()
        if not math.isnan(e.value)
    ]
    leading = [row for row in rows if row["series"] == next(iter(series))]
    lowest = min([chance, *(row["value"] for row in rows), *(row["low"] for row in leading)])
    x: Spec = {
        "field": "place",
        "type": "quantitative",
        "scale": {"domain": [-0.25, len(doses) - 0.75], "nice": False, "zero": False},
        "axis": {
            "values": list(range(len(doses))),
            "labelExpr": f"{json.dumps(doses)}[datum.value]",
            "title": "times the model saw the sample",
            "grid": False,
        },
    }
    y: Spec = {
        "type": "quantitative",
        "scale": {"domain": [max(0.0, math.floor(lowest * 10 - 0.5) / 10), 1], "nice": False, "zero": False},
        "axis": {**axis, "tickCount": 6},
    }
    style = series_style(list(series))
    bars = {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}}
    spec: Spec = {
        "data": {"values": rows},
        "layer": [
            {
                "data": {"values": [{"chance": chance}]},
                "mark": {"type": "rule", "color": "var(--chance)", "strokeDash": [1, 4], "strokeWidth": 1.5},
                "encoding": {"y": {"field": "chance", **y}},
            },
            {
                "data": {"values": leading},
                "mark": {"type": "rule", "color": "var(--series-1)", "strokeWidth": 5, "opacity": 0.3},
                "encoding": bars,
            },
            {"mark": {"type": "line"}, "encoding": {"x": x, "y": {"field": "value", **y}, **style}},
            {
                "mark": {"type": "point", "filled": True, "size": 36, "opacity": 1},
                "encoding": {"x": x, "y": {"field": "value", **y}, "color": style["color"]},
            },
        ],
    }
    told = "; ".join(
        f"{score}: " + ", ".join(f"{_exposed(dose)} {e}" for dose, e in points.items())
        for score, points in series.items()
    )
    return Figure(name, title, caption, f"{title}. {told}.", drawn(name, title, f"{told}.", spec))


def _exposed(dose: str) -> str:
    return "never seen" if dose == "never" else f"seen {dose} times"


def histograms(audit: Audit) -> dict[str, Figure]:
    """Where the values of each score lie, by label where there are labels; scores without a value are left out."""
    found = {}
    for score in sorted(audit.values, key=lambda name: name != audit.primary):
        figure = _histogram(audit, score)
        if figure is not None:
            found[score] = figure
    return found


def _histogram(audit: Audit, score: str) -> Figure | None:
    values = audit.values[score]
    scored = values[~np.isnan(values)]
    if not len(scored):
        return None
    labels = np.array([s.label or "" for s in audit.samples])
    known = {MEMBER: "members", NONMEMBER: "non-members"}
    classes: Mapping[str, Values] = {
        known.get(label, label or "unlabelled"): values[(labels == label) & ~np.isnan(values)]
        for label in sorted(set(labels.tolist()), key=lambda name: (name != MEMBER, name))
    }
    classes = {name: some for name, some in classes.items() if len(some)}
    edges = _edges(scored)
    rows = [
        {"class": name, "left": float(left), "right": float(right), "share": float(n) / len(some)}
        for name, some in classes.items()
        for n, left, right in zip(
            np.histogram(np.clip(some, edges[0], edges[-1]), edges)[0], edges[:-1], edges[1:], strict=True
        )
    ]
    several = len(classes) > 1
    palette = {"members": "var(--member)", "non-members": "var(--nonmember)"}
    others = iter(("var(--series-1)", "var(--series-3)", "var(--series-4)", "var(--series-2)"))
    colours = [palette.get(name) or next(others, "var(--chance)") for name in classes]
    colour: Spec = {
        "field": "class",
        "type": "nominal",
        "scale": {"domain": list(classes), "range": colours},
        "legend": {"title": None, "orient": "top", "symbolType": "square", "offset": 4} if several else None,
    }
    spec: Spec = {
        "data": {"values": rows},
        "mark": {"type": "bar", "fillOpacity": 0.45, "strokeWidth": 1, "strokeOpacity": 0.9, "binSpacing": 0},
        "encoding": {
            "x": {
                "field": "left",
                "type": "quantitative",
                "scale": {"domain": [float(edges[0]), float(edges[-1])], "nice": False, "zero": False},
                "axis": {"title": f"{score} (higher = more like training data)", "grid": False, "tickCount": 6},
            },
            "x2": {"field": "right"},
            "y": {
                "field": "share",
                "type": "quantitative",
                "stack": None,
                "axis": {"title": "share of samples", "format": ".0%", "tickCount": 5},
            },
            "y2": {"datum": 0},
            "color": colour,
            "stroke": {**colour, "legend": None},
        },
    }
    told = "; ".join(
        f"{name}: {count(len(some), 'sample')}, median {number(float(np.median(some)))}, "
        f"middle half {number(float(np.quantile(some, 0.25)))} to {number(float(np.quantile(some, 0.75)))}"
        for name, some in classes.items()
    )
    name = f"histogram-{list(audit.values).index(score)}"
    return Figure(
        name=name,
        title=f"Values of {score}",
        caption=told[0].upper() + told[1:] + ".",
        description=f"Histogram of {score}. {told}.",
        svg=drawn(name, f"Histogram of {score}", f"{told}.", spec),
    )


def _edges(values: Values) -> Values:
    low, high = np.quantile(values, [0.005, 0.995])
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, min(BINS, max(8, math.ceil(2 * len(values) ** (1 / 2)))) + 1)


def p_values(audit: Audit) -> Figure | None:
    """The p-values of the primary score against the flat line of a benchmark that did not leak; None uncalibrated."""
    held = audit.summary(audit.primary).calibration
    if held is None:
        return None
    known = held.p_values[~np.isnan(held.p_values)]
    if not len(known):
        return None
    edges = np.linspace(0, 1, 21)
    counts = np.histogram(known, edges)[0] / len(known)
    rows = [
        {"left": float(left), "right": float(right), "share": float(n)}
        for n, left, right in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    spec: Spec = {
        "layer": [
            {
                "data": {"values": rows},
                "mark": {
                    "type": "bar",
                    "color": "var(--series-1)",
                    "fillOpacity": 0.5,
                    "stroke": "var(--series-1)",
                    "binSpacing": 0,
                },
                "encoding": {
                    "x": {
                        "field": "left",
                        "type": "quantitative",
                        "scale": {"domain": [0, 1]},
                        "axis": {"title": f"p-value of {audit.primary}", "grid": False, "tickCount": 6},
                    },
                    "x2": {"field": "right"},
                    "y": {
                        "field": "share",
                        "type": "quantitative",
                        "axis": {"title": "share of samples", "format": ".0%", "tickCount": 5},
                    },
                    "y2": {"datum": 0},
                },
            },
            {
                "data": {"values": [{"y": 1 / (len(edges) - 1)}]},
                "mark": {"type": "rule", "color": "var(--ink)", "strokeDash": [2, 3], "strokeWidth": 1.5},
                "encoding": {"y": {"field": "y", "type": "quantitative"}},
            },
        ],
    }
    told = f"{percent(float(counts[0]))} of {count(len(known), 'sample')} have p ≤ .05"
    return Figure(
        name="p-values",
        title="p-values against unseen text",
        caption=f"{told}. If nothing had leaked, every bar would end near the dotted line ({percent(0.05)}).",
        description=f"Histogram of p-values. {told}.",
        svg=drawn("p-values", "Histogram of p-values", f"{told}.", spec),
    )


# What the figures share


def _leading(audit: Audit) -> Sequence[ScoreSummary]:
    """The primary score, then those with the highest AUROC."""

    def order(summary: ScoreSummary) -> tuple[bool, float]:
        found = summary.ranking.auroc.value if summary.ranking else math.nan
        return summary.score != audit.primary, math.inf if math.isnan(found) else -found

    usable = [s for s in audit.summaries if s.ranking is not None and len(s.ranking.fpr)]
    return sorted(usable or audit.summaries, key=order)[:SERIES]


def _whose(audit: Audit, shown: Sequence[ScoreSummary]) -> str:
    if len(shown) == 1 or len(shown) == len(audit.summaries):
        return ""
    return (
        f"{audit.primary} was chosen beforehand; the {len(shown) - 1} others because they came out best of "
        f"{len(audit.summaries) - 1} here, which flatters them."
    )


def _rates_told(shown: Sequence[ScoreSummary]) -> str:
    def told(estimates: Mapping[float, Estimate]) -> str:
        return listed([f"{percent(e.value)} at {percent(rate)}" for rate, e in estimates.items()])

    return "True-positive rates: " + "; ".join(f"{s.score} {told(s.ranking.tpr_at_fpr)}" for s in shown if s.ranking)


def _roc_spec(rows: list[Spec], names: list[str], blind: str | None, *, limit: float, height: float) -> Spec:
    axis = {"format": ".0%", "tickCount": 6}
    lines: Spec = {
        "data": {"values": rows},
        "mark": {"type": "line", "clip": True},
        "encoding": {
            "x": {
                "field": "fpr",
                "type": "quantitative",
                "scale": {"domain": [0, limit], "nice": False},
                "axis": {**axis, "title": "non-members accused (FPR)"},
            },
            "y": {
                "field": "tpr",
                "type": "quantitative",
                "scale": {"domain": [0, height], "nice": False},
                "axis": {**axis, "title": "members found (TPR)"},
            },
            "order": {"field": "order", "type": "quantitative"},
            **series_style(names, blind),
        },
    }
    if limit == 1:
        return lines
    guides: Spec = {
        "data": {"values": [{"at": 0.01}, {"at": 0.05}]},
        "mark": {"type": "rule", "color": "var(--chance)", "strokeWidth": 1},
        "encoding": {"x": {"field": "at", "type": "quantitative"}},
    }
    return {"layer": [guides, lines]}


def series_style(names: list[str], blind: str | None = None) -> Spec:
    """Colour, dash and width of each series: no series is told by colour alone."""
    colours = iter(["var(--series-1)", "var(--series-2)", "var(--series-3)", "var(--series-4)"])
    dashes = iter([[1, 0], [6, 2], [2, 2], [8, 2, 2, 2]])
    look = {
        name: ("var(--chance)", [1, 4], 1.5)
        if name == "chance"
        else ("var(--blind)", [10, 4], 1.75)
        if name == blind
        else (next(colours), next(dashes), 2.5 if i == 0 else 1.75)
        for i, name in enumerate(names)
    }
    ranges = list(zip(*look.values(), strict=True))
    legend = {"title": None, "orient": "bottom", "columns": 2, "symbolType": "stroke", "symbolSize": 420, "offset": 6}

    def channel(values: Sequence[object]) -> Spec:
        return {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": names, "range": list(values)},
            "legend": legend,
        }

    style = {"color": channel(ranges[0]), "strokeDash": channel(ranges[1])}
    # of a scale with a single width Vega makes NaN
    return style | {"strokeWidth": channel(ranges[2]) if len(names) > 1 else {"value": ranges[2][0]}}


_CONFIG: Spec = {
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


def drawn(name: str, title: str, description: str, spec: Spec) -> str:
    """Inline SVG with a title and a description, its ids made unique by `name`."""
    full = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": WIDTH,
        "height": HEIGHT,
        "autosize": {"type": "fit", "contains": "padding"},
        "padding": 2,
        "config": _CONFIG,
        **spec,
    }
    picture: str = vl_convert.vegalite_to_svg(full, vl_version=VEGA_LITE)
    size = re.search(r'viewBox="([^"]+)"', picture)
    body = re.search(r"<svg[^>]*>(.*)</svg>", picture, re.DOTALL)
    if size is None or body is None:
        raise ValueError("Vega-Lite gave no picture")
    numbers: dict[str, str] = {}  # Vega counts its ids through a whole process; a page is to be the same every time

    def unique(found: re.Match[str]) -> str:
        return f"{found[1]}{name}-{numbers.setdefault(found[2], str(len(numbers)))}"

    inside = re.sub(r'(\bid="|url\(#)([\w-]+)', unique, body[1])
    labels = f"{name}-title {name}-description"
    return (
        f'<svg viewBox="{size[1]}" role="img" aria-labelledby="{labels}">'
        f'<title id="{name}-title">{_escaped(title)}</title>'
        f'<desc id="{name}-description">{_escaped(description)}</desc>{inside}</svg>'
    )


def _escaped(text: str) -> str:
    return functools.reduce(
        lambda done, pair: done.replace(*pair), [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")], text
    )
