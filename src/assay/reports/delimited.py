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
    # such a report still has single figures, which a spreadsheet takes as one row
    if not report.tables:
        single = {}
        if isinstance(report.data, Mapping):
            single = {name: value for name, value in report.data.items() if isinstance(value, str | int | float)}
        if not single:
            return ""
        lines.writerow(map(_safe, map(str, single)))
        lines.writerow(map(_text, single.values()))
        return text.getvalue()
    table = report.tables[0]
    titles: list[str] = []
    widths = []
    for column, cells in zip(table.columns, table.cells, strict=True):
        # one measured value in a column gives all of its rows three cells
        widths.append(len(ENDINGS) if any(map(is_measured, cells)) else 1)
        titles += map(column.title.__add__, ENDINGS[: widths[-1]])
    lines.writerow(map(_safe, titles))
    for row in table.rows:
        lines.writerow(chain.from_iterable(map(_values, row.cells, widths)))
    return text.getvalue()


def _safe(text: str) -> str:
    return spreadsheet_cell(visible(text))


def _values(cell: Cell, width: int) -> list[str]:
    if not is_measured(cell):
        return [_text(cell), "", ""][:width]
    if not cell.has_interval:
        return [_text(cell.value), "", ""]
    return list(map(_text, (cell.value, cell.low, cell.high)))


def _text(value: Cell) -> str:
    if isinstance(value, str):
        return _safe(value)
    if not isinstance(value, int | float) or math.isnan(value):
        return ""
    return repr(value)
