"""A report as GitHub Markdown."""

from collections.abc import Iterable, Mapping

from assay.escaping import markdown_text
from assay.reports.report import Report, RowKind, Table
from assay.reports.wording import as_text, headings

FORMS: Mapping[RowKind, str] = {"primary": "**`{}`**", "plain": "`{}`", "baseline": "{}"}
"""Kind of a row → its name: in typewriter face, the primary one bold."""
LINE_END = "\n"


def render_markdown(report: Report) -> str:
    """Return the report: title, warning, statement, details, main figures, tables, notes."""
    parts = [f"# {markdown_text(report.title)}"]
    if report.warning:
        parts.append(f"> **Warning.** {markdown_text(report.warning)}")
    for line in report.first_lines[:1]:
        parts.append(f"**{markdown_text(line)}**")
    parts += map(markdown_text, (*report.first_lines[1:], *report.details))
    if report.facts:
        parts.append(_list(map(str, report.facts)))
    parts += map(markdown_table, report.tables)
    if report.notes:
        parts.append(_list(report.notes))
    return "\n\n".join(parts) + "\n"


def _list(entries: Iterable[str]) -> str:
    return "\n".join(f"- {markdown_text(entry)}" for entry in entries)


def markdown_table(table: Table) -> str:
    """Return one table, its title above and its caption below."""
    text = as_text(table)
    # numbers to the right, so that their digits stand below each other
    rules = ["---|" if column.kind in ("name", "text") else "---:|" for column in table.columns]
    lines = [f"**{markdown_text(table.title)}**", "", _line(headings(table, text)), f"|{''.join(rules)}"]
    for row, texts in zip(table.rows, text.rows, strict=True):
        cells = list(texts)
        for place, column in enumerate(table.columns):
            if column.kind == "name":
                cells[place] = FORMS[row.kind].format(cells[place])
        lines.append(_line(cells))
    if text.caption:
        lines += ["", markdown_text(" ".join(text.caption))]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(markdown_text(cell.replace(LINE_END, ' ')) for cell in cells)} |"
