"""Output of commands: lines, tables and JSON, with nothing in them that a terminal or a build log obeys."""

from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from assay.escaping import json_text, visible


class Terminal(Console):
    """A console that reads no markup and escapes what it shows: cells and lines hold names that others chose.

    A string is one line. A `Text` keeps its line breaks, so one that is made from names of others takes them through
    `visible` first.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401  rich's own options, passed on
        """Return the text of a string, escaped; its width is measured after that."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of anything; control characters of a `Text` are escaped whoever made it."""
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
