"""A report as GitHub Markdown."""

from collections.abc import Sequence

from assay.escaping import markdown_text
from assay.reports.report import Report, Row, Table
from assay.reports.wording import as_text, headings


def render_markdown(report: Report) -> str:
    """Return the report: title, warning, statement, details, main figures, tables, notes."""
    parts = [f"# {markdown_text(report.title)}"]
    if report.warning:
        parts.append(f"> **Warning.** {markdown_text(report.warning)}")
    for at, line in enumerate(report.first_lines):
        parts.append(markdown_text(line) if at else f"**{markdown_text(line)}**")
    parts += map(markdown_text, report.details)
    if report.facts:
        facts = [f"{f.name}: {f.value}{f' ({f.note})' if f.note else ''}" for f in report.facts]
        parts.append("\n".join(f"- {markdown_text(fact)}" for fact in facts))
    parts += [markdown_table(table) for table in report.tables]
    if report.notes:
        parts.append("\n".join(f"- {markdown_text(note)}" for note in report.notes))
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """Return one table, its title above and its caption below."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(markdown_text(cell.replace("\n", " ")) for cell in cells) + " |"

    text = as_text(table)
    rules = "".join("---|" if column.kind in ("name", "text") else "---:|" for column in table.columns)
    lines = [f"**{markdown_text(table.title)}**", "", line(headings(table, text)), f"|{rules}"]
    lines += [line(_marked(table, row, texts)) for row, texts in zip(table.rows, text.rows, strict=True)]
    caption = markdown_text(" ".join(text.caption))
    return "\n".join([*lines, "", caption] if caption else lines)


def _marked(table: Table, row: Row, texts: Sequence[str]) -> list[str]:
    """The cells, names in typewriter face and the primary one bold."""
    form = {"primary": "**`{}`**", "plain": "`{}`", "baseline": "{}"}[row.kind]
    pairs = zip(texts, table.columns, strict=True)
    return [form.format(text) if column.kind == "name" else text for text, column in pairs]
