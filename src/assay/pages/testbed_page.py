"""The page of a controlled experiment: one HTML file that opens without a network."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from assay._version import __version__
from assay.evaluation import Estimate
from assay.pages.figures import Figure
from assay.pages.html import asset, command_line, environment, told
from assay.pages.series import Series, line_figure
from assay.pages.testbed_tables import testbed_tables
from assay.pages.wording import listed
from assay.scores import flagged
from assay.testbed import Cell, Evaluation, View

DRAWN = 4
"""As many lines can be told apart; the tables have all detectors."""
SHORT = 200
"""Points of the loss curve: as many as a screen shows."""


def render_testbed(found: Evaluation, manifest: Mapping[str, Any], losses: Sequence[Mapping[str, float]]) -> str:
    """The page as text."""
    separated = [one for one in found.blind if one.separates]
    return (
        environment()
        .get_template("testbed.html.j2")
        .render(
            found=found,
            version=__version__,
            style=Markup(asset("report.css")),  # noqa: S704  our own file
            tables=testbed_tables(found),
            figures=[figure for figure in (*_by_epoch(found), loss_figure(losses)) if figure is not None],
            confounded=listed([f"{one.kind}: AUROC {one.auroc}" for one in separated]),
            command=command_line(manifest),
            manifest={key: told(value) for key, value in manifest.items() if key != "command"},
        )
    )


def loss_figure(losses: Sequence[Mapping[str, float]]) -> Figure | None:
    """The loss curve; None where nothing was logged."""
    if not losses:
        return None
    step = max(1, len(losses) // SHORT)
    thinned = [*losses[::step], losses[-1]]
    points = {line["epoch"]: Estimate(line["loss"], math.nan, math.nan) for line in thinned}
    return line_figure(
        "loss",
        "Loss while training",
        "Nats a token, members and general text together.",
        [Series("loss", points)],
        x="epoch",
        y="loss",
    )


def _by_epoch(found: Evaluation) -> list[Figure]:
    views = dict.fromkeys(cell.view for cell in found.cells)
    return [
        line_figure(
            f"auroc-{view}",
            "AUROC by epochs" if view == "all" else "AUROC by epochs, samples that pass the filter",
            "Members against non-members. Dotted: chance. Bars: 95 % intervals of the first.",
            [Series(name, _aurocs(found, name, view)) for name in _drawn(found)],
            x="epochs of training",
            y="AUROC",
            chance=0.5,
        )
        for view in views
    ]


def _drawn(found: Evaluation) -> list[str]:
    known = [name for name in flagged("figure") if name in found.detectors]
    return known or list(found.detectors[:DRAWN])


def _aurocs(found: Evaluation, name: str, view: View) -> dict[float, Estimate]:
    cells: list[Cell | None] = [found.cell(name, epoch, view) for epoch in found.epochs]
    return {float(cell.epoch): cell.auroc for cell in cells if cell is not None}
