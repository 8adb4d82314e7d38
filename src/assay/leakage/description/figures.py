"""The figures of an audit: ROC curves, values by dose, histograms, p-values."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from assay.evaluation import DosePoint, Estimate
from assay.leakage.description.blind import baseline_separates_labels, measured_baseline
from assay.leakage.description.tables import DISTRIBUTIONS, EXPOSURES, SCORES, by_area
from assay.leakage.form_test import placebo_residuals
from assay.leakage.results import Audit, ScoreSummary
from assay.reports import (
    MOST_SERIES,
    Axes,
    Curve,
    Figure,
    Series,
    area_with_interval,
    four_digits,
    histogram,
    line_chart,
    listed,
    number_of,
    percent,
    roc_chart,
)
from assay.types import MEMBER, NONMEMBER

LOW_FPR = 0.1
CLASSES: Mapping[str, str] = {MEMBER: "members", NONMEMBER: "non-members"}
COLOURS: Mapping[str, str] = {"members": "var(--member)", "non-members": "var(--nonmember)"}
SeriesByDose = dict[str, dict[float, Estimate]]
"""Score → dose → a figure."""
ROC_AXES = ("non-members flagged (false-positive rate, FPR)", "members found (true-positive rate, TPR)")


def figures(audit: Audit) -> tuple[Figure, ...]:
    """Return every figure that the audit's data allow, the one beside the statement first."""
    drawn = (*form_figures(audit), *dose_figures(audit), *roc_figures(audit), *histograms(audit))
    deciding = audit.deciding
    if not deciding.is_open and deciding.form is None:
        return (*p_value_figures(audit), *drawn)
    # what stands out one by one, or the values alone, are no reason for an answer that is open
    leads = deciding.form is not None or deciding.ranking is not None
    return tuple(replace(figure, leads=leads) for figure in (*drawn, *p_value_figures(audit)))


def form_figures(audit: Audit) -> tuple[Figure, ...]:
    """Return the residual of the benchmark beside those of the placebos; empty where it does not decide."""
    form = audit.deciding.form
    if form is None or math.isnan(form.residual.estimate.value):
        return ()
    residual, others = form.residual.estimate.value, placebo_residuals(parent=form.is_parent)
    words = (
        f"{audit.benchmark}: {residual:.1f} standard deviations; {len(others)} benchmarks that a model saw nothing of: "
        f"{others.min():.1f} to {others.max():.1f}, 95 % below {form.margin:.1f}"
    ).replace("-", "−")
    return (
        Figure(
            name="residual",
            title="The benchmark beside benchmarks without a leak",
            description=f"Histogram of residuals. {words}.",
            chart=partial(
                histogram,
                {"without a leak": others},
                "standard deviations above the unseen text",
                unit="benchmarks without a leak",
                mark=(audit.benchmark, residual),
            ),
            caption=f"{words}. A line far to the right of all bars would show a leak.",
            section=SCORES,
        ),
    )


def roc_figures(audit: Audit) -> tuple[Figure, ...]:
    """Return the ROC curves, whole and where false positives are few; empty without labels of both classes."""
    shown = {summary.score: summary.ranking for summary in _leading(audit) if summary.ranking is not None}
    if not any(len(ranking.fpr) for ranking in shown.values()):
        return ()
    drawn, blind = dict(shown), None
    baseline = measured_baseline(audit)
    # of other classes its curve would be compared with the wrong ones
    if baseline is not None and baseline_separates_labels(audit):
        blind = f"{baseline[0]} (blind)"
        drawn[blind] = baseline[1]
    curves, areas, rates = [], [], []
    for name, ranking in drawn.items():
        curves.append(Curve(name, ranking.fpr, ranking.tpr))
        areas.append(f"{name} AUROC {area_with_interval(ranking.auroc)}")
        if name != blind:
            shares = ranking.tpr_at_fpr.items()
            rates.append(f"{name} " + listed([f"{percent(share.value)} at {percent(fpr)}" for fpr, share in shares]))
    chart = partial(roc_chart, curves, baseline=blind, x=ROC_AXES[0], y=ROC_AXES[1])
    return (
        Figure(
            name="roc",
            title="ROC: members found against non-members flagged",
            description=f"ROC curves. {listed(areas)}.",
            chart=chart,
            caption=f"{_selection_note(audit, len(shown))} The dotted line is chance: higher is better.".strip(),
            section=SCORES,
        ),
        Figure(
            name="roc-low",
            title="ROC where false positives are rare",
            description=f"ROC curves at low false-positive rates. True-positive rates: {'; '.join(rates)}.",
            chart=partial(chart, limit=LOW_FPR),
            caption=f"The left edge of the ROC curves. Vertical lines mark {percent(0.01)} and {percent(0.05)} false "
            "positives, where a detector has to work to be of use.",
            section=SCORES,
        ),
    )


