"""A finding as a report, and the files that an experiment leaves: finding.json, finding.md, finding.html, audits."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from assay.experiments.finding import Finding
from assay.files import write_json, write_text
from assay.leakage import describe as describe_audit
from assay.leakage import write_run
from assay.reports import (
    Axes,
    Column,
    Excerpt,
    Figure,
    Kind,
    Missing,
    Report,
    Row,
    Series,
    Table,
    encode,
    line_chart,
    render_markdown,
    write_html,
)

SCHEMA = 1
NOT_MEASURED = Missing("not measured, or not printed by the paper")


def describe(finding: Finding) -> Report:
    """Return the report of an experiment; its data are what `finding.json` holds."""
    return Report(
        title=finding.title,
        statement="",
        tables=(finding_table(finding),),
        figures=_figures(finding),
        data={
            "schema": SCHEMA,
            "name": finding.name,
            "title": finding.title,
            "columns": finding.columns,
            "unit": finding.unit,
            "seeds": finding.seeds,
            "notes": finding.notes,
            "lines": finding.lines,
        },
        kind=f"experiment {finding.name} · seed {', '.join(map(str, finding.seeds))}",
        excerpts=_excerpts(finding),
    )


def finding_table(finding: Finding) -> Table:
    """Return the finding as a table."""
    kind: Kind = "share" if finding.unit == "percent" else "number"
    return Table(
        name=finding.name,
        title=finding.title,
        columns=(Column(finding.head, "name"), *(Column(title, kind) for title in finding.columns)),
        rows=tuple(
            Row((line.name, *(NOT_MEASURED if value is None else value for value in line.values)))
            for line in finding.lines
        ),
        caption=finding.notes,
        section="The numbers",
    )


def write_finding(folder: Path, finding: Finding, manifest: Mapping[str, object]) -> Path:
    """Write the numbers, the table, the page and the run folders of its audits; return where the page lies.

    Raises:
        DataError: the folder cannot be written.
    """
    report = describe(finding)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "finding.json", encode(report.data))
    write_text(folder / "finding.md", render_markdown(report))
    for name, audit in finding.audits.items():
        run = write_run(folder / "audits" / name, audit, manifest)
        write_html(describe_audit(audit, manifest), run / "report.html")
    return write_html(report, folder / "finding.html")


def _figures(finding: Finding) -> tuple[Figure, ...]:
    if not finding.drawn:
        return ()
    lines = [Series(line.name, line.points) for line in finding.drawn]
    words = "; ".join(f"{s.name}: " + ", ".join(f"{x:g} {value}" for x, value in s.points.items()) for s in lines)
    return (
        Figure(
            name=f"figure-{finding.name}",
            title=finding.title,
            description=f"{finding.title}. {words}.",
            chart=partial(line_chart, lines, Axes(finding.x, finding.y)),
            caption="Bars: the intervals of the first.",
        ),
    )


def _excerpts(finding: Finding) -> tuple[Excerpt, ...]:
    if finding.case is None:
        return ()
    samples = (finding.case.original, finding.case.variant)
    return tuple(Excerpt(s.id, s.text, tokens) for s, tokens in zip(samples, finding.case.tokens, strict=True))
