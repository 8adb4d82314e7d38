r"""Tokens of a text as numbers: the spelling of each token, and its shape without names.

One regular expression serves every language, because an encoder does not receive the language, and a fragment may begin
anywhere. It need not be correct for every literal; it must read a fragment as it reads the same lines in their file.
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.hashing import Hashes, mix
from assay.types import Int64Array

DIRECTIVES = "include|define|undef|if|ifdef|ifndef|elif|else|endif|pragma|error|line|warning"
SPANNING_PATTERNS = {
    '"""': r'"""[^"\\]*+(?:(?:\\[\s\S]|"(?!""))[^"\\]*+)*"""',
    "'''": r"'''[^'\\]*+(?:(?:\\[\s\S]|'(?!''))[^'\\]*+)*'''",
    "/*": r"/\*[^*]*+(?:\*(?!/)[^*]*+)*\*/",
}
"""Literals and comments that may span lines, by the mark that opens them. Only single characters are repeated
possessively: of groups Python before 3.11.5 does that wrongly."""

WITHIN_LINE = (
    r"//[^\n]*+"
    rf"|#(?![\[\w]*\[|(?:{DIRECTIVES})\b)(?<![.\w]#)[^\n]*+"
    r'|"(?:[^"\\\n]|\\.){0,500}"'
    r"|'(?:[^'\\\n]|\\.){0,500}'"
    r"|[^\W\d]\w*+"
    r"|\d[\w.]*+"
    r"|[^\w\s]"
)
"""Comments, strings, words, numbers, and single characters of operators."""

MOST_UNCLOSED = 64
"""Opening marks without an end: each costs a search through the rest of the text. If there are more of a kind, marks of
that kind are ignored, so that the time is linear in the text."""

PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
SHORTEST_PART = 2

QUOTES = "\"'"

IS_NAME, SPELLED, PROSE = range(3)

ANY_NUMBER, ANY_STRING = mix(np.array([1, 2], np.uint64)).tolist()

