"""A report as GitHub Markdown."""

from collections.abc import Sequence

from assay.reports.report import Report, Row, Table
from assay.reports.wording import cell_text, heading, sentences


def render_markdown(report: Report) -> str:
    """Return the report: title, warning, statement, details, main figures, tables, notes."""
    parts = [f"# {report.title}"]
    if report.warning:
        parts.append(f"> **Warning.** {report.warning}")
    if report.statement:
        parts.append(f"**{report.statement}**")
    parts += report.details
    if report.facts:
        parts.append("\n".join(f"- {f.name}: {f.value}{f' ({f.note})' if f.note else ''}" for f in report.facts))
    parts += [markdown_table(table) for table in report.tables]
    if report.notes:
        parts.append("\n".join(f"- {note}" for note in report.notes))
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """Return one table, its title above and its caption below."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    rules = "".join("---|" if column.kind in ("name", "text") else "---:|" for column in table.columns)
    lines = [f"**{table.title}**", "", line([heading(column) for column in table.columns]), f"|{rules}"]
    lines += [line(_cells(table, row)) for row in table.rows]
    caption = " ".join(sentences(table))
    return "\n".join([*lines, "", caption] if caption else lines)


def _cells(table: Table, row: Row) -> list[str]:
    texts = []
    for cell, column in zip(row.cells, table.columns, strict=True):
        text = cell_text(cell, column.kind)
        if column.kind == "name" and row.kind != "baseline":
            text = f"**`{text}`**" if row.kind == "primary" else f"`{text}`"
        texts.append(text)
    return texts
