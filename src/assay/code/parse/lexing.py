"""Lexemes of any programming language, and of code that breaks off anywhere."""

import re

_LEXEME = re.compile(r"[^\W\d]\w*|\.?\d(?:[eE][+-]\d|[\w.])*|\S")


def lexeme_spans(text: str) -> list[tuple[int, int]]:
    """Where the lexemes of a text stand: text[start:end], in characters.

    A lexeme is a word, a number or one further visible character, also within strings and comments: what a model
    writes may end inside a string, and a rule that needs the closing quote would read the rest of it as another thing.
    """
    return [found.span() for found in _LEXEME.finditer(text)]


def lexemes(text: str) -> list[str]:
    """The lexemes themselves, in order."""
    return _LEXEME.findall(text)
