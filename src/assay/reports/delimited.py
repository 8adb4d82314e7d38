"""The first table of a report as CSV, numbers in full precision."""

import csv
import io
import math
from collections.abc import Mapping
from itertools import chain

from assay.escaping import spreadsheet_cell, visible
from assay.reports.report import Cell, Report, is_measured

ENDINGS = ("", " low", " high")
"""Of the headings of a measured value: the value, and the ends of its interval."""


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
        lines.writerow(map(_safe, map(str, single)))
        lines.writerow(map(_text, single.values()))
        return text.getvalue() if single else ""
    table = report.tables[0]
    widths = [3 if any(map(is_measured, cells)) else 1 for cells in table.cells]
    titles = []
    for column, width in zip(table.columns, widths, strict=True):
        titles += [_safe(f"{column.title}{ending}") for ending in ENDINGS[:width]]
    lines.writerow(titles)
    for row in table.rows:
        lines.writerow(chain.from_iterable(map(_values, row.cells, widths)))
    return text.getvalue()


def _safe(text: str) -> str:
    return spreadsheet_cell(visible(text))


def _values(cell: Cell, width: int) -> list[str]:
    if not is_measured(cell):
        return [_text(cell), "", ""][:width]
    ends = (cell.low, cell.high) if cell.has_interval else (math.nan, math.nan)
    return list(map(_text, (cell.value, *ends)))


def _text(value: Cell) -> str:
    if isinstance(value, str):
        return _safe(value)
    return repr(value) if isinstance(value, int | float) and not math.isnan(value) else ""
