"""Python's lexemes with their offsets: names, numbers, strings, operators; comments apart."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
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


@dataclass(frozen=True, slots=True)
class Token:
    """One lexeme: text[start:start + len(token.text)]."""

    text: str
    start: int


def tokens(text: str) -> list[Token]:
    """The lexemes of a Python text, in order; one that does not parse has lexemes too."""
    return [Token(one[0], one.start()) for one in _TOKEN.finditer(text) if one.lastgroup not in {"skip", "comment"}]


def comments(text: str) -> list[Token]:
    """The comments of a Python text, in order, from # to before the line end."""
    if "#" not in text:
        return []
    return [Token(one[0], one.start()) for one in _TOKEN.finditer(text) if one.lastgroup == "comment"]
