"""Results of the Python API as tables, reports and notebook pages."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from assay.errors import DataError, require
from assay.files import check_target, write_text
from assay.reports.codec import render_json
from assay.reports.latex import render_latex
from assay.reports.markdown import render_markdown
from assay.reports.report import Report
from assay.reports.terminal import print_report

if TYPE_CHECKING:
    import pyarrow as pa

NOTEBOOK_WIDTH = 110


PAGE_SUFFIX = ".html"
RENDERERS: Mapping[str, Callable[[Report], str]] = {
    ".md": render_markdown,
    ".tex": render_latex,
    ".json": render_json,
}
"""Suffix → what renders a report, beside pages."""


def check_report_path(path: Path) -> None:
    """Check that a report can be written to this path, before the work that it reports.

    Raises:
        DataError: the suffix is no format of a report, the path is a folder, or the folder around it is missing.
    """
    if path.suffix not in (PAGE_SUFFIX, *RENDERERS):
        raise DataError(f"{path}: expected a name that ends in {', '.join((PAGE_SUFFIX, *RENDERERS))}")
    check_target(path)


class TabularResult:
    """A result with one table of rows and one report. A subclass gives `to_arrow` and `describe`."""

    __slots__ = ()

    def to_arrow(self) -> "pa.Table":
        """Return the rows as an Arrow table."""
        raise NotImplementedError

    def describe(self) -> Report:
        """Return the result as a report: statement, tables, figures."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return one line: the type, and the answer of the report."""
        return f"<{type(self).__name__}: {self.describe().statement}>"

    def to_pandas(self) -> Any:  # noqa: ANN401  pandas is optional
        """Return the rows as a pandas data frame.

        Raises:
            MissingExtra: pandas is not installed.
        """
        require("pandas", purpose="to_pandas()")
        return self.to_arrow().to_pandas()

    def report(self, path: Path | str) -> Path:
        """Write the report; the suffix says in which format: .html, .md, .tex or .json.

        Raises:
            DataError: another suffix, or the file cannot be written.
        """
        path = Path(path)
        check_report_path(path)
        if path.suffix == PAGE_SUFFIX:
            from assay.reports.html import write_html  # noqa: PLC0415  slow to import, and needed for pages only

            return write_html(self.describe(), path)
        write_text(path, RENDERERS[path.suffix](self.describe()))
        return path

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it."""
        console = Console(record=True, file=io.StringIO(), width=NOTEBOOK_WIDTH)
        print_report(self.describe(), console)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
