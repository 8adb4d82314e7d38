"""The identifier-blind form: names look alike, literals look alike by kind, reserved words and operators stay."""

import string
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.canonical import VISIBLE, Canonical
from assay.retrieval.grammars import Grammar
from assay.retrieval.hashing import Hashes, mixed
from assay.retrieval.regions import COMMENT, Regions
from assay.retrieval.source import WORD, Offsets, Source

Bytes = NDArray[np.uint8]
Booleans = NDArray[np.bool_]

# What is mixed to a unit: the byte of an operator, one of these, or the letters of a reserved word, which as a number
# are above them all.
NAME = np.uint64(0x100)
NUMBER = np.uint64(0x101)
LITERAL = np.uint64(0x102)  # + kind of the region

LONGEST = 16  # letters that a reserved word may have
BYTE_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
SECOND_HALF = np.uint64(0x9FB21C651E98DF25)


def _table(characters: str) -> Booleans:
    return np.isin(np.arange(256), list(characters.encode()))


DIGITS = _table(string.digits)
LETTERS = _table(string.ascii_letters + "_")
POINT_IS_ACCESS_AFTER = _table(")].")


@dataclass(frozen=True, slots=True, eq=False)
class _Spans:
    """Tokens in text order."""

    starts: Offsets
    stops: Offsets
    codes: Hashes

    def where(self, chosen: Booleans) -> "_Spans":
        return _Spans(self.starts[chosen], self.stops[chosen], self.codes[chosen])


def tokens(source: Source, regions: Regions, grammar: Grammar) -> Canonical:
    """Words, numbers, literals and operators outside comments.

    An operator is one unit a character: `>>` and `> >` are the same, as they are for a formatter. A number is one unit
    with its point and exponent, a literal one unit with its prefix and whatever is interpolated into it.
    """
    image = np.frombuffer(source.image + bytes(LONGEST), np.uint8)  # reading past the last word finds zeros
    code = _outside(regions, len(source))
    in_words = _classes(source, _word_table(grammar.word_marks)) & code
    _join_numbers(image, in_words, code)
    words = _words(image, in_words, grammar)
    kept = regions.kinds != COMMENT
    literals = _Spans(regions.starts[kept], regions.stops[kept], LITERAL + regions.kinds[kept].astype(np.uint64))
    if grammar.prefix:
        words, literals = _with_prefixes(words, literals, grammar.prefix)
    at = np.flatnonzero(_classes(source, VISIBLE) & code & ~in_words)
    operators = _Spans(at, at + 1, image[at].astype(np.uint64))

    sequence = _merged(words, literals, operators)
    if grammar.directives:
        _spell_directives(image, sequence, grammar.directives)
    return Canonical(mixed(sequence.codes), sequence.starts, sequence.stops)


def _merged(*sorts: _Spans) -> _Spans:
    starts = np.concatenate([one.starts for one in sorts])
    order = np.argsort(starts, kind="stable")  # merges sorted runs
    stops = np.concatenate([one.stops for one in sorts])
    codes = np.concatenate([one.codes for one in sorts])
    return _Spans(starts[order], stops[order], codes[order])


def _classes(source: Source, table: bytes) -> Booleans:
    return np.frombuffer(source.image.translate(table), np.bool_)


@cache
def _word_table(marks: str) -> bytes:
    of_words = {*(string.ascii_letters + string.digits + "_" + marks).encode(), WORD}
    return bytes(byte in of_words for byte in range(256))


def _outside(regions: Regions, length: int) -> Booleans:
    """Which code points lie in no region."""
    bounds = np.empty(2 * len(regions.starts) + 2, np.int64)
    bounds[0], bounds[-1] = 0, length
    bounds[1:-1:2], bounds[2:-1:2] = regions.starts, regions.stops
    lengths = np.diff(bounds)
    return np.repeat(np.arange(len(lengths)) % 2 == 0, lengths)


