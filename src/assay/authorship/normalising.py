"""Code without its layout: the words, numbers, literals and operators of a text, in order.

White space, comments and docstrings are left out, as are the marks that formatters add or remove: brackets that only
group, and semicolons at the end of a line of Python. Two texts that differ in nothing else have the same tokens.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import groupby
from operator import attrgetter

from assay.languages import LexicalRules, lexical_rules
from assay.retrieval import Source, find_regions, tokens

PYTHON = "python"
_CONTINUES = frozenset("([{,=+-*/%&|^~<>!.\\")
"""Last character of a Python line whose expression goes on in the next one: a string there is no docstring."""

_TRIPLE = frozenset({'"""', "'''"})

_CALLED = re.compile(r"[\w\])\"']")
"""First character of what can be called: a bracket behind it holds arguments and does not group."""


class Kind(IntEnum):
    """The kind of a token."""

    RESERVED = 0
    NAME = 1
    NUMBER = 2
    LITERAL = 3
    OPERATOR = 4


@dataclass(frozen=True, slots=True)
class Token:
    """One token with its place.

    Attributes:
        text: as it is written.
        kind: of the token.
        line: on which it begins, from 1.
    """

    text: str
    kind: Kind
    line: int


@dataclass(frozen=True)
class Code:
    """One text as tokens.

    Attributes:
        tokens: in order.
        language: as the table of languages names it; None if it has no rules of its own.
        docstrings: number of strings of Python that were left out because they are statements of their own.
    """

    tokens: tuple[Token, ...]
    language: str | None
    docstrings: int = 0

    @cached_property
    def lines(self) -> tuple[tuple[Token, ...], ...]:
        """The tokens line by line; lines without a token are left out."""
        return tuple(tuple(line) for _, line in groupby(self.tokens, key=attrgetter("line")))


def code_of(text: str, language: str | None) -> Code:
    """Return the tokens of a text.

    Args:
        text: any text; it need not parse.
        language: as the table of languages names it; without rules of its own, the neutral rules apply.
    """
    rules = lexical_rules(language)
    source = Source.of(text)
    regions = find_regions(source, rules)
    units = tokens(source, regions, rules)
    # a text without units has no ends either
    ends = units.stops
    if ends is None:
        ends = units.starts
    lines, _ = source.places(units.starts)
    spans = zip(units.starts.tolist(), ends.tolist(), lines.tolist(), strict=True)
    code = [_token(text[start:stop], line, rules) for start, stop, line in spans]
    if language != PYTHON:
        return Code(tuple(code), language)
    statements = list(_without_docstrings(code))
    return Code(tuple(_without_grouping(statements)), language, len(code) - len(statements))


def _token(text: str, line: int, rules: LexicalRules) -> Token:
    if text in rules.reserved:
        return Token(text, Kind.RESERVED, line)
    first = text[0]
    # by the last character, because letters may stand before the first quote: rb"…", u8R"…"
    if text[-1] in "\"'`" and len(text) > 1:
        return Token(text, Kind.LITERAL, line)
    if first.isdigit() or (first == "." and len(text) > 1):
        return Token(text, Kind.NUMBER, line)
    if first in {"_", "$"} or first.isalpha():
        return Token(text, Kind.NAME, line)
    if len(text) == 1:
        return Token(text, Kind.OPERATOR, line)
    return Token(text, Kind.LITERAL, line)


def _without_docstrings(code: list[Token]) -> Iterator[Token]:
    """Yield the tokens of Python except strings that are statements of their own."""
    # tokens and not a tree, since a piece of a patch need not parse
    depth = 0
    for place, token in enumerate(code):
        if token.kind is Kind.OPERATOR:
            depth += (token.text in "([{") - (token.text in ")]}")
        elif token.kind is Kind.LITERAL and not depth:
            before = code[place - 1] if place else None
            after = code[place + 1] if place + 1 < len(code) else None
            triple = token.text[-3:] in _TRIPLE  # recognised even where all line ends are lost, as in a table of texts
            # a string that begins a line and ends it, outside brackets, is a statement: a docstring
            starts = before is None or (before.line < token.line and before.text[-1] not in _CONTINUES)
            starts |= triple and before is not None and before.text == ":"
            ends = triple or after is None or after.line > token.line + token.text.count("\n")
            if starts and ends:
                continue
        yield token


def _without_grouping(code: list[Token]) -> Iterator[Token]:
    """Yield the tokens of Python except brackets that hold no arguments, and semicolons at the end of a line."""
    opened: list[bool] = []
    for place, token in enumerate(code):
        if token.text == "(":
            before = code[place - 1] if place else None
            calls = before is not None and before.kind is not Kind.RESERVED and bool(_CALLED.match(before.text[-1]))
            after = code[place + 1].text if place + 1 < len(code) else ""
            # remembers for each open bracket whether it is kept, so that its partner shares its fate
            opened.append(calls or after == ")")
            if not opened[-1]:
                continue
        elif token.text == ")" and opened:
            if not opened.pop():
                continue
        elif token.text == ";" and (place + 1 == len(code) or code[place + 1].line > token.line):
            continue
        yield token
