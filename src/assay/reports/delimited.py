"""The first table of a report as CSV, numbers in full precision."""

import csv
import io
import math
from collections.abc import Mapping

from assay.escaping import spreadsheet_cell, visible
from assay.reports.report import Cell, Missing, Report


def render_csv(report: Report) -> str:
    """Return the first table of a report as CSV; without a table the single figures of its data, in one row.

    A column of measured values becomes three: the value, and the ends of its interval. A value that is missing is an
    empty cell.
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    if not report.tables:
        figures = report.data if isinstance(report.data, Mapping) else {}
        single = {name: value for name, value in figures.items() if isinstance(value, str | int | float)}
        lines.writerow([spreadsheet_cell(visible(str(name))) for name in single])
        lines.writerow([cell for value in single.values() for cell in _values(value, has_ends=False)])
        return text.getvalue() if single else ""
    table = report.tables[0]
    measured = [
        not all(isinstance(row.cells[i], str | int | float | Missing) for row in table.rows)
        for i in range(len(table.columns))
    ]
    endings = [("", " low", " high") if has_ends else ("",) for has_ends in measured]
    titles = [f"{c.title}{ending}" for c, own in zip(table.columns, endings, strict=True) for ending in own]
    lines.writerow([spreadsheet_cell(visible(title)) for title in titles])
    for row in table.rows:
        cells = zip(row.cells, measured, strict=True)
        lines.writerow([value for cell, has_ends in cells for value in _values(cell, has_ends=has_ends)])
    return text.getvalue()


def _values(cell: Cell, *, has_ends: bool) -> list[str]:
    if isinstance(cell, Missing):
        values = [""]
    elif isinstance(cell, str):
        values = [spreadsheet_cell(visible(cell))]
    elif isinstance(cell, int | float):
        values = [_number(cell)]
    else:
        ends = (cell.low, cell.high) if cell.has_interval else (math.nan, math.nan)
        values = [_number(value) for value in (cell.value, *ends)]
    return values + [""] * (2 if has_ends and len(values) == 1 else 0)


def _number(value: float) -> str:
    return "" if math.isnan(value) else repr(value)
