"""A finding as a report, and the files that an experiment leaves: finding.json, finding.md, finding.html, audits."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from assay.files import write_text
from assay.leakage import describe_audit, write_run
from assay.reports import (
    Cell,
    Column,
    ColumnKind,
    Figure,
    Missing,
    Report,
    Row,
    Series,
    Table,
    line_chart,
    render_json,
    render_markdown,
    write_html,
)
from assay_lab.columns import attributes
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.driving import commit
from assay_lab.experiments.finding import Chart, Finding, HeatMap, Picture, Value, ValueTable
from assay_lab.experiments.matrix import heat_map
from assay_lab.experiments.papers import Unit
from assay_lab.mappings import enumerated
from assay_lab.measuring import machine
from assay_lab.stand_ins.home import MARKER, MEANING

SCHEMA = 2
KINDS: Mapping[Unit, ColumnKind] = {"percent": "share", "number": "number", "count": "count"}
NOT_MEASURED = Missing("not measured, or not printed by the paper")


def finding_report(finding: Finding, origin: Mapping[str, object] = MappingProxyType({})) -> Report:
    """Return the report of an experiment; its data are what `finding.json` holds, with where it is from."""
    seeds = f" · seed {', '.join(map(str, finding.seeds))}" if finding.seeds else ""
    return Report(
        title=finding.title,
        statement="",
        tables=tuple(map(described_table, finding.tables)),
        figures=(
            *map(described_chart, finding.charts),
            *map(described_heat_map, finding.heat_maps),
            *map(described_picture, finding.pictures),
        ),
        notes=finding.notes,
        data={
            "schema": SCHEMA,
            "name": finding.name,
            "title": finding.title,
            "seeds": finding.seeds,
            "notes": finding.notes,
            "tables": finding.tables,
            **origin,
        },
        kind=f"experiment {finding.name}{seeds}",
        excerpts=finding.excerpts,
        manifest=finding.manifest,
    )


def write_finding(folder: Path, finding: Finding, bench: Bench | None = None) -> Path:
    """Write the numbers, the tables, the page and the run folders of its audits; return the path of the page.

    Args:
        folder: of the files.
        finding: the result.
        bench: that it was measured on; `finding.json` then also has its command, scale, models and data.

    Raises:
        DataError: the folder cannot be written.
    """
    report = finding_report(finding, origin_of(finding.name, bench))
    is_rehearsal = bool(bench and bench.is_rehearsal)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "finding.json", render_json(report))
    write_text(folder / "finding.md", render_markdown(report))
    for name, audit in finding.audits.items():
        run = write_run(folder / "audits" / name, audit, finding.manifest)
        described = describe_audit(audit, finding.manifest)
        write_html(saying_stand_in(described) if is_rehearsal else described, run / "report.html")
    return write_html(report, folder / "finding.html")


def origin_of(name: str, bench: Bench | None) -> dict[str, object]:
    """Return commit, day, machine and versions of a finding, and what the bench ran."""
    origin: dict[str, object] = {"stand_in": True} if bench and bench.is_rehearsal else {}
    origin |= {
        "commit": commit(),
        "measured": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
    }
    if bench is None:
        return origin
    seeds = ",".join(map(str, bench.seeds))
    words = ["assay lab run", name, "--scale", Path(bench.scale).name, "--seed", seeds]
    for data, place in bench.data.items():
        # the name alone: a path would tell about the machine
        words += ["--data", f"{data}={Path(place).name}"]
    for model in bench.models:
        words += ["--model", label_of(model)]
    models = list(dict.fromkeys(map(label_of, bench.models or attributes(bench.configurations, "model"))))
    return origin | {"command": " ".join(words), "scale": Path(bench.scale).name, "models": models}


Titled = TypeVar("Titled", Report, ValueTable, Chart, HeatMap, Picture)


def saying_stand_in(part: Titled) -> Titled:
    """Return a page, a table or a figure whose title says that stand-ins gave it."""
    return replace(part, title=f"{MARKER}: {part.title}")


def marked(finding: Finding) -> Finding:
    """Return a finding that says everywhere that stand-ins gave it: in title, tables, figures, audits and notes."""
    audits = {}
    for name, audit in finding.audits.items():
        audits[name] = replace(audit, benchmark=f"{MARKER}: {audit.benchmark}")
    return replace(
        finding,
        title=f"{MARKER}: {finding.title}",
        tables=tuple(map(saying_stand_in, finding.tables)),
        charts=tuple(map(saying_stand_in, finding.charts)),
        heat_maps=tuple(map(saying_stand_in, finding.heat_maps)),
        pictures=tuple(map(saying_stand_in, finding.pictures)),
        notes=(f"{MARKER}: {MEANING.strip()}", *finding.notes),
        audits=audits,
        manifest={**finding.manifest, "stand_in": True},
    )


def described_table(table: ValueTable) -> Table:
    """Return a table of values as a table of a report."""
    kind = KINDS[table.unit]
    return Table(
        name=table.name,
        title=table.title,
        columns=(Column(table.head, "name"), *map(Column, table.columns, repeat(kind))),
        rows=tuple(Row((row.name, *map(cell, row.values))) for row in table.rows),
    )


def described_chart(chart: Chart) -> Figure:
    """Return a chart as a figure of a report."""
    return Figure(
        name=chart.name,
        title=chart.title,
        description=f"{chart.title}. {'; '.join(map(line_in_words, chart.series))}.",
        chart=partial(line_chart, chart.series, chart.axes),
        caption="Bars: the intervals of the first line.",
    )


def line_in_words(line: Series) -> str:
    """Return name and points of a line, for readers who cannot see it."""
    return f"{line.name}: " + enumerated(line.points, "{:g} {}")


def described_heat_map(matrix: HeatMap) -> Figure:
    """Return a matrix as a figure of a report."""
    numbers = ", ".join(f"{row} and {column}: {value:.2f}" for (row, column), value in matrix.values.items())
    return Figure(
        name=matrix.name,
        title=matrix.title,
        description=f"{matrix.title}. {numbers}.",
        chart=partial(heat_map, matrix.values, middle=matrix.middle),
        caption="",
    )


def described_picture(picture: Picture) -> Figure:
    """Return a picture as a figure of a report."""
    return Figure(
        name=picture.name, title=picture.title, description=picture.description, chart=picture.draw, caption=""
    )


def cell(value: Value) -> Cell:
    """Return a value as a cell."""
    return NOT_MEASURED if value is None else value
