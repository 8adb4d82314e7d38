"""What an experiment leaves for people: finding.json, finding.md, finding.html, and run folders of its audits."""

import json
import math
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup

from assay._version import __version__
from assay.errors import DataError
from assay.evaluation import Estimate
from assay.experiments import Finding, Value
from assay.leakage import SampleTokens
from assay.pages.codec import encode
from assay.pages.html import asset, environment, write_report
from assay.pages.payload import STEPS
from assay.pages.result_tables import Row, Table, markdown_of
from assay.pages.run_folder import write_run
from assay.pages.series import Series, line_figure
from assay.pages.wording import auroc, number, percent, percent_with_interval


def write_finding(folder: Path, found: Finding, manifest: dict[str, Any]) -> Path:
    """Write the numbers, the table and the page; returns where the page lies.

    Raises:
        DataError: the folder cannot be written.
    """
    content = {
        "schema": 1,
        "name": found.name,
        "title": found.title,
        "columns": list(found.columns),
        "unit": found.unit,
        "seeds": list(found.seeds),
        "notes": list(found.notes),
        "lines": [{"name": line.name, "values": [encode(value) for value in line.values]} for line in found.lines],
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "finding.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
        (folder / "finding.md").write_text(markdown_of(finding_table(found), head=found.head) + "\n", "utf-8")
        (folder / "finding.html").write_text(render_finding(found), "utf-8")
        for name, one in found.audits.items():
            write_run(folder / "audits" / name, one, manifest)
            write_report(folder / "audits" / name)
    except OSError as error:
        raise DataError(f"cannot write to {folder}: {error.strerror or error}") from error
    return folder / "finding.html"


def finding_table(found: Finding) -> Table:
    """The finding as a table."""
    rows = tuple(Row(line.name, tuple(_told(value, found.unit) for value in line.values)) for line in found.lines)
    return Table(found.name, found.title, found.columns, rows, found.notes)


def render_finding(found: Finding) -> str:
    """The page as text."""
    figure = None
    if found.drawn:
        series = [Series(one.name, one.points) for one in found.drawn]
        figure = line_figure(found.name, found.title, "Bars: the intervals of the first.", series, x=found.x, y=found.y)
    panes = []
    if found.case is not None:
        for sample, tokens in zip((found.case.original, found.case.variant), found.case.tokens, strict=True):
            panes.append((sample.id, Markup("").join(heat_map(sample.text, tokens))))
    return (
        environment()
        .get_template("finding.html.j2")
        .render(
            found=found,
            table=finding_table(found),
            head=found.head,
            figure=figure,
            panes=panes,
            version=__version__,
            style=Markup(asset("report.css")),  # noqa: S704  our own file
        )
    )


def heat_map(text: str, tokens: SampleTokens) -> Iterator[Markup]:
    """The text, each token shaded by how little the model expected it; what was not scored stands plain."""
    reached = 0
    for (start, end), mass in zip(tokens.offsets.tolist(), tokens.tail_mass.tolist(), strict=True):
        begin = max(start, reached)
        if begin > reached:
            yield Markup("{}").format(text[reached:begin])
        if end > begin:
            yield Markup('<span class="k{}">{}</span>').format(bisect_right(STEPS, mass), text[begin:end])
            reached = end
    yield Markup("{}").format(text[reached:])


def _told(value: Value, unit: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if unit == "percent":
        return percent_with_interval(value) if isinstance(value, Estimate) else percent(value)
    if isinstance(value, Estimate):
        return auroc(value) if value.has_interval and not math.isnan(value.value) else number(value.value)
    return number(value)
