r"""A text as a row of numbers: what each token spells, and what is left of it when names are taken away.

One regular expression serves every language, because an encoder is not told the language, and a fragment may begin in
the middle of anything. It need not be right about every literal; it has to read a fragment as it reads the same lines
in their file.
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.hashing import Hashes, mixed

Indices = NDArray[np.int64]

DIRECTIVES = "include|define|undef|if|ifdef|ifndef|elif|else|endif|pragma|error|line|warning"
SPANNING = {
    '"""': r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*+"""',
    "'''": r"'''(?:[^'\\]|\\[\s\S]|'(?!''))*+'''",
    "/*": r"/\*(?:[^*]|\*(?!/))*+\*/",
}
"""What may run over lines, by the mark that opens it."""

WITHIN_LINE = (
    r"//[^\n]*+"
    rf"|#(?![\[\w]*\[|(?:{DIRECTIVES})\b)(?<![.\w]#)[^\n]*+"
    r'|"(?:[^"\\\n]|\\.){0,500}+"'
    r"|'(?:[^'\\\n]|\\.){0,500}+'"
    r"|[^\W\d]\w*+"
    r"|\d[\w.]*+"
    r"|[^\w\s]"
)
"""Comments, strings, words, numbers, and single characters of operators."""

MOST_UNCLOSED = 64
"""Marks that open something without an end: each costs a look through the rest of the text. Where there are more, marks
of the kind open nothing, so that time stays linear in the text."""

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
SHORTEST_PART = 2

NAME, SPELLED, PROSE = range(3)

ANY_NUMBER, ANY_STRING = mixed(np.array([1, 2], np.uint64)).tolist()

_RESERVED = """
    False None True and and_eq as asm assert async await bitand bitor boolean break byte case catch char class
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype
    def defer del delete do double dyn dynamic_cast elif else enum except explicit export extends extern
    fallthrough false finally fn for friend from func global go goto if implements import in inline instanceof
    interface is lambda let long mut mutable namespace new noexcept nonlocal not not_eq null nullptr operator or
    or_eq pass private protected pub public raise reinterpret_cast requires restrict return short signed sizeof
    static static_assert static_cast struct switch synchronized this throw throws trait try true typedef typeid
    typename typeof unsafe unsigned using virtual void volatile wchar_t where while with xor xor_eq yield
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that keep their spelling where names lose it: reserved in one language, and seldom a name in another.

A list of its own: a word more or less changes the vectors of every index, see `FEATURES_VERSION`.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Lexemes:
    """The tokens of some texts, one text after another.

    Attributes:
        texts: how many there are.
        text: int64 [n], which text a token is of; ascending. Comments and docstrings are not among the tokens.
        spelling: uint64 [n], equal for equal spellings.
        shape: uint64 [n], the same without names, numbers and strings: 0 for a name, one number for all numbers, one
            for all strings, and the spelling of everything else.
        since: int64 [n], of a name: how many tokens ago the text had it before, 0 for the first time; else 0.
        word_text: int64 [m], which text a word is of.
        words: uint64 [m], the words in names, strings, comments and docstrings, in lower case.
    """

    texts: int
    text: Indices
    spelling: Hashes
    shape: Hashes
    since: Indices
    word_text: Indices
    words: Hashes


def read_lexemes(texts: Sequence[str]) -> Lexemes:
    """The tokens of each text; nothing of one text depends on the others."""
    rows = [_lexer(text).findall(text) for text in texts]
    number: dict[str, int] = {}
    ids = np.fromiter((number.setdefault(one, len(number)) for one in chain.from_iterable(rows)), np.int64)
    text = np.repeat(np.arange(len(texts)), [len(row) for row in rows])
    spelling, shape, kind, parts = _vocabulary(list(number))
    counts = np.array([len(one) for one in parts], np.int64)
    words = np.fromiter(chain.from_iterable(parts), np.uint64)

    word_text = np.repeat(text, counts[ids])
    starts = np.cumsum(counts) - counts
    within = np.arange(len(word_text)) - np.repeat(np.cumsum(counts[ids]) - counts[ids], counts[ids])
    words = words[np.repeat(starts[ids], counts[ids]) + within]

    code = kind[ids] != PROSE
    ids, text = ids[code], text[code]
    return Lexemes(len(texts), text, spelling[ids], shape[ids], _since(text, ids, kind[ids] == NAME), word_text, words)


def _lexer(text: str) -> re.Pattern[str]:
    return _pattern(tuple(mark for mark in SPANNING if mark not in text or _unclosed(text, mark) <= MOST_UNCLOSED))


@cache
def _pattern(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join([*(SPANNING[mark] for mark in marks), WITHIN_LINE]))


def _unclosed(text: str, mark: str) -> int:
    """How many of these marks stand after the last one that closes."""
    closing = "*/" if mark == "/*" else mark
    last = text.rfind(closing)
    while mark != "/*" and last > 0 and text[last - 1] == "\\":
        last = text.rfind(closing, 0, last)
    return text.count(mark, last + len(closing) if last >= 0 else 0)


def _vocabulary(tokens: Sequence[str]) -> tuple[Hashes, Hashes, NDArray[np.uint8], list[list[int]]]:
    """Of each distinct token: spelling, shape, kind, and the words in it."""
    spelling = mixed(np.fromiter((zlib.crc32(one.encode("utf-8", "surrogatepass")) for one in tokens), np.uint64) + 3)
    shape, kind = spelling.copy(), np.full(len(tokens), SPELLED, np.uint8)
    parts: list[list[int]] = []
    for at, token in enumerate(tokens):
        first = token[0]
        inside: list[int] = []
        if first.isalpha() or first == "_":
            if token not in RESERVED:
                kind[at], shape[at] = NAME, 0
                inside = _words(token)
        elif first.isdigit():
            shape[at] = ANY_NUMBER
        elif len(token) > 1:
            inside = _words(token)
            if first in "\"'" and not token.startswith(('"""', "'''")):
                shape[at] = ANY_STRING
            else:
                kind[at] = PROSE
        parts.append(inside)
    return spelling, shape, kind, parts


def _words(token: str) -> list[int]:
    return [
        zlib.crc32(part.lower().encode("utf-8", "surrogatepass"))
        for part in PART.findall(token)
        if len(part) >= SHORTEST_PART
    ]


def _since(text: Indices, ids: Indices, is_name: NDArray[np.bool_]) -> Indices:
    """How many tokens ago a name stood in its text before."""
    at = np.flatnonzero(is_name)
    order = at[np.lexsort((ids[at], text[at]))]  # stable: within one name of one text by position
    again = (text[order[1:]] == text[order[:-1]]) & (ids[order[1:]] == ids[order[:-1]])
    since = np.zeros(len(ids), np.int64)
    since[order[1:][again]] = np.diff(order)[again]
    return since
