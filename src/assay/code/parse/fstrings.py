"""Where the expressions of an f-string stand: before Python 3.12 its own syntax tree does not know."""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass

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
    """Replacement fields of the (implicitly joined) string literals in text[start:end].

    Fields in a format spec come after the field that it belongs to.

    Written for the grammar before Python 3.12: no backslash, comment or quote of the string's own kind in a field.
    """
    at = start
    while at < end:
        at = _end(_BETWEEN, text, at)
        literal = _LITERAL.match(text, at, end)
        if literal is None:
            return
        if "f" in literal[1].lower():
            yield from _literal_fields(text, literal.start(3), literal.end(3), raw="r" in literal[1].lower())
        at = literal.end()


def _literal_fields(text: str, at: int, end: int, *, raw: bool) -> Iterator[Field]:
    while at < end:
        named = None if raw else _NAMED.match(text, at)
        if named:
            at = named.end()
        elif text[at : at + 2] in ("{{", "}}"):
            at += 2
        elif text[at] == "{":
            at = yield from _field(text, at + 1, end)
        else:
            at += 1


def _field(text: str, start: int, end: int) -> Generator[Field, None, int]:
    """Yields the field that starts here and those of its format spec; returns where the text goes on."""
    at = stop = _expression_end(text, start, end)
    shown = text[at] == "="
    yield Field(start, stop, shown)
    while at < end and text[at] not in ":}":  # the = and the conversion
        at += 1
    if at < end and text[at] == ":":
        at += 1
        while at < end and text[at] != "}":
            at = (yield from _field(text, at + 1, end)) if text[at] == "{" else at + 1
    return at + 1


def _expression_end(text: str, at: int, end: int) -> int:
    depth = 0
    while at < end:
        character = text[at]
        if character in "'\"":
            at = _end(_LITERAL, text, at)
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


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at + 1
