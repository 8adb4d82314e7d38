"""One table of formats, and the registry of descriptions: result → `Report` → text.

A value does not know how it is described. The module `describing` beside it, or that of a package around it, registers
a function for its type, and is imported when the first value of that type is described:

    @describe.register
    def _(audit: Audit, manifest: Mapping[str, object] = MappingProxyType({})) -> Report: ...
"""

import importlib
from collections.abc import Callable, Mapping
from functools import singledispatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.files import check_target, write_text
from assay.reports.annotations import render_annotations
from assay.reports.delimited import render_csv
from assay.reports.latex import render_latex
from assay.reports.markdown import render_markdown
from assay.reports.report import Report, render_json
from assay.reports.terminal import render_text


def _render_html(report: Report) -> str:
    from assay.reports.html import render_html  # noqa: PLC0415  slow to import, and needed for pages only

    return render_html(report)


RENDERERS: Mapping[str, Callable[[Report], str]] = {
    "table": render_text,
    "html": _render_html,
    "json": render_json,
    "csv": render_csv,
    "markdown": render_markdown,
    "latex": render_latex,
    "github": render_annotations,
}
"""Name of a format → what renders a report in it."""

SUFFIXES: Mapping[str, str] = {
    ".html": "html",
    ".md": "markdown",
    ".tex": "latex",
    ".json": "json",
    ".csv": "csv",
    ".txt": "table",
}
"""Suffix of a file → the format in it."""


@singledispatch
def describe(result: Any, **context: Any) -> Report:  # noqa: ANN401  every type that has a description
    """Return the report of a result.

    Args:
        result: a value of a type that has a description.
        context: what its description takes besides; see there.

    Raises:
        TypeError: its type has no description.
    """
    # imported when it is needed: a description imports all that it names
    for name in _modules_of(type(result)):
        importlib.import_module(name)
        described = describe.dispatch(type(result))
        if described is not describe.dispatch(object):
            report: Report = described(result, **context)
            return report
    raise TypeError(f"received a {type(result).__name__}, expected a result that has a description")


def check_report_path(path: Path) -> None:
    """Check that a report can be written to this path, before the work that it reports.

    Raises:
        DataError: the suffix is no format of a report, the path is a folder, or the folder around it is missing.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(f"{path}: expected a name that ends in {', '.join(SUFFIXES)}")
    check_target(path)


def write_report(report: Report, path: Path | str) -> Path:
    """Write a report; the suffix says in which format.

    Raises:
        DataError: another suffix, or the file cannot be written.
    """
    path = Path(path)
    check_report_path(path)
    write_text(path, RENDERERS[SUFFIXES[path.suffix.lower()]](report))
    return path


def _modules_of(kind: type) -> list[str]:
    """Return the modules `describing` of the packages around a type and its parents, the nearest first."""
    names = []
    for parent in kind.__mro__:
        package = parent.__module__.rpartition(".")[0]
        while package:
            name = f"{package}.describing"
            if name not in names and find_spec(name) is not None:
                names.append(name)
            package = package.rpartition(".")[0]
    return names
