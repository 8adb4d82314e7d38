"""From a file to the pieces that become documents: the whole file, and its functions.

Files in languages whose functions are not known, and files that do not parse, stay whole.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.code import Function, Unparsable, functions_in
from assay.languages import languages_with
from assay.provenance.document import DocumentKind

Granularity = Literal["file", "function", "both"]

_NOT_A_LINE_END = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one document.

    Attributes:
        kind: "file" or "function".
        name: dotted name of the function within its file; None for a file.
        first_line: line of the file at which the text begins, from 1.
        text: of a function dedented, with one newline at the end; lines as in the file.
    """

    kind: DocumentKind
    name: str | None
    first_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of one file; `parsed` is False where its functions could not be recognised."""

    pieces: tuple[Piece, ...]
    parsed: bool


def pieces(text: str, language: str | None, granularity: Granularity = "both") -> Pieces:
    """Return the pieces of one file, the whole first, functions in text order.

    A file that cannot be split gives itself under every granularity, so that nothing is lost. A file that is one
    function and blank lines gives that function alone: the same text twice would be one document without a name.

    Args:
        text: of the file.
        language: as `Sample.language` spells it, or None.
        granularity: "file", "function", or "both".
    """
    whole = Piece("file", None, 1, text)
    if granularity == "file" or language is None or language not in languages_with("functions"):
        return Pieces((whole,), parsed=True)
    try:
        functions = functions_in(text, language)
    except Unparsable:
        return Pieces((whole,), parsed=False)
    inside = tuple(Piece("function", function.name, function.first_line, function.text) for function in functions)
    is_function = len(inside) == 1 and inside[0].text.strip("\n") == text.strip("\n")
    return Pieces(inside if is_function or (granularity == "function" and inside) else (whole, *inside), parsed=True)


def outside_functions(text: str, functions: Sequence[Function]) -> str:
    """Return the text of a file with its functions blank; lines stay where they are."""
    kept, at = [], 0
    for function in functions:
        if function.span.start >= at:
            kept += [text[at : function.span.start], _NOT_A_LINE_END.sub(" ", text[slice(*function.span)])]
            at = function.span.stop
    return "".join(kept) + text[at:]
