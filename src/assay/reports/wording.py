"""Numbers as reports print them: shares in per cent, areas without the leading zero, intervals in brackets."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter

from assay.reports.report import Cell, ColumnKind, Measured, Missing, Table, is_measured

RARE = 0.001
"""Shares below are printed as less than that."""
TWO_DIGITS = 0.1
"""From here on whole per cents are precise enough."""
NOTHING = "–"
REASONS = 3
"""Different reasons for missing values that a caption lists; of more it names the number."""


def percent(share: float) -> str:
    """Return a share with a space that does not break: `83 %`, `4.2 %`, `< 0.1 %`, `–` where unknown.

    One decimal appears below 10 % and above 99 %, where a tenth makes a difference.
    """
    if math.isnan(share):
        return NOTHING
    return f"{_hundredths(share)}\u00a0%"


def percent_interval(measured: Measured) -> str:
    """Return `79 % to 87 % over 31 + 28 groups`, or why there is no interval."""
    return _interval(measured, percent)


def area_interval(measured: Measured) -> str:
    """Return `.801 to .879 over 31 + 28 groups`, or why there is no interval."""
    return _interval(measured, three_decimals)


def _interval(measured: Measured, number: Callable[[float], str]) -> str:
    if not measured.has_interval:
        return measured.reason or "no interval"
    ends = f"{number(measured.low)} to {number(measured.high)}"
    return " over ".join(filter(None, (ends, measured.support)))


def percent_with_interval(measured: Measured, *, basis: bool = True) -> str:
    """Return `41 % [33, 50; 31 + 28]`, or why there is no interval in the brackets.

    Args:
        measured: a share.
        basis: False leaves out the number of groups and the reason.
    """
    value = percent(measured.value)
    if measured.has_interval:
        return f"{value} {_brackets(measured, _hundredths, basis=basis)}"
    if not basis or not measured.reason or math.isnan(measured.value):
        return value
    return f"{value} [{measured.reason}]"


def points_with_interval(measured: Measured) -> str:
    """Return a difference of shares: `0.6 percentage points (90 % interval -8.8 to 10)`."""
    ends = f"{_hundredths(measured.low)} to {_hundredths(measured.high)}"
    return f"{_hundredths(measured.value)} percentage points ({percent(measured.level)} interval {ends})"


def in_cases(p: float) -> str:
    """Return how often something happens: `in 3 % of cases`, `in fewer than 1 case in 1,000`."""
    if math.isnan(p):
        return "with unknown probability"
    if p < RARE:
        return "in fewer than 1 case in 1,000"
    return f"in {percent(p)} of cases"


def short_p_value(p: float) -> str:
    """Return `.41`, `.003`, `< .001`, `–` where unknown."""
    if math.isnan(p):
        return NOTHING
    if p < RARE:
        return "< .001"
    # two digits would print a p-value of .004 as .00
    digits = 3 if p < RARE * 10 else 2
    return f"{p:.{digits}f}".removeprefix("0")


def named_p_value(p: float) -> str:
    """Return `p = .41` or `p < .001`."""
    short = short_p_value(p)
    if short.startswith("<"):
        return f"p {short}"
    return f"p = {short}"


def three_decimals(value: float) -> str:
    """Return an AUROC or a correlation without the leading zero: `.842`, `-.310`, `1.000`."""
    if math.isnan(value):
        return NOTHING
    text = f"{round(value, 3) + 0.0:.3f}"  # the sum makes 0 of -0
    return re.sub(r"^(-?)0\.", r"\1.", text)


def area_with_interval(measured: Measured, *, basis: bool = True) -> str:
    """Return `.842 [.801, .879; 31 + 28]`, why there is no interval, or `–` where it could not be measured.

    Args:
        measured: an AUROC, a correlation or a difference.
        basis: False leaves out the number of groups and the reason.
    """
    value = three_decimals(measured.value)
    if math.isnan(measured.value) or not (measured.has_interval or basis):
        return value
    if not measured.has_interval:
        return f"{value} [{measured.reason or 'no interval'}]"
    return f"{value} {_brackets(measured, three_decimals, basis=basis)}"


def _brackets(measured: Measured, number: Callable[[float], str], *, basis: bool) -> str:
    ends = f"{number(measured.low)}, {number(measured.high)}"
    if not basis or not measured.support:
        return f"[{ends}]"
    return f"[{ends}; {measured.support.removesuffix('s').removesuffix(' group')}]"


def decimal(value: float) -> str:
    """Return a number between 0 and 1 without the leading zero: `.6`."""
    return f"{value:g}".removeprefix("0")


def four_digits(value: float) -> str:
    """Return four significant digits with a real minus sign; `–` where unknown."""
    if math.isnan(value):
        return NOTHING
    return f"{value:.4g}".replace("-", "−")


def number_of(amount: float, noun: str) -> str:
    """Return `1 sample`, `12 samples`, `10,000 samples`."""
    digits = f"{amount:,.0f}" if float(amount).is_integer() else f"{amount:g}"
    return f"{digits} {noun}{'' if amount == 1 else 's'}"


def counts_by_reason(counts: Mapping[str, int]) -> str:
    """Return `3 binary, 1,200 too large`."""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(counts.items()))


def listed(parts: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def cell_text(cell: Cell, kind: ColumnKind, *, basis: bool = True) -> str:
    """Return the text of a cell in a column of that kind; an interval stands in brackets behind its value."""
    if isinstance(cell, Missing):
        return NOTHING
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int | float):
        return _plain(cell, kind)
    if kind == "number" and not cell.has_interval:
        return four_digits(cell.value)
    if kind == "share":
        return percent_with_interval(cell, basis=basis)
    # a number with an interval is printed as an area is
    return area_with_interval(cell, basis=basis)


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table as text, the same in every format.

    Attributes:
        notes: second line of each column's heading; "" where there is none.
        rows: the texts of the cells, row by row.
        caption: in sentences; why values are missing comes last.
    """

    notes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: tuple[str, ...]


