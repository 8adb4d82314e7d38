"""Pieces of code that are judged: files, functions, line ranges, and the added lines of a patch."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Literal

from assay.authorship.normalising import Code, code_of
from assay.code import Unparsable, functions_in
from assay.datasets import Hunk, hunks, patch_side
from assay.errors import DataError
from assay.languages import language_of, languages_with

UnitKind = Literal["file", "function"]
ReferenceUnit = Literal["file", "function", "patch"]
"""Pieces that a reference holds; "patch": the added lines of a commit in one file."""

PatchedFiles = Callable[[str], str | None]
"""Returns the text of a file by its path in a patch, as the patch leaves it; None where it is not there."""

LONGEST_TEXT = 200_000
"""Characters of a piece that a language model reads; far more than the longest piece that is judged."""

LARGEST_FILE = 1_000_000
"""Bytes of a file that is read for the text around added lines."""

_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")


@dataclass(frozen=True, slots=True)
class PatchedText:
    """The text that a piece is a part of.

    Attributes:
        text: the file, or what a patch shows of it.
        lines: of the piece: (line of this text, line of the file), both from 1, ascending.
    """

    text: str
    lines: tuple[tuple[int, int], ...]

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Return where the lines are in the text, in characters, line ends included."""
        content = self.text.split("\n")
        # the last line has no line end to count, hence the minimum below
        starts = list(accumulate((len(line) + 1 for line in content), initial=0))
        return tuple((starts[line - 1], min(starts[line], len(self.text))) for line, _ in self.lines)


@dataclass(frozen=True, slots=True)
class CodeUnit:
    """One piece of code.

    Attributes:
        path: of its file.
        text: of the piece alone.
        language: as the table of languages names it, or None.
        first_line: of the file, from 1.
        name: dotted name of a function; None for any other piece.
        surroundings: of the added lines of a patch, which are scored given the text before them; else None.
    """

    path: str
    text: str
    language: str | None
    first_line: int = 1
    name: str | None = None
    surroundings: PatchedText | None = None

    @property
    def digest(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of the text."""
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def place(self) -> str:
        """Path for a reader, with the line and the name of what is not a whole file."""
        line = f":{self.first_line}" * (self.name is not None or self.first_line > 1)
        return " ".join(filter(None, (self.path + line, self.name)))


def units_of(path: str, text: str, language: str | None, by: UnitKind) -> Iterator[CodeUnit]:
    """Yield a file whole, or its functions; a file without functions, or that cannot be parsed, as a whole."""
    # text that does not parse is judged whole, rather than not at all
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
        yield CodeUnit(
            path=path, text=function.text, language=language, first_line=function.first_line, name=function.name
        )


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
    return CodeUnit(path=path, text="".join(content[first - 1 : last]), language=language, first_line=first)


def adds_lines(patch: str) -> bool:
    """Return True for a unified diff that adds a line with more than white space."""
    return bool(patch_side(patch, "new", context=False).strip())


def added_units(patch: str, sources: Sequence[PatchedFiles] = ()) -> Sequence[CodeUnit]:
    """Return the added lines of a unified diff, one unit per file that gains lines, with the text around them.

    That text is the patched file, where one of the sources has it as the patch leaves it; else what the patch shows.

    Args:
        patch: a unified diff.
        sources: of files, such as `files_below` a folder that the paths of the patch may be relative to.

    Raises:
        DataError: the text is no unified diff, or adds nothing.
    """
    by_path: dict[str, list[Hunk]] = {}
    for hunk in hunks(patch):
        if hunk.side("new", context=False).strip():
            by_path.setdefault(hunk.path, []).append(hunk)
    units = []
    for path, changes in by_path.items():
        # the first source that has the patched file; else the lines that the patch itself shows
        around = next(filter(None, (_in_file(source(path), changes) for source in sources)), None) or _in_hunks(changes)
        content = around.text.split("\n")
        text = "".join(f"{content[line - 1]}\n" for line, _ in around.lines)
        units.append(
            CodeUnit(
                path=path, text=text, language=language_of(path), first_line=around.lines[0][1], surroundings=around
            )
        )
    if not units:
        raise DataError("no added lines, expected a unified diff such as `git diff` prints")
    return units


def _in_hunks(changes: Sequence[Hunk]) -> PatchedText:
    """Return the new sides of hunks as one text."""
    text, lines = "", list[tuple[int, int]]()
    for hunk in changes:
        before = text.count("\n")
        lines += [(before + place, hunk.first_line + place - 1) for place in _added_places(hunk)]
        text += hunk.side("new")
    return PatchedText(text, tuple(lines))


def files_below(root: Path) -> PatchedFiles:
    """Return a source of the files below a folder."""

    def read(path: str) -> str | None:
        try:
            # a patch of a stranger may name ../../etc/passwd, a link that leads there or to itself, or what is no path
            file = (root / path).resolve()
            if not file.is_relative_to(root.resolve()) or not file.is_file() or file.stat().st_size > LARGEST_FILE:
                return None
            return file.read_bytes().decode("utf-8")
        except (OSError, RuntimeError, ValueError):
            return None

    return read


def _in_file(text: str | None, changes: Sequence[Hunk]) -> PatchedText | None:
    """Return a file with the places of the added lines, if it has every line of the hunks at its place."""
    if text is None or len(text) > LARGEST_FILE:
        return None
    content = text.split("\n")
    for hunk in changes:
        # one line that differs, and the file is not the one that the patch leaves behind
        new = hunk.side("new").split("\n")[:-1]
        if content[hunk.first_line - 1 : hunk.first_line - 1 + len(new)] != new:
            return None
    lines: list[int] = []
    for hunk in changes:
        lines += [hunk.first_line + place - 1 for place in _added_places(hunk)]
    return PatchedText(text, tuple(zip(lines, lines, strict=True)))


def _added_places(hunk: Hunk) -> Iterator[int]:
    """Yield the places of the added lines among the lines of the new side, from 1."""
    place = 0
    for sign, _ in hunk.lines:
        place += sign != "-"
        if sign == "+":
            yield place


def code_in_context(unit: CodeUnit) -> Code:
    """Return the tokens of a piece; of added lines those that the whole text has there.

    A line inside a comment or a docstring of the file is not code. Line numbers are those that the
    line of the file and the first line of the piece give.
    """
    if unit.surroundings is None:
        return code_of(unit.text, unit.language)
    # the whole text is read, because where a comment or docstring begins may lie far above the added lines
    whole = code_of(unit.surroundings.text, unit.language)
    places = {line: of_file - unit.first_line + 1 for line, of_file in unit.surroundings.lines}
    tokens = tuple(replace(token, line=places[token.line]) for token in whole.tokens if token.line in places)
    return Code(tokens, whole.language, code_of(unit.text, unit.language).docstrings)
