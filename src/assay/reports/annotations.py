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
    lines = [_command("warning", report.warning, report.title)] if report.warning else []
    if report.first_lines:
        lines.append(_command("notice", " ".join(report.first_lines), report.title))
    lines += [_command(entry.level, entry.message, report.title, entry) for entry in report.annotations]
    return "".join(f"{line}\n" for line in lines)


def _command(level: Level, message: str, title: str, place: Annotation | None = None) -> str:
    properties = {"title": title}
    if place is not None and place.path:
        properties |= {"file": place.path}
        if place.line:
            properties |= {"line": str(place.line), "endLine": str(max(place.line, place.last_line))}
    listed = ",".join(f"{name}={quote(visible(value), safe=UNQUOTED)}" for name, value in properties.items())
    return f"::{level} {listed}::{_data(message)}"


def _data(text: str) -> str:
    """Return text that GitHub reads back as it is: a per cent sign would start an escape."""
    return visible(text).replace("%", "%25")