def as_text(table: Table) -> TextTable:
    """Return the texts of a table.

    The number of groups behind an interval stands once in the caption where it is the same in the whole table, in the
    heading of a column where it is the same there, and else in the cells; why there is no interval stands in the
    caption where it is the same in a column, and else in the cells.
    """
    behind = list(map(_behind, table.cells))
    everywhere = _distinct(chain.from_iterable(supports for supports, _ in behind))
    is_shared = len(everywhere) == 1
    notes, in_cells = [], []
    without: dict[str, list[str]] = {}
    for column, (supports, reasons) in zip(table.columns, behind, strict=True):
        # what a whole column shares is said once, outside its cells
        shown = (len(supports) > 1 and not is_shared) or len(reasons) > 1
        in_cells.append(partial(cell_text, kind=column.kind, basis=shown))
        lines = [column.note]
        if not is_shared and not shown:
            lines += supports
        notes.append("; ".join(filter(None, lines)))
        if reasons and not shown:
            without.setdefault(reasons[0], []).append(column.title)
    rows = []
    for row in table.rows:
        rows.append(tuple(text(cell) for text, cell in zip(in_cells, row.cells, strict=True)))
    caption = list(table.caption)
    if is_shared:
        caption.append(f"Intervals: {everywhere[0]}.")
    for reason, titles in without.items():
        caption.append(f"{listed(titles)}: {reason}.")
    return TextTable(tuple(notes), tuple(rows), (*caption, *_missing(table)))


def _behind(cells: Sequence[Cell]) -> tuple[list[str], list[str]]:
    """Return the groups behind the intervals of a column, and why others are missing; each text once."""
    supports, reasons = [], []
    for cell in filter(is_measured, cells):
        # a value that is missing has a reason of its own, see `_missing`
        if math.isnan(cell.value):
            continue
        if cell.has_interval:
            supports.append(cell.support)
        else:
            reasons.append(cell.reason)
    return _distinct(supports), _distinct(reasons)


def _distinct(texts: Iterable[str | None]) -> list[str]:
    return list(filter(None, dict.fromkeys(texts)))


def headings(table: Table, text: TextTable) -> list[str]:
    """Return the columns' headings on one line each: `seen 4× (n = 120)`."""
    lines = []
    for column, note in zip(table.columns, text.notes, strict=True):
        lines.append(f"{column.title} ({note})" if note else column.title)
    return lines


def _missing(table: Table) -> list[str]:
    """Why values are missing, in at most one sentence."""
    cells = chain.from_iterable(map(attrgetter("cells"), table.rows))
    reasons = _distinct(cell.reason for cell in cells if isinstance(cell, Missing))
    if not reasons:
        return []
    # a caption of many reasons would be longer than the table
    if len(reasons) > REASONS:
        return [f"{NOTHING}: no value, for {len(reasons)} different reasons."]
    return [f"{NOTHING}: {'; '.join(reasons)}."]


def _plain(value: float, kind: ColumnKind) -> str:
    if math.isnan(value):
        return NOTHING
    if kind == "count":
        return f"{value:,.0f}"
    formats = {"share": percent, "area": three_decimals, "p_value": short_p_value}
    return formats.get(kind, four_digits)(value)


def _hundredths(share: float) -> str:
    if 0 < share < RARE:
        return "< 0.1"
    # whole per cents tell shares apart but near the ends, where a tenth may be all
    if TWO_DIGITS <= round(share, 3) <= 1 - RARE * 10:
        return f"{100 * share:.0f}"
    # a share below 1 is never printed as 100 %
    capped = share if share >= 1 else min(share, 1 - RARE)
    return f"{100 * capped:.1f}".removesuffix(".0")