def _runs(mask: Booleans) -> tuple[Offsets, Offsets]:
    """Starts and stops of the runs of True."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    return edges[0::2], edges[1::2]


def _join_numbers(image: Bytes, in_words: Booleans, code: Booleans) -> None:
    """Make points and exponent signs part of their number: `1.5e-3`, `.5`, `1.f`; not `0..9`, `1.max(2)`, `t.0`."""
    text = image[: len(code)]
    at = np.flatnonzero(((text == ord(".")) | (text == ord("+")) | (text == ord("-"))) & code)
    before, after = image[at - 1], image[at + 1]
    point = text[at] == ord(".")
    worth = np.where(point, DIGITS[before] | DIGITS[after], LETTERS[before] & DIGITS[after])
    at, before, after, point = at[worth], before[worth], after[worth], point[worth]
    if not len(at):
        return
    starts, _ = _runs(in_words)
    head = np.append(starts, 0)[np.searchsorted(starts, at, side="right") - 1]  # of the word before, if one touches
    after_number = in_words[at - 1] & (at > 0) & DIGITS[image[head]]
    hexadecimal = (image[head + 1] | 0x20) == ord("x")
    suffix = ~LETTERS[after] | ~LETTERS[image[at + 2]]
    joins_point = np.where(after_number, (after != ord(".")) & suffix, DIGITS[after] & ~POINT_IS_ACCESS_AFTER[before])
    joins_point &= after_number | ~in_words[at - 1] | (at == 0)
    exponent = before | 0x20  # in lower case
    joins_sign = after_number & ((exponent == ord("p")) | ((exponent == ord("e")) & ~hexadecimal))
    in_words[at[np.where(point, joins_point, joins_sign)]] = True


def _words(image: Bytes, in_words: Booleans, grammar: Grammar) -> _Spans:
    starts, stops = _runs(in_words)
    spelling = _spelling(image, starts, stops)
    first = image[starts]
    # a joined number may begin with its point
    codes = np.where(DIGITS[first] | (first == ord(".")), NUMBER, NAME)
    codes = np.where(_among(spelling, _spellings(grammar.reserved)), spelling, codes)
    return _Spans(starts, stops, codes)


def _spelling(image: Bytes, starts: Offsets, stops: Offsets) -> Hashes:
    """The letters of each word as one number, exact for at most 8 letters; 0 for a word of more than 16."""
    eights = np.ndarray((len(image) - 7,), np.dtype("<u8"), image, strides=(1,))
    lengths = stops - starts
    first = eights[starts] & BYTE_MASKS[np.minimum(lengths, 8)]
    second = eights[starts + 8] & BYTE_MASKS[np.clip(lengths - 8, 0, 8)]
    return np.where(lengths > LONGEST, np.uint64(0), first + second * SECOND_HALF)


@cache
def _spellings(words: frozenset[str]) -> Hashes:
    """The spelling of each of these words, ascending."""
    image = np.frombuffer(" ".join(words).encode() + bytes(LONGEST), np.uint8)
    return np.sort(_spelling(image, *_runs((image != ord(" ")) & (image != 0))))


def _among(spellings: Hashes, known: Hashes) -> Booleans:
    among: Booleans = known[np.minimum(np.searchsorted(known, spellings), len(known) - 1)] == spellings
    return among


def _with_prefixes(words: _Spans, literals: _Spans, longest: int) -> tuple[_Spans, _Spans]:
    """A short name that touches an opening quote is the prefix of that literal: `rb"…"`, `u8R"…"`."""
    if not (len(words.starts) and len(literals.starts)):
        return words, literals
    at = np.minimum(np.searchsorted(words.stops, literals.starts), len(words.starts) - 1)
    is_prefix = (words.stops[at] == literals.starts) & (words.codes[at] == NAME)
    is_prefix &= words.stops[at] - words.starts[at] <= longest
    stays = np.ones(len(words.starts), np.bool_)
    stays[at[is_prefix]] = False
    starts = np.where(is_prefix, words.starts[at], literals.starts)
    return words.where(stays), _Spans(starts, literals.stops, literals.codes)


def _spell_directives(image: Bytes, sequence: _Spans, directives: frozenset[str]) -> None:
    """`#define` and its like keep their spelling; elsewhere `define` is a name."""
    at = np.flatnonzero(sequence.codes[:-1] == ord("#")) + 1
    spelling = _spelling(image, sequence.starts[at], sequence.stops[at])
    sequence.codes[at] = np.where(_among(spelling, _spellings(directives)), spelling, sequence.codes[at])
