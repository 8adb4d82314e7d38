"""A controlled experiment as a report, and that of a demonstration, which has one inside."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import repeat
from types import MappingProxyType

from assay.evaluation import Estimate
from assay.reports import MOST_SERIES, Axes, Fact, Figure, Report, Series, area_with_interval, line_chart, listed
from assay_lab.testbed.detectors import IN_FIGURES
from assay_lab.testbed.evaluation_file import content_of
from assay_lab.testbed.evaluation_result import DetectorResult, Evaluation, SampleView
from assay_lab.testbed.result_tables import evaluation_tables, views

SHORT = 200
"""Points of the loss curve: as many as a screen shows."""


def describe_evaluation(
    evaluation: Evaluation,
    manifest: Mapping[str, object] = MappingProxyType({}),
    losses: Sequence[Mapping[str, float]] = (),
) -> Report:
    """Return the report of a controlled experiment.

    Args:
        evaluation: what was measured.
        manifest: how, as the run folder stores it.
        losses: the training log, entries with "epoch" and "loss".
    """
    separating = [f"{b.kind}: AUROC {area_with_interval(b.auroc)}" for b in evaluation.blind if b.separates]
    warning = ""
    if separating:
        warning = (
            f"The texts alone separate members from non-members ({listed(separating)}), so part of the "
            "results may come from the texts and not from training."
        )
    return Report(
        title="Which detector finds the texts that were planted?",
        statement=_statement(evaluation),
        tables=evaluation_tables(evaluation),
        figures=(*_auroc_figures(evaluation), *_loss_figures(losses)),
        notes=evaluation.notes,
        data=content_of(evaluation),
        kind=f"controlled experiment · {evaluation.model} · seed {evaluation.seed}",
        warning=warning,
        facts=tuple(_part(evaluation, part, texts) for part, texts in evaluation.parts.items()),
        manifest=manifest,
    )


def _statement(evaluation: Evaluation) -> str:
    """The detector with the highest AUROC after the last epoch."""
    last = evaluation.epochs[-1]
    cells = list(map(evaluation.cell, evaluation.detectors, repeat(last)))
    measured = [cell for cell in cells if cell is not None and not math.isnan(cell.auroc.value)]
    if not measured:
        return "No detector could be judged."
    best = max(measured, key=lambda cell: cell.auroc.value)
    return (
        f"After {last} epochs of training {best.detector} has the highest AUROC of {len(measured)} detectors: "
        f"{area_with_interval(best.auroc)} (chance .5; picked after the fact, which flatters it)."
    )


def _part(evaluation: Evaluation, part: str, texts: int) -> Fact:
    passed = evaluation.passed_filter.get(part)
    return Fact(part, f"{texts:,}", "" if passed is None else f"{passed:,} pass the paper's filter")


def _auroc_figures(evaluation: Evaluation) -> list[Figure]:
    return list(map(partial(_auroc_figure, evaluation), views(evaluation)))


def _auroc_figure(evaluation: Evaluation, view: SampleView) -> Figure:
    lines = [Series(name, _areas(evaluation, name, view)) for name in _drawn(evaluation)]
    words = "; ".join(map(_in_words, lines))
    title = "AUROC by epochs" if view == "all" else "AUROC by epochs, samples that pass the filter"
    return Figure(
        name=f"figure-auroc-{view}",
        title=title,
        description=f"{title}. {words}.",
        chart=partial(line_chart, lines, Axes("epochs of training", "AUROC", chance=0.5)),
        caption="Members against non-members. Dotted: chance. Bars: 95 % intervals of the first.",
        section="AUROC",
    )


def _in_words(line: Series) -> str:
    return f"{line.name}: " + ", ".join(f"epoch {x:g} {area_with_interval(area)}" for x, area in line.points.items())


def _loss_figures(losses: Sequence[Mapping[str, float]]) -> list[Figure]:
    """The loss curve, thinned; none where nothing was logged."""
    if not losses:
        return []
    step = max(1, len(losses) // SHORT)
    # the last one in any case: it is where the training ended
    shown = [*losses[::step], losses[-1]]
    points = {entry["epoch"]: Estimate(entry["loss"], math.nan, math.nan) for entry in shown}
    return [
        Figure(
            name="loss",
            title="Loss during training",
            description=f"Loss during training: {losses[0]['loss']:.3f} at first, {losses[-1]['loss']:.3f} at the end.",
            chart=partial(line_chart, [Series("loss", points)], Axes("epoch", "loss")),
            caption="Nats per token, members and general text together.",
            section="Training",
        )
    ]


def _drawn(evaluation: Evaluation) -> list[str]:
    names = list(filter(evaluation.detectors.__contains__, IN_FIGURES))
    return (names or list(evaluation.detectors))[:MOST_SERIES]


def _areas(evaluation: Evaluation, name: str, view: SampleView) -> dict[float, Estimate]:
    cells: list[DetectorResult | None] = [evaluation.cell(name, epoch, view) for epoch in evaluation.epochs]
    return {float(cell.epoch): cell.auroc for cell in cells if cell is not None}
