"""From the rows and byte columns of Python's syntax tree to offsets in the text."""

import ast
import re
import warnings
from dataclasses import dataclass, field

_LINE_END = re.compile(r"\r\n|\r|\n")  # what Python's parser takes for one; str.splitlines takes more


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of Python within a text, for example the expression in a field of an f-string.

    Attributes:
        source: what was parsed.
        offset: where the text's offset 0 lies, relative to the source's: text offset = source offset + offset.
        starts: of every line of the source.
    """

    source: str
    offset: int = 0
    starts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = (0, *(one.end() for one in _LINE_END.finditer(self.source)))
        object.__setattr__(self, "starts", found)

    def start(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.pattern | ast.excepthandler) -> int:
        """Offset in the text where the node starts."""
        return self.place(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.pattern | ast.excepthandler) -> int:
        """Offset in the text where the node ends."""
        if node.end_lineno is None or node.end_col_offset is None:
            raise ValueError(f"a {type(node).__name__} without an end, expected a parsed one")
        return self.place(node.end_lineno, node.end_col_offset)

    def place(self, row: int, column: int) -> int:
        """Offset in the text of a row, counted from 1, and a column, counted in bytes of UTF-8."""
        start = self.starts[row - 1]
        if not self.source.isascii():
            line = self.source[start : start + column]
            if not line.isascii():
                column = len(line.encode()[:column].decode())
        return start + column + self.offset


def parsed(source: str) -> ast.Module:
    """The syntax tree, without Python's warnings about other people's code.

    Raises:
        SyntaxError, ValueError: it is no Python.
        RecursionError, MemoryError: it is nested too deeply for Python's parser.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def expression_at(text: str, start: int, end: int) -> tuple[ast.expr, Fragment] | None:
    """The expression that stands in the text there, with its positions; None where there is none."""
    source = f"({text[start:end]})"  # in parentheses it may go over several lines, as within an f-string
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, mode="eval")
    except (SyntaxError, ValueError):
        return None
    return tree.body, Fragment(source, start - 1)