_KEPT_WORDS = """
    False None True and and_eq as asm assert async await bitand bitor boolean break byte case catch char class
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype
    def defer del delete do double dyn dynamic_cast elif else enum except explicit export extends extern
    fallthrough false finally fn for friend from func global go goto if implements import in inline instanceof
    interface is lambda let long mut mutable namespace new noexcept nonlocal not not_eq null nullptr operator or
    or_eq pass private protected pub public raise reinterpret_cast requires restrict return short signed sizeof
    static static_assert static_cast struct switch synchronized this throw throws trait try true typedef typeid
    typename typeof unsafe unsigned using virtual void volatile wchar_t where while with xor xor_eq yield
"""
KEPT_WORDS = frozenset(_KEPT_WORDS.split())
"""Words that keep their spelling in a shape: reserved in one language, and rarely a name in another.

The list is separate from `assay.languages`, because a change of it changes the vectors of every index; see
`FEATURES_VERSION`.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Lexemes:
    """Tokens of several texts, one text after another.

    Attributes:
        texts: number of texts.
        text: int64 [n], text of each token, ascending. Comments and docstrings are not tokens.
        spelling: uint64 [n], equal for equal spellings.
        shape: uint64 [n], the spelling without names, numbers and strings: 0 for a name, one value for all numbers, one
            for all strings.
        since: int64 [n], distance in tokens from a name to its previous occurrence in the text; 0 for the first one and
            for other tokens.
        word_text: int64 [m], text of each word.
        words: uint64 [m], the words in names, strings, comments and docstrings, in lower case.
    """

    texts: int
    text: Int64Array
    spelling: Hashes
    shape: Hashes
    since: Int64Array
    word_text: Int64Array
    words: Hashes


def read_lexemes(texts: Sequence[str]) -> Lexemes:
    """Return the tokens of each text, which do not depend on the other texts."""
    rows = list(map(_tokens, texts))
    # code repeats few words: each distinct token is examined once, and all texts are computed with its number
    number: dict[str, int] = {}
    ids = np.fromiter((number.setdefault(token, len(number)) for token in chain.from_iterable(rows)), np.int64)
    text = np.repeat(np.arange(len(texts)), list(map(len, rows)))
    spelling, shape, kind, parts = _vocabulary(list(number))
    counts = np.array(list(map(len, parts)), np.int64)
    words = np.fromiter(chain.from_iterable(parts), np.uint64)

    word_text = np.repeat(text, counts[ids])
    starts = np.cumsum(counts) - counts
    # the words of each token: a range of `words` that begins at `starts`, repeated for every occurrence of the token
    within = np.arange(len(word_text)) - np.repeat(np.cumsum(counts[ids]) - counts[ids], counts[ids])
    words = words[np.repeat(starts[ids], counts[ids]) + within]

    code = kind[ids] != PROSE
    ids, text = ids[code], text[code]
    since = _since(text, ids, kind[ids] == IS_NAME)
    return Lexemes(
        texts=len(texts),
        text=text,
        spelling=spelling[ids],
        shape=shape[ids],
        since=since,
        word_text=word_text,
        words=words,
    )


def _tokens(text: str) -> list[str]:
    return _lexer(text).findall(text)


def code_starts(text: str) -> list[int]:
    """Return the position of each token; comments and docstrings are not tokens."""
    tokens = _lexer(text).finditer(text)
    return [token.start() for token in tokens if not _is_prose(token[0])]


def _is_prose(token: str) -> bool:
    return len(token) > 1 and token[0] in "#/" + QUOTES and not _is_string(token)


def _is_string(token: str) -> bool:
    """Return True for a literal within a line; one that may span lines counts as a docstring."""
    return token[0] in QUOTES and not token.startswith(tuple(3 * quote for quote in QUOTES))


def _lexer(text: str) -> re.Pattern[str]:
    marks = (mark for mark in SPANNING_PATTERNS if mark not in text or _unclosed(text, mark) <= MOST_UNCLOSED)
    return _pattern(tuple(marks))


@cache
def _pattern(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join([*(SPANNING_PATTERNS[mark] for mark in marks), WITHIN_LINE]))


def _unclosed(text: str, mark: str) -> int:
    """Return the number of opening marks after the last closing mark."""
    # one search from the end finds the last closing mark; only opening marks behind it can be without an end
    closing = "*/" if mark == "/*" else mark
    last = text.rfind(closing)
    while mark != "/*" and last > 0 and text[last - 1] == "\\":
        last = text.rfind(closing, 0, last)
    return text.count(mark, last + len(closing) if last >= 0 else 0)


def _vocabulary(tokens: Sequence[str]) -> tuple[Hashes, Hashes, NDArray[np.uint8], list[list[int]]]:
    """Return spelling, shape, kind and words of each distinct token."""
    spelling = mix(np.fromiter(map(_checksum, tokens), np.uint64) + 3)
    shape, kind = spelling.copy(), np.full(len(tokens), SPELLED, np.uint8)
    parts: list[list[int]] = []
    for at, token in enumerate(tokens):
        first = token[0]
        inside: list[int] = []
        if first.isalpha() or first == "_":
            if token not in KEPT_WORDS:
                kind[at], shape[at] = IS_NAME, 0
                inside = _words(token)
        elif first.isdigit():
            shape[at] = ANY_NUMBER
        elif len(token) > 1:
            inside = _words(token)
            if _is_string(token):
                shape[at] = ANY_STRING
            else:
                kind[at] = PROSE
        parts.append(inside)
    return spelling, shape, kind, parts


def _words(token: str) -> list[int]:
    return [_checksum(part.lower()) for part in PART.findall(token) if len(part) >= SHORTEST_PART]


def _checksum(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


def _since(text: Int64Array, ids: Int64Array, is_name: NDArray[np.bool_]) -> Int64Array:
    """Return the distance in tokens from each name to its previous occurrence in its text."""
    at = np.flatnonzero(is_name)
    # lexsort is stable: the occurrences of a name in a text stay in the order of their positions
    order = at[np.lexsort((ids[at], text[at]))]
    again = (text[order[1:]] == text[order[:-1]]) & (ids[order[1:]] == ids[order[:-1]])
    since = np.zeros(len(ids), np.int64)
    since[order[1:][again]] = np.diff(order)[again]
    return since
