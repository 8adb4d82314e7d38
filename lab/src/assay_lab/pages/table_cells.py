"""Tables of Markdown and the cells in them, for the modules that make the tables of docs/results/benchmarks.md."""

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

File = Mapping[str, Any]
"""The content of a result file."""
Cell = str | Callable[[Any], str]
"""A row of results → the text of a cell: a template over the row's values, as `filled` reads it, or a function."""


def table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; every column but the first is flush right."""
    head = list(head)
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def table_of(rows: Iterable[File], columns: Mapping[str, Cell], *, transpose: bool = False) -> str:
    """Return a table with a line for each row of results; transposed, a column for each. `columns`: heading → cell."""
    lines = [list(map(filled, columns.values(), repeat(row))) for row in rows]
    return transposed(columns, lines) if transpose else table(columns, lines)


def pivot(head: str, cells: Iterable[tuple[str, str, str]]) -> str:
    """Return a table of (row, column, text); what was not measured stays empty."""
    columns: dict[str, None] = {}
    lines: dict[str, dict[str, str]] = {}
    for row, column, text in cells:
        columns[column] = None
        lines.setdefault(row, {})[column] = text
    empty = dict.fromkeys(columns, "")
    # a union keeps the order of its left side, so that cells stand under their heads
    rows = [[row, *(empty | texts).values()] for row, texts in lines.items()]
    return table([head, *columns], rows)


def pivot_of(head: str, rows: Iterable[File], *, line: Cell, column: Cell, cell: Cell) -> str:
    """Return the pivot table of rows of results."""
    return pivot(head, [(filled(line, row), filled(column, row), filled(cell, row)) for row in rows])


def transposed(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose columns are the rows; for few rows of many quantities."""
    first, *rest = zip(head, *rows, strict=True)
    return table(first, rest)


def number(value: float) -> str:
    """Three significant digits, thousands with commas."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(spread: Mapping[str, float]) -> str:
    """A ratio: its median, and between which ends the rounds lay."""
    return f"**{number(spread['median'])} ×** ({number(spread['min'])}–{number(spread['max'])})"


def seconds(spread: Mapping[str, float]) -> str:
    """A median of seconds."""
    return f"{number(spread['median'])} s"


def estimate(values: Mapping[str, float]) -> str:
    """A share and its interval."""
    return "{value:.3f} ({low:.3f}–{high:.3f})".format_map(values)


class ResultFormatter(string.Formatter):
    """Templates of `str.format` in which a field may also end with the name of a function of this module."""

    forms: Mapping[str, Callable[[Any], str]] = {
        "number": number,
        "times": times,
        "seconds": seconds,
        "estimate": estimate,
    }

    def format_field(self, value: object, format_spec: str) -> str:
        """Return the text of one field."""
        form = self.forms.get(format_spec)
        return str(super().format_field(value, format_spec)) if form is None else form(value)


def filled(cell: Cell, row: File) -> str:
    """Return the text of a cell: `"{seconds[all]:number} s"` has the number `row["seconds"]["all"]`."""
    return ResultFormatter().vformat(cell, (), row) if isinstance(cell, str) else cell(row)
