"""A report on a terminal, whatever its width: no column disappears without a word."""

import io
from collections.abc import Sequence
from operator import attrgetter

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from assay.escaping import cut_off, visible
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
    style = "bold"
    for line in report.first_lines:
        console.print(Text(visible(line), style=style))
        style = ""


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
    facts = report.facts[:MOST_FACTS]
    # by the lines that a narrow terminal makes of them
    room = SCREEN - len(facts) - sum(_height(text, console) for text in (report.warning, *report.first_lines))
    if report.answer is None:  # an answer is the whole first screen
        for sentence in report.details:
            room -= _height(sentence, console)
            if room >= 0:
                console.print(Text(visible(sentence)))
        for fact in facts:
            console.print(Text(cut_off(visible(f"  {fact}"), console.width)))
    for table in report.tables[: report.on_first_screen]:
        console.print()
        print_table(table, console)
    further = len(report.tables) - report.on_first_screen
    if further > 0:
        more = [number_of(further, "table")]
        if report.notes:
            more.append(number_of(len(report.notes), "note"))
        console.print(Text(f"{listed(more)} more with -v.", style="dim"))
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
    if not text:
        return 0
    return len(Text(visible(text)).wrap(console, console.width))


def _fitting(table: Table, text: TextTable, console: Console) -> tuple[list[RichTable], list[str]]:
    """The parts of the table as they fit, and what they leave out."""
    every, needed, dropped = range(len(table.columns)), [], []
    for place, column in enumerate(table.columns):
        if column.optional:
            dropped.append(column.title)
        else:
            needed.append(place)
    columns_note, short_note = [], []
    if dropped:
        columns_note.append(f"No room for {listed(dropped)}: use a wider terminal.")
    short = TextTable(("",) * len(every), tuple(map(_without_intervals, text.rows)), text.caption)
    if short != text:
        short_note.append("No room for intervals and sizes: use a wider terminal.")
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
    # each run repeats the names of the rows, without which its numbers say nothing
    name, *rest = columns
    runs: list[list[int]] = [[name]]
    for column in rest:
        # a column that fits nowhere still gets a run of its own
        if len(runs[-1]) > 1 and not _fits(_drawing(table, text, [*runs[-1], column]), console):
            runs.append([name])
        runs[-1].append(column)
    return [_drawing(table, text, run) for run in runs]


def _fits(drawing: RichTable, console: Console) -> bool:
    # the minimum is that of unbroken cells, as long as the room for measuring is wide enough
    return Measurement.get(console, console.options.update(max_width=10_000), drawing).minimum <= console.width


def _drawing(table: Table, text: TextTable, columns: Sequence[int]) -> RichTable:
    """The table for rich; names come from data, so nothing in them is read as markup."""
    drawing = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    drawn = []
    for place in columns:
        column = table.columns[place]
        lines, cells = [column.title], [_narrow(texts[place], column) for texts in text.rows]
        drawn.append(cells)
        # numbers and the names of scores are not broken over lines; long names and those of baselines may be
        width, is_text = None, column.kind in LEFT
        if not is_text:
            lines = column.title.split(" ")
        lines += filter(None, [text.notes[place]])
        if len(drawn) == 1:
            # the name of a baseline is a sentence and may be broken
            names = (cell for cell, row in zip(cells, table.rows, strict=True) if row.kind != "baseline")
            width = min(max(map(len, names), default=0), LONGEST_NAME)
        elif not is_text:
            width = max(map(len, (*cells, *lines)))
        drawing.add_column(
            Text("\n".join(lines)),
            justify="left" if is_text else "right",
            no_wrap=not is_text,
            min_width=width,
            overflow="fold",
        )
    kinds = list(map(attrgetter("kind"), table.rows))
    for kind, following, row in zip(kinds, [*kinds, None][1:], zip(*drawn, strict=True), strict=True):
        # a rule stands above the first baseline alone
        ends = following == "baseline" != kind
        drawing.add_row(*map(Text, row), style=STYLES[kind], end_section=ends)
    return drawing


def _narrow(text: str, column: Column) -> str:
    """A number without the spaces inside its interval; a sum keeps them, `200+21` would look cut."""
    text = visible(text)
    if column.kind in LEFT:
        return text
    return text.replace(", ", ",")
