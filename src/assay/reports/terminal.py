"""A report on a terminal, whatever its width: no column disappears without a word."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from assay.reports.report import Report, Row, Table
from assay.reports.wording import cell_text, listed, sentences

STYLES = {"primary": "bold", "plain": "", "baseline": "yellow"}
LEFT = ("name", "text")
LONGEST_NAME = 28
"""Characters from which on the names of rows are broken over several lines."""
GAP = 2
"""Spaces between two columns."""


def print_report(report: Report, console: Console) -> None:
    """Print a whole report: warning, statement, details, tables, notes."""
    if report.warning:
        console.print(Text(f"Warning. {report.warning}", style="bold yellow"))
        console.print()
    if report.statement:
        console.print(Text(report.statement, style="bold"))
    for sentence in report.details:
        console.print(Text(sentence))
    introduced: set[str] = set()
    for table in report.tables:
        console.print()
        if table.section in report.sections and table.section not in introduced:
            introduced.add(table.section)
            console.print(Text(f"{table.section}. {report.sections[table.section]}"))
        print_table(table, console)
    for note in report.notes:
        console.print(Text(f"Note: {note}", style="dim"))


def print_table(table: Table, console: Console) -> None:
    """Print a table in the first of these forms that fits.

    Whole; without intervals and the second lines of headings; without the optional columns too; cut into several
    tables, each with the rows' names. The caption says what was left out.
    """
    drawings = _fitting(table, console.width)
    for i, drawing in enumerate(drawings):
        drawing.title = Text(table.title) if i == 0 else None
        console.print(drawing)
    if table.caption or drawings[-1].caption:
        left_out = drawings[-1].caption
        drawings[-1].caption = None
        lines = [*sentences(table), *([str(left_out)] if left_out else [])]
        console.print(Text("\n".join(lines), style="dim italic"))


def _fitting(table: Table, width: int) -> list[RichTable]:
    every = range(len(table.columns))
    kept = [i for i in every if not table.columns[i].optional]
    left_out = [table.columns[i].title for i in every if table.columns[i].optional]
    without = f"No room for {listed(left_out)}; the report shows them." if left_out else ""
    no_intervals = "No room for intervals and sizes; the report shows them." if _has_brackets(table) else ""
    forms = [
        (every, True, ""),
        (kept, True, without),
        (every, False, no_intervals),
        (kept, False, " ".join(filter(None, (no_intervals, without)))),
    ]
    for columns, interval, sentence in forms:
        drawing = _drawing(table, columns, interval=interval)
        if _width(table, columns, interval=interval) <= width:
            drawing.caption = sentence or None
            return [drawing]
    parts = [_drawing(table, part, interval=False) for part in _parts(table, kept, width)]
    parts[-1].caption = forms[-1][2] or None
    return parts


def _parts(table: Table, columns: Sequence[int], width: int) -> list[list[int]]:
    """The columns in runs that fit beside the rows' names, one column at least in each."""
    name, *rest = columns
    parts: list[list[int]] = [[name]]
    for column in rest:
        if len(parts[-1]) > 1 and _width(table, [*parts[-1], column], interval=False) > width:
            parts.append([name])
        parts[-1].append(column)
    return parts


def _drawing(table: Table, columns: Sequence[int], *, interval: bool) -> RichTable:
    """The table for rich; names come from data, so nothing in them is read as markup."""
    drawing = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title_justify="left",
        title_style="bold",
        header_style="dim",
    )
    for place, i in enumerate(columns):
        column = table.columns[i]
        drawing.add_column(
            Text(_heading(table, i, interval=interval)),
            justify="left" if place == 0 or column.kind in LEFT else "right",
            no_wrap=place > 0 and column.kind != "text",
            min_width=min(_name_width(table), LONGEST_NAME) if place == 0 else None,
            overflow="fold",
        )
    for i, row in enumerate(table.rows):
        end = i + 1 < len(table.rows) and row.kind != "baseline" and table.rows[i + 1].kind == "baseline"
        cells = [Text(_cell(table, row, column, interval=interval)) for column in columns]
        drawing.add_row(*cells, style=STYLES[row.kind], end_section=end)
    return drawing


def _cell(table: Table, row: Row, column: int, *, interval: bool) -> str:
    """A cell's text, narrow: intervals and sums without the spaces inside."""
    text = cell_text(row.cells[column], table.columns[column].kind, interval=interval)
    return text if table.columns[column].kind in LEFT else text.replace(", ", ",").replace(" + ", "+")


def _heading(table: Table, column: int, *, interval: bool) -> str:
    """A heading on as many lines as it has words, where its column has numbers."""
    heading = table.columns[column]
    lines = heading.title if heading.kind in LEFT else heading.title.replace(" ", "\n")
    return f"{lines}\n{heading.note}" if heading.note and interval else lines


def _width(table: Table, columns: Sequence[int], *, interval: bool) -> int:
    """Least width at which nothing but free text and long names is broken."""
    widths = []
    for place, i in enumerate(columns):
        lines = _heading(table, i, interval=interval).split("\n")
        if place == 0:
            lines.append("x" * min(_name_width(table), LONGEST_NAME))
        elif table.columns[i].kind == "text":
            cells = [_cell(table, row, i, interval=interval) for row in table.rows]
            lines += [word for cell in cells for word in cell.split(" ")]
        else:
            lines += [_cell(table, row, i, interval=interval) for row in table.rows]
        widths.append(max(map(len, lines), default=0))
    return sum(widths) + GAP * (len(widths) - 1)


def _name_width(table: Table) -> int:
    return max((len(_cell(table, row, 0, interval=True)) for row in table.rows if row.kind != "baseline"), default=0)


def _has_brackets(table: Table) -> bool:
    return any(
        cell_text(cell, column.kind) != cell_text(cell, column.kind, interval=False)
        for row in table.rows
        for cell, column in zip(row.cells, table.columns, strict=True)
    ) or any(column.note for column in table.columns)
