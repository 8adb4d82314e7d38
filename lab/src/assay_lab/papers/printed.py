"""Tables of values: headings and rows of what a paper prints, beside ours."""

from collections.abc import Iterable
from itertools import product

from assay_lab.experiments.finding import ValueRow, ValueTable
from assay_lab.experiments.papers import PrintedTable, Unit


def value_table(
    name: str, title: str, *, head: str, columns: Iterable[str], rows: Iterable[ValueRow], unit: Unit = "number"
) -> ValueTable:
    """Return a table; arguments as `ValueTable`."""
    return ValueTable(name=name, title=title, head=head, columns=tuple(columns), rows=tuple(rows), unit=unit)


def headings(*parts: Iterable[str]) -> list[str]:
    """Return the headings of all combinations, the last part changing first: "model, epoch 1"."""
    return list(map(", ".join, product(*parts)))


def paper_headings(names: Iterable[object]) -> list[str]:
    """Return the headings of values that the paper prints."""
    return list(map("{} (paper)".format, names))


def printed_values(printed: PrintedTable, *path: str) -> tuple[float | None, ...]:
    """Return the values of a row of the paper, one for each of its columns.

    Args:
        printed: the table of the paper.
        path: keys of the row, from the outside in.
    """
    return tuple(printed.value(*path, column=column) for column in printed.columns)


def paper_rows(printed: PrintedTable) -> list[ValueRow]:
    """Return all rows of a table of the paper whose rows are not nested."""
    return [ValueRow(f"{row} (paper)", printed_values(printed, row)) for row in printed.values]