def dose_figures(audit: Audit) -> tuple[Figure, ...]:
    """Return AUROC by number of exposures, and the share found or flagged; empty where doses are unknown."""
    shown = [summary for summary in _leading(audit) if summary.doses]
    if not shown:
        return ()
    level, first = percent(shown[0].doses[0].auroc.level), shown[0].score
    caption = (
        f"{_selection_note(audit, len(shown))} Each number of exposures is compared with samples never seen. Bars: "
        f"{level} intervals of {first}; the table has those of the others. Dotted: chance."
    )
    areas = _by_dose(shown, lambda point: point.auroc)
    title = "AUROC by number of exposures"
    area = _dose_figure("dose-auroc", title, caption=caption.strip(), series=areas, axes=_axes("AUROC", 0.5))
    # a threshold from other text shows the true false positives; without it the samples set their own
    return area, _flagged(shown) or _detected(shown)


def _by_dose(
    shown: Sequence[ScoreSummary], figure: Callable[[DosePoint], Estimate]
) -> dict[str, dict[float, Estimate]]:
    """Return a figure of each dose."""
    series: SeriesByDose = {}
    for summary in shown:
        series[summary.score] = {point.dose: figure(point) for point in summary.doses}
    return series


def _detected(shown: Sequence[ScoreSummary]) -> Figure:
    """The share of each dose above the threshold that flags 5 % of the never-seen samples."""
    return _dose_figure(
        "dose-tpr",
        f"Share found when {percent(0.05)} of the unseen are flagged",
        caption=f"Thresholds from the never-seen samples themselves. Bars: intervals of {shown[0].score}. Dotted: "
        "chance.",
        series=_by_dose(shown, lambda point: point.tpr_at_fpr_5),
        axes=_axes(f"found at {percent(0.05)} FPR", 0.05, share=True),
    )


def _flagged(shown: Sequence[ScoreSummary]) -> Figure | None:
    """The same with the threshold from other text, so that the never-seen samples show the true false positives."""
    series: SeriesByDose = {}
    for summary in shown:
        if summary.calibration is not None and summary.calibration.by_dose:
            flagged = sorted(summary.calibration.by_dose.items())
            series[summary.score] = {dose: entry.rate for dose, entry in flagged}
    first = shown[0]
    if first.score not in series or first.calibration is None:
        return None
    chance = next(iter(first.calibration.by_dose.values())).chance
    return _dose_figure(
        "dose-flagged",
        "Share flagged by a threshold set beforehand",
        caption="Thresholds from other unseen text. Never seen: the false positives that do happen; chance (dotted) is "
        f"{percent(chance)}. Bars: intervals of {first.score}.",
        series=series,
        axes=_axes("flagged", chance, share=True),
    )


def _axes(y: str, chance: float, *, share: bool = False) -> Axes:
    return Axes("times the model saw the sample", y, percent=share, chance=chance)


def _dose_figure(
    name: str, title: str, caption: str, series: Mapping[str, Mapping[float, Estimate]], *, axes: Axes
) -> Figure:
    """One line a series over the number of exposures; the first series with its intervals."""
    labels = {}
    lines: list[Series] = []
    # chance belongs into the picture, however high all values are
    values, words = [axes.chance or 0.0], []
    for score, points in series.items():
        described = []
        for dose, point in points.items():
            labels[dose] = f"{dose:g}" if dose else "never"
            described.append(f"{_exposed(dose)} {area_with_interval(point)}")
            values.append(point.value)
            if not lines:  # only the first series has its intervals drawn
                values.append(point.low)
        lines.append(Series(score, points))
        words.append(f"{score}: {', '.join(described)}")
    lowest = float(np.nanmin(values))
    labelled = replace(
        axes,
        labels=dict(sorted(labels.items())),
        # at least half a tenth of room, so that no line runs along the frame
        range=(max(0.0, math.floor(lowest * 10 - 0.5) / 10), 1.0),
    )
    description = f"{title}. {'; '.join(words)}."
    return Figure(
        name=name,
        title=title,
        description=description,
        chart=partial(line_chart, lines, labelled),
        caption=caption,
        section=EXPOSURES,
    )


