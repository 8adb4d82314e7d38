"""Results of the Python API as tables, reports and notebook pages."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from assay.errors import DataError, require
from assay.files import write_text
from assay.reports.codec import render_json
from assay.reports.latex import render_latex
from assay.reports.markdown import render_markdown
from assay.reports.report import Report
from assay.reports.terminal import print_report

if TYPE_CHECKING:
    import pyarrow as pa

NOTEBOOK_WIDTH = 110


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
        from assay.reports.html import render_html  # noqa: PLC0415  slow to import, and needed for pages only

        renderers = {".html": render_html, ".md": render_markdown, ".tex": render_latex, ".json": render_json}
        if path.suffix not in renderers:
            raise DataError(f"{path}: expected a name that ends in {', '.join(renderers)}")
        write_text(path, renderers[path.suffix](self.describe()))
        return path

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it."""
        console = Console(record=True, file=io.StringIO(), width=NOTEBOOK_WIDTH)
        print_report(self.describe(), console)
        return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
