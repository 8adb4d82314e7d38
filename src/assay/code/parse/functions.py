"""The functions of a Python module, as texts that stand by themselves."""

import ast
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from assay.code.parse.cycles import cycles_let_be


@dataclass(frozen=True, slots=True)
class Definition:
    """One function or method.

    Attributes:
        name: dotted, within its file.
        first_line: of the file, from 1; decorators included.
        text: dedented source, with LF line ends and one newline at the end.
    """

    name: str
    first_line: int
    text: str


def python_definitions(source: str) -> Iterator[Definition]:
    """Functions and methods of one module; a function inside another is part of the outer one's text.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the parser of this Python does not take the source.
    """
    lines = [line + "\n" for line in source.split("\n")]  # str.splitlines also cuts at form feeds, the parser does not
    with warnings.catch_warnings(), cycles_let_be():
        warnings.simplefilter("ignore")  # invalid escapes in other people's string literals
        body = ast.parse(source).body
    for name, node in _definitions(body, ""):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        text = textwrap.dedent("".join(lines[first - 1 : node.end_lineno])).rstrip("\n") + "\n"
        yield Definition(name, first, text)


def _definitions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield prefix + statement.name, statement
            case ast.ClassDef():
                yield from _definitions(statement.body, f"{prefix}{statement.name}.")
            case ast.If():
                yield from _definitions([*statement.body, *statement.orelse], prefix)
            case ast.Try():
                handlers = [inner for handler in statement.handlers for inner in handler.body]
                yield from _definitions([*statement.body, *handlers, *statement.orelse], prefix)
