"""Results of the Python API as tables, reports and notebook pages."""

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import require
from assay.reports.rendering import RENDERERS, describe, write_report
from assay.reports.report import Cell, Missing, Report, Table, is_measured, render_json

if TYPE_CHECKING:
    import pyarrow as pa


class TabularResult:
    """A result with one table of rows and one report. Its description is registered (`assay.reports.describe`).

    A subclass whose rows are not the first table of its report gives `to_arrow`.
    """

    __slots__ = ()

    def describe(self) -> Report:
        """Return the result as a report: answer, tables, figures."""
        return describe(self)

    def to_arrow(self) -> "pa.Table":
        """Return the rows as an Arrow table: a measured value has three columns, a missing one is null."""
        import pyarrow as pa  # noqa: PLC0415  slow to import

        tables = self.describe().tables
        if not tables:
            return pa.table({})
        return pa.table(dict(_columns(tables[0])))

    def to_pandas(self) -> Any:  # noqa: ANN401  pandas is optional
        """Return the rows as a pandas data frame.

        Raises:
            MissingExtra: pandas is not installed.
        """
        require("pandas", purpose="to_pandas()")
        return self.to_arrow().to_pandas()

    def to_json(self) -> str:
        """Return the whole result as JSON text, as --json prints it."""
        return render_json(self.describe())

    def report(self, path: Path | str) -> Path:
        """Write the report; the suffix says in which format: .html, .md, .tex, .json, .csv or .txt.

        Raises:
            DataError: another suffix, or the file cannot be written.
        """
        return write_report(self.describe(), path)

    def __repr__(self) -> str:
        """Return one line: the type, and the answer of the report."""
        return f"<{type(self).__name__}: {self.describe().headline}>"

    def _repr_html_(self) -> str:
        """Return the page without its samples, in a frame, so that its style stays its own."""
        described = self.describe()
        # a notebook keeps its outputs in the file, so a page of megabytes stays out
        short = replace(described, figures=described.figures[:1], samples=None, excerpts=())
        page = escape(RENDERERS["html"](short), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 36em; border: 1px solid #ccc"></iframe>'


def _columns(table: Table) -> Iterator[tuple[str, list[Any]]]:
    """Yield heading and values of each column; one that mixes words and numbers is text."""
    for number, (column, cells) in enumerate(zip(table.columns, table.cells, strict=True), 1):
        title, values = column.title or f"column {number}", list(map(_value, cells))
        kinds = {isinstance(value, str) for value in values if value is not None}
        # a column of Arrow has one type
        if len(kinds) > 1:
            values = [value if value is None else str(value) for value in values]
        yield title, values
        if any(map(is_measured, cells)):
            for end in ("low", "high"):
                yield f"{title} {end}", [getattr(cell, end, None) for cell in cells]


def _value(cell: Cell) -> str | float | None:
    if isinstance(cell, Missing):
        return None
    return cell if isinstance(cell, str | int | float) else cell.value
