"""Comments and docstrings of code: where they are, and code without them."""

import ast
import re

from assay.authorship.normalising import PYTHON
from assay.languages import lexical_rules
from assay.python_parser import python_tree
from assay.retrieval import COMMENT, Source, find_regions

_BLANK = re.compile(r"\n(?:[ \t]*\n)+")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


def comment_spans(text: str, language: str | None) -> list[tuple[int, int]]:
    """Return where the comments of a text are, recognised by the lexical rules of its language."""
    regions = find_regions(Source.of(text), lexical_rules(language))
    places = zip(regions.starts.tolist(), regions.stops.tolist(), regions.kinds.tolist(), strict=True)
    return [(start, stop) for start, stop, kind in places if kind == COMMENT]


def docstring_spans(text: str, language: str | None) -> list[tuple[int, int]]:
    """Return where strings of Python that are statements of their own are; nothing where the text does not parse."""
    if language != PYTHON:
        return []
    try:
        tree = python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # broken, or nested too deeply for the parser
        return []
    strings = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    if not strings:
        return []
    # the parser counts columns in bytes of UTF-8
    lines = text.encode("utf-8", "surrogatepass").splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.decode("utf-8", "surrogatepass")))

    # the prefix of the line is decoded again, which turns its bytes into characters
    def offset(row: int, column: int) -> int:
        return starts[row - 1] + len(lines[row - 1][:column].decode("utf-8", "surrogatepass"))

    return sorted(
        (offset(node.lineno, node.col_offset), offset(node.end_lineno or node.lineno, node.end_col_offset or 0))
        for node in strings
    )


def without_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """Remove stretches of a text, and the trailing space and blank lines that remain."""
    pieces, end = [], 0
    for start, stop in spans:
        pieces.append(text[end:start])
        # spans may overlap (a comment inside a docstring): never go back
        end = max(end, stop)
    bare = _TRAILING.sub("", "".join([*pieces, text[end:]])).strip("\n")
    return _BLANK.sub("\n", bare).lstrip("\n")


def without_comments(text: str, language: str | None) -> str:
    """Remove comments, recognised by the lexical rules of the language; strings stay."""
    return without_spans(text, comment_spans(text, language))
