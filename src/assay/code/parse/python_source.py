"""Python source: its syntax tree, offsets of nodes in the text, and the expressions of f-strings."""

import ast
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from assay.code.parse.lexing import end_of
from assay.python_parser import python_expression

_LINE_END = re.compile(r"\r\n|\r|\n")  # what ends a line for Python's parser; str.splitlines knows more


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
        starts = (0, *(line_end.end() for line_end in _LINE_END.finditer(self.source)))
        object.__setattr__(self, "starts", starts)

    def start(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.pattern | ast.excepthandler) -> int:
        """Return the offset in the text where the node starts."""
        return self.place(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.pattern | ast.excepthandler) -> int:
        """Return the offset in the text where the node ends."""
        if node.end_lineno is None or node.end_col_offset is None:
            raise ValueError(f"a {type(node).__name__} without an end, expected a parsed one")
        return self.place(node.end_lineno, node.end_col_offset)

    def place(self, row: int, column: int) -> int:
        """Return the offset in the text of a row, counted from 1, and a column, counted in bytes of UTF-8."""
        start = self.starts[row - 1]
        if not self.source.isascii():
            # so many bytes are at most so many characters: what stands behind them does not matter
            line = self.source[start : start + column]
            if not line.isascii():
                column = len(line.encode()[:column].decode())
        return start + column + self.offset


def docstring_of(node: ast.AST) -> ast.Constant | None:
    """Return the string that is the docstring of a module, class or function, or None."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
        first = getattr(node.body[0], "value", None)
        if isinstance(node.body[0], ast.Expr) and isinstance(first, ast.Constant) and isinstance(first.value, str):
            return first
    return None


def expression_at(text: str, start: int, end: int) -> tuple[ast.expr, Fragment] | None:
    """Return the expression that stands in the text there, with its positions; None where there is none."""
    source = f"({text[start:end]})"  # in parentheses it may go over several lines, as within an f-string
    try:
        # the opening parenthesis moves everything by one
        return python_expression(source), Fragment(source, start - 1)
    except (SyntaxError, ValueError):
        return None


def parameters_of(arguments: ast.arguments) -> list[ast.arg]:
    """Return the parameters of a function but for `*args` and `**kwargs`."""
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def stars_of(arguments: ast.arguments) -> list[ast.arg]:
    """Return the parameters `*args` and `**kwargs` of a function, as far as it has them."""
    return list(filter(None, (arguments.vararg, arguments.kwarg)))


_MARKS = frozenset({"ctx", "op", "ops"})


def children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes directly below, in the order of the fields, except contexts and operators.

    Those are half of all nodes and say nothing about names.
    """
    for name in node._fields:
        if name in _MARKS:
            continue
        value = getattr(node, name)
        if isinstance(value, ast.AST):
            yield value
        elif value.__class__ is list:
            for child in value:
                if isinstance(child, ast.AST):
                    yield child


def below(tree: ast.AST) -> list[ast.AST]:
    """Return the tree's nodes except contexts and operators, level by level as `ast.walk` gives them."""
    nodes = [tree]
    for node in nodes:  # the list grows while it is read
        if node.__class__ is not ast.Name and node.__class__ is not ast.Constant:
            nodes += children(node)
    return nodes


_BETWEEN = re.compile(r"(?:\s|\\\r?\n|#[^\r\n]*)*")
_LITERAL = re.compile(r"""([A-Za-z]{0,2})('{3}|"{3}|'|")((?:\\.|(?!\2).)*)\2""", re.DOTALL)
_NAMED = re.compile(r"\\N\{[^}]*\}")
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Field:
    """One replacement field: text[start:end] is its expression; `shown` where `=` prints the expression itself."""

    start: int
    end: int
    shown: bool


def fields(text: str, start: int, end: int) -> Iterator[Field]:
    """Yield the replacement fields of the (implicitly joined) string literals in text[start:end].

    Fields in a format spec come after the field that it belongs to. Before Python 3.12 the syntax tree of an f-string
    does not know where its expressions stand; this is for the grammar of those versions, which allows no backslash,
    comment or quote of the string's own kind in a field.
    """
    at = start
    while at < end:
        at = end_of(_BETWEEN, text, at) or at
        literal = _LITERAL.match(text, at, end)
        if literal is None:
            return
        if "f" in literal[1].lower():
            yield from _literal_fields(text, literal.start(3), literal.end(3), raw="r" in literal[1].lower())
        at = literal.end()


def _literal_fields(text: str, at: int, end: int, *, raw: bool) -> Iterator[Field]:
    while at < end:
        named = not raw and _NAMED.match(text, at)
        if named:
            at = named.end()
        elif text[at : at + 2] in ("{{", "}}"):
            at += 2
        elif text[at] == "{":
            at = yield from _field(text, at + 1, end)
        else:
            at += 1


def _field(text: str, start: int, end: int) -> Generator[Field, None, int]:
    """Yield the field that starts at `start` and those of its format spec; return the offset behind it."""
    # `{x=}` shows the text of the expression, so its names may not change
    at = stop = _expression_end(text, start, end)
    shown = text[at] == "="
    yield Field(start, stop, shown)
    while at < end and text[at] not in ":}":  # the = and the conversion
        at += 1
    if at < end and text[at] == ":":
        at += 1
        while at < end and text[at] != "}":
            at += 1
            if text[at - 1] == "{":
                at = yield from _field(text, at, end)
    return at + 1


def _expression_end(text: str, at: int, end: int) -> int:
    depth = 0
    while at < end:
        character = text[at]
        if character in "'\"":
            at = end_of(_LITERAL, text, at) or at + 1
            continue
        if character in _OPEN:
            depth += 1
        elif depth and character in _CLOSE:
            depth -= 1
        elif not depth:
            if text[at : at + 2] in ("!=", "==", "<=", ">="):
                at += 2
                continue
            if character in "!:=}":
                return at
        at += 1
    return end