def _exposed(dose: float) -> str:
    return "never seen" if dose == 0 else f"seen {dose:g} times"


def histograms(audit: Audit) -> tuple[Figure, ...]:
    """Return where the values of each score lie, by label where there are labels; of scores that have a value.

    The primary score is always shown; of the others a reader chooses one.
    """
    drawn: list[Figure] = []
    for score in audit.primary_first:
        classes = _by_class(audit, score)
        if classes:
            drawn.append(_histogram(audit, score, classes, chosen=bool(drawn)))
    return tuple(drawn)


def _by_class(audit: Audit, score: str) -> dict[str, NDArray[np.float64]]:
    """The class in words → its values; classes without a value are left out."""
    values = audit.values[score]
    labels = np.array([sample.label or "" for sample in audit.samples])
    classes = {}
    # members first, as in the tables
    for label in sorted(set(labels.tolist()), key=lambda label: (label != MEMBER, label)):
        scored = values[(labels == label) & ~np.isnan(values)]
        if len(scored):
            classes[CLASSES.get(label, label or "unlabelled")] = scored
    return classes


def _histogram(audit: Audit, score: str, classes: Mapping[str, NDArray[np.float64]], *, chosen: bool) -> Figure:
    described = []
    for name, values in classes.items():
        low, middle, high = (four_digits(float(end)) for end in np.quantile(values, (0.25, 0.5, 0.75)))
        described.append(f"{name}: {number_of(len(values), 'sample')}, median {middle}, middle half {low} to {high}")
    words = "; ".join(described)
    return Figure(
        name=f"histogram-{list(audit.values).index(score)}",
        title=f"Values of {score}",
        description=f"Histogram of {score}. {words}.",
        chart=partial(histogram, classes, f"{score} (higher = more like training data)", colours=COLOURS),
        caption=f"{words[0].upper()}{words[1:]}. The outermost bars hold everything beyond them.",
        section=DISTRIBUTIONS,
        choice=score if chosen else "",
    )


def p_value_figures(audit: Audit) -> tuple[Figure, ...]:
    """Return the p-values of the primary score above the flat line of chance; empty uncalibrated.

    Where doses are known the figures by dose show the same better, so there is none.
    """
    summary = audit.summary(audit.primary)
    if summary.calibration is None or summary.doses:
        return ()
    p_values = summary.calibration.p_values[~np.isnan(summary.calibration.p_values)]
    if not len(p_values):
        return ()
    # bins of .05: the first bar is what is flagged at the usual level
    edges = np.linspace(0, 1, 21)
    small = float(np.histogram(p_values, edges)[0][0]) / len(p_values)
    words = f"{percent(small)} of {number_of(len(p_values), 'sample')} have p ≤ .05"
    title = f"p-value of {audit.primary}"
    return (
        Figure(
            name="p-values",
            title="p-values against unseen text",
            description=f"Histogram of p-values. {words}.",
            chart=partial(histogram, {"samples": p_values}, title, edges=edges, level=1 / (len(edges) - 1)),
            caption=f"{words}. If nothing had leaked, every bar would end near the dotted line ({percent(0.05)}).",
            section=SCORES,
        ),
    )


def _leading(audit: Audit) -> Sequence[ScoreSummary]:
    """The primary score, then those with the highest AUROC, as many as a picture can show."""
    ordered = by_area(audit)
    # a ranking without a curve has too few values to be drawn
    ranked = [summary for summary in ordered if summary.ranking is not None and len(summary.ranking.fpr)]
    return (ranked or ordered)[:MOST_SERIES]


def _selection_note(audit: Audit, shown: int) -> str:
    """A sentence on scores that were selected by their results; "" where none was."""
    if shown in (1, len(audit.summaries)):
        return ""
    return (
        f"{audit.primary} was chosen beforehand; the {shown - 1} others because they came out best of "
        f"{len(audit.summaries) - 1} here, which flatters them."
    )
