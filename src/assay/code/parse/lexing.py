"""Lexemes: of any language and of code that breaks off anywhere, and of Python with its comments."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LEXEME = re.compile(r"[^\W\d]\w*|\.?\d(?:[eE][+-]\d|[\w.])*|\S")
# the order of the alternatives counts: a string with its prefix before a name, a triple quote before a single one
_PYTHON_TOKEN = re.compile(
    r"""
    (?P<skip> \s+ | \\\r?\n )
  | (?P<comment> \#[^\r\n]* )
  | (?P<string> [rRbBuUfF]{0,2} (?: '{3}(?:\\.|(?!'{3}).)*'{3} | "{3}(?:\\.|(?!"{3}).)*"{3}
                                  | '(?:\\.|[^'\\\n])*' | "(?:\\.|[^"\\\n])*" ) )
  | (?P<name> [^\W\d]\w* )
  | (?P<number> \.?\d(?:[eE][+-]|[\w.])* )
  | (?P<operator> \*\*=? | //=? | >>=? | <<=? | -> | := | [-+*/%@&|^=!<>]= | \.{3} | . )
    """,
    re.VERBOSE | re.DOTALL,
)


def spliced(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with stretches replaced that do not overlap: start, end and new text of each, in any order."""
    pieces, end = [], 0
    for start, stop, new in sorted(edits):
        pieces += [text[end:start], new]
        end = stop
    return "".join([*pieces, text[end:]])


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int | None:
    """Return where the match ends that begins at an offset; None where there is none."""
    match = pattern.match(text, at)
    return match and match.end()


def lexeme_spans(text: str) -> list[tuple[int, int]]:
    """Return where the lexemes of a text in any language stand: text[start:end], in characters.

    A lexeme is a word, a number or a single other visible character, also within strings and comments: what a model
    writes may end inside a string, and a rule that needs the closing quote would read the rest of the text otherwise.
    """
    return list(map(re.Match.span, _LEXEME.finditer(text)))


def lexemes(text: str) -> list[str]:
    """Return the lexemes of a text in any language, in order; see `lexeme_spans`."""
    return _LEXEME.findall(text)


@dataclass(frozen=True, slots=True)
class PythonToken:
    """A token of Python: text[start:start + len(token.text)]."""

    text: str
    start: int


def python_tokens(text: str) -> list[PythonToken]:
    """Return the names, numbers, strings and operators of a Python text, in order, whether it parses or not."""
    return _python_tokens(text, frozenset({"string", "name", "number", "operator"}))


def python_comments(text: str) -> list[PythonToken]:
    """Return the comments of a Python text, in order, from # to before the line end."""
    # looking for one character is much cheaper than the pattern, and much code has no comment
    return _python_tokens(text, frozenset({"comment"})) if "#" in text else []


def _python_tokens(text: str, kinds: frozenset[str]) -> list[PythonToken]:
    matches = _PYTHON_TOKEN.finditer(text)
    return [PythonToken(match[0], match.start()) for match in matches if match.lastgroup in kinds]
