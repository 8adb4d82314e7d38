"""A report on a terminal, whatever its width: no column disappears without a word."""

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from assay.escaping import visible
from assay.reports.report import Column, Report, Table
from assay.reports.wording import TextTable, as_text, listed, number_of

STYLES = {"primary": "bold", "plain": "", "baseline": "yellow"}
LEFT = ("name", "text")
SCREEN = 19
"""Lines of a summary, without the lines that name the report and the next command."""
MOST_FACTS = 8
"""Main figures on one screen."""
TEXT_WIDTH = 110
"""Characters of a line in a file of text."""
LONGEST_NAME = 28
"""Characters from which on the names of rows are broken over several lines."""


def print_statement(report: Report, console: Console) -> None:
    """Print the warning and the answer of a report: its first line stands out."""
    if report.warning:
        console.print(Text(visible(f"Warning. {report.warning}"), style="bold yellow"))
        console.print()
    for at, line in enumerate(report.first_lines):
        console.print(Text(visible(line), style="" if at else "bold"))


def render_text(report: Report) -> str:
    """Return a whole report as plain text."""
    text = io.StringIO()
    print_report(report, Console(file=text, width=TEXT_WIDTH))
    return text.getvalue()


def print_summary(report: Report, console: Console) -> None:
    """Print a report on one screen: warning, answer, number of tables; without an answer details and main figures.

    The notes are printed where no table is left out.
    """
    print_statement(report, console)
    facts = [Text(_shortened(visible(f"  {fact}"), console.width)) for fact in report.facts[:MOST_FACTS]]
    room = SCREEN - len(facts) - sum(_height(text, console) for text in (report.warning, *report.first_lines))
    if report.answer is None:  # an answer is the whole first screen
        for sentence in report.details:
            room -= _height(sentence, console)
            if room >= 0:
                console.print(Text(visible(sentence)))
        for fact in facts:
            console.print(fact)
    for table in report.tables[: report.on_first_screen]:
        console.print()
        print_table(table, console)
    further = len(report.tables) - report.on_first_screen
    if further > 0:
        notes = f" and {number_of(len(report.notes), 'note')}" if report.notes else ""
        console.print(Text(f"{number_of(further, 'table')}{notes} more with -v.", style="dim"))
    else:
        _print_notes(report, console)


def _print_notes(report: Report, console: Console) -> None:
    for note in report.notes:
        console.print(Text(visible(f"Note: {note}"), style="dim"))


def print_report(report: Report, console: Console) -> None:
    """Print a whole report: warning, statement, details, tables, notes."""
    print_statement(report, console)
    for sentence in report.details:
        console.print(Text(visible(sentence)))
    introductions = dict(report.sections)
    for table in report.tables:
        console.print()
        introduction = introductions.pop(table.section, "")  # above the first table of its section
        if introduction:
            console.print(Text(visible(f"{table.section}. {introduction}")))
        print_table(table, console)
    _print_notes(report, console)


def print_table(table: Table, console: Console) -> None:
    """Print a table in the first of these forms that fits.

    Whole; without the optional columns; without intervals and the second lines of headings; without both; cut into
    several tables, each with the rows' names. The caption says what was left out.
    """
    text = as_text(table)
    parts, left_out = _fitting(table, text, console)
    console.print(Text(visible(table.title), style="bold"))
    for part in parts:
        console.print(part)
    lines = [*text.caption, *left_out]
    if lines:
        console.print(Text("\n".join(map(visible, lines)), style="dim italic"))


def _height(text: str, console: Console) -> int:
    return len(Text(visible(text)).wrap(console, console.width)) if text else 0


def _shortened(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _fitting(table: Table, text: TextTable, console: Console) -> tuple[list[RichTable], list[str]]:
    """The parts of the table as they fit, and what they leave out."""
    every = list(range(len(table.columns)))
    needed = [place for place in every if not table.columns[place].optional]
    dropped = [column.title for column in table.columns if column.optional]
    columns_note = [f"No room for {listed(dropped)}: use a wider terminal."] if dropped else []
    short = TextTable(("",) * len(every), tuple(map(_without_intervals, text.rows)), text.caption)
    short_note = ["No room for intervals and sizes: use a wider terminal."] if short != text else []
    for columns, shown, left_out in (
        (every, text, []),
        (needed, text, columns_note),
        (every, short, short_note),
        (needed, short, short_note + columns_note),
    ):
        drawing = _drawing(table, shown, columns)
        if _fits(drawing, console):
            return [drawing], left_out
    return _parts(table, short, needed, console=console), short_note + columns_note


def _without_intervals(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(cell.partition(" [")[0] for cell in cells)


def _parts(table: Table, text: TextTable, columns: Sequence[int], *, console: Console) -> list[RichTable]:
    """The columns in runs that fit beside the rows' names, one column at least in each."""
    name, *rest = columns
    runs: list[list[int]] = [[name]]
    for column in rest:
        if len(runs[-1]) > 1 and not _fits(_drawing(table, text, [*runs[-1], column]), console):
            runs.append([name])
        runs[-1].append(column)
    return [_drawing(table, text, run) for run in runs]


def _fits(drawing: RichTable, console: Console) -> bool:
    return Measurement.get(console, console.options.update(max_width=10_000), drawing).minimum <= console.width


def _drawing(table: Table, text: TextTable, columns: Sequence[int]) -> RichTable:
    """The table for rich; names come from data, so nothing in them is read as markup."""
    drawing = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    rows = []
    for texts in text.rows:
        rows.append([_narrow(texts[place], table.columns[place]) for place in columns])
    for at, place in enumerate(columns):
        column, note = table.columns[place], text.notes[place]
        is_text, is_first = column.kind in LEFT, at == 0
        # numbers and the names of scores are not broken over lines; long names and those of baselines may be
        unbroken = [
            len(cells[at])
            for row, cells in zip(table.rows, rows, strict=True)
            if row.kind != "baseline" or not is_first
        ]
        lines = [*([column.title] if is_text else column.title.split(" ")), *filter(None, [note])]
        width = None
        if is_first:
            width = min(max(unbroken, default=0), LONGEST_NAME)
        elif not is_text:
            width = max(*unbroken, 0, *map(len, lines))
        drawing.add_column(
            Text("\n".join(lines)),
            justify="left" if is_text else "right",
            no_wrap=not is_text,
            min_width=width,
            overflow="fold",
        )
    for place, (row, cells) in enumerate(zip(table.rows, rows, strict=True), 1):
        following = table.rows[place : place + 1]
        ends = row.kind != "baseline" and any(other.kind == "baseline" for other in following)
        drawing.add_row(*map(Text, cells), style=STYLES[row.kind], end_section=ends)
    return drawing


def _narrow(text: str, column: Column) -> str:
    """A number without the spaces inside its interval; a sum keeps them, `200+21` would look cut."""
    text = visible(text)
    return text if column.kind in LEFT else text.replace(", ", ",")
