"""Output of commands: lines, tables and JSON, with nothing in them that a terminal or a build log obeys."""

import os
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from assay.escaping import json_text, visible

Format = Literal["table", "json", "csv", "markdown", "latex", "github", "spdx", "cyclonedx"]
BILLS = ("spdx", "cyclonedx")
"""Formats of `assay trace` alone: bills of materials."""

WIDE = 400
"""Columns where nothing limits the width: in a pipe, a table is printed whole and a sentence stays on its line."""


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """Settings of the output of one command, from the options that every command has.

    Attributes:
        quiet: print the answer alone.
        verbose: print every table.
        form: the requested format; None for the default one.
        force: replace files that exist.
    """

    quiet: bool = False
    verbose: bool = False
    form: Format | None = None
    force: bool = False


OUTPUT_SETTINGS: ContextVar[OutputSettings] = ContextVar("assay_output", default=OutputSettings())  # noqa: B039  it is frozen


class Terminal(Console):
    """A console that reads no markup and escapes what it shows: cells and lines hold names that others chose.

    `width` is that of a pipe.

    A string is one line. A `Text` keeps its line breaks, so one that is made from names of others takes them through
    `visible` first.
    """

    def __init__(self, *, stderr: bool = False, width: int = WIDE) -> None:
        # rich takes 80 columns for a pipe, and would cut what a script reads
        limited = (sys.stderr if stderr else sys.stdout).isatty() or "COLUMNS" in os.environ
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False, width=None if limited else width)

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401  rich's own options, passed on
        """Return the text of a string, escaped; its width is measured after that."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of anything; control characters of a `Text` are escaped whoever made it."""
        # tables and panels render their cells through this method, so nothing passes it by
        if isinstance(renderable, Text):
            shown = "\n".join(map(visible, renderable.plain.split("\n")))
            if shown != renderable.plain:
                renderable = renderable.blank_copy(shown)
        yield from super().render(renderable, options)


def echo(line: str, *, err: bool = False) -> None:
    """Print one line."""
    typer.echo(visible(line), err=err)


def echo_json(value: Any) -> None:  # noqa: ANN401  whatever JSON can hold
    """Print a value as indented JSON."""
    typer.echo(json_text(value, indent=1))
