"""A report as annotations of GitHub Actions: lines that a workflow shows beside the code and in its summary."""

from typing import Literal
from urllib.parse import quote

from assay.escaping import visible
from assay.reports.report import Annotation, Report

Level = Literal["notice", "warning", "error"]
UNQUOTED = " /._-()?'+=@!<>|&*"
"""Signs that a property of a command may hold as they are."""


def render_annotations(report: Report) -> str:
    """Return the warning, the statement and the annotations of a report as workflow commands, one a line."""
    # a workflow shows only so many annotations, so the answer comes before the findings
    entries = [Annotation(" ".join(report.first_lines), level="notice"), *report.annotations]
    if report.warning:
        entries.insert(0, Annotation(report.warning))
    return "".join(_command(entry, report.title) for entry in entries if entry.message)


def _command(entry: Annotation, title: str) -> str:
    properties = {"title": title}
    if entry.path:
        properties |= {"file": entry.path}
        if entry.line:
            # without a last line that is 0, and an end before the line is no range
            properties |= {"line": str(entry.line), "endLine": str(max(entry.line, entry.last_line))}
    listed = ",".join(f"{name}={quote(visible(value), safe=UNQUOTED)}" for name, value in properties.items())
    return f"::{entry.level} {listed}::{_data(entry.message)}\n"


def _data(text: str) -> str:
    """Return text that GitHub reads back as it is: a per cent sign would start an escape."""
    return visible(text).replace("%", "%25")
