"""Python's own parser, for texts of others: it says nothing, and serves one thread at a time.

Python 3.11 counts the depth of a syntax tree once for all threads, so that two which build one at a time end with a
SystemError; and the filters of warnings belong to all threads as well.
"""

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

REFUSALS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Errors of Python's parser: the text is not Python, or nested too deeply."""

_ALONE = Lock()


@contextmanager
def python_parser() -> Iterator[None]:
    """Keep other threads out, and Python's warnings about other people's code."""
    with _ALONE, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def python_tree(source: str) -> ast.Module:
    """Return the syntax tree.

    Raises:
        SyntaxError, ValueError: it is not Python.
        RecursionError, MemoryError: it is nested too deeply for Python's parser.
    """
    with python_parser():
        return ast.parse(source)


def python_expression(source: str) -> ast.expr:
    """Return the syntax tree of one expression; errors as in `python_tree`."""
    with python_parser():
        return ast.parse(source, mode="eval").body


def python_literal(source: str | ast.expr) -> object:
    """Return the value of a literal, from its text or tree.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as in `python_tree`; an unhashable key is a ValueError.
    """
    try:
        with python_parser():
            return ast.literal_eval(source)
    except TypeError as error:
        raise ValueError(str(error)) from error


def compiles(source: str) -> bool:
    """Return True if the text is a program that Python can run."""
    try:
        with python_parser():
            # only the compiler refuses `return` outside of a function; no `from __future__` of ours holds for the text
            compile(source, "<text>", "exec", dont_inherit=True)
    except REFUSALS:
        return False
    return True
