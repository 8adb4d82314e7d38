"""Pieces of code that are judged: files, functions, line ranges, and the added lines of a patch."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.code import Unparsable, functions_in
from assay.datasets import hunks
from assay.errors import DataError
from assay.languages import language_of, languages_with

UnitKind = Literal["file", "function"]
_RANGE = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class CodeUnit:
    """One piece of code.

    Attributes:
        path: of its file.
        text: of the piece alone.
        language: as the table of languages names it, or None.
        first_line: of the file, from 1.
        name: dotted name of a function; None for any other piece.
    """

    path: str
    text: str
    language: str | None
    first_line: int = 1
    name: str | None = None

    @property
    def place(self) -> str:
        """Path, line and name for a reader."""
        return f"{self.path}:{self.first_line}" + (f" {self.name}" if self.name else "")


def units_of(path: str, text: str, language: str | None, by: UnitKind) -> Iterator[CodeUnit]:
    """Yield a file whole, or its functions; a file without functions, or that cannot be parsed, as a whole."""
    functions = []
    if by == "function" and language is not None and language in languages_with("functions"):
        try:
            functions = list(functions_in(text, language))
        except (Unparsable, SyntaxError, ValueError, RecursionError, MemoryError):
            functions = []
    if not functions:
        yield CodeUnit(path, text, language)
        return
    for function in functions:
        yield CodeUnit(path, function.text, language, function.first_line, function.name)


def line_range(path: str, text: str, language: str | None, lines: str) -> CodeUnit:
    """Return some lines of a file.

    Args:
        path: of the file.
        text: of the file.
        language: of the file.
        lines: "FIRST-LAST", from 1, both included.

    Raises:
        DataError: another form, or lines that the file does not have.
    """
    match = _RANGE.fullmatch(lines)
    content = text.splitlines(keepends=True)
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= len(content):
        raise DataError(f"{path}: received lines {lines!r}, expected FIRST-LAST within 1-{len(content)}")
    first, last = int(match[1]), int(match[2])
    return CodeUnit(path, "".join(content[first - 1 : last]), language, first)


def added_units(patch: str) -> Sequence[CodeUnit]:
    """Return the added lines of a unified diff, one unit per file that gains lines.

    Raises:
        DataError: the text is no unified diff, or adds nothing.
    """
    parts: dict[str, list[str]] = {}
    starts: dict[str, int] = {}
    for hunk in hunks(patch):
        added = hunk.side("new", context=False)
        if added.strip():
            before = next(place for place, (sign, _) in enumerate(hunk.lines) if sign == "+")
            skipped = sum(sign != "-" for sign, _ in hunk.lines[:before])
            starts.setdefault(hunk.path, hunk.first_line + skipped)
            parts.setdefault(hunk.path, []).append(added)
    units = [CodeUnit(path, "".join(texts), language_of(path), starts[path]) for path, texts in parts.items()]
    if not units:
        raise DataError("no added lines, expected a unified diff such as `git diff` prints")
    return units
