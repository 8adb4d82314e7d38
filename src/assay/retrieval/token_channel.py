"""Canonical form of tokens: names are equal, literals of a kind are equal, reserved words and operators are kept."""

import string
from functools import cache

import numpy as np

from assay.languages import LexicalRules
from assay.retrieval.canonical import VISIBLE, Canonical, is_continuation
from assay.retrieval.compiled import compiled
from assay.retrieval.hashing import Hashes, mix
from assay.retrieval.plain_marks import COMMENT, DIGITS, HASH, POINT, WORD_LETTERS, Letters, letter_table
from assay.retrieval.scanning import Regions
from assay.retrieval.source import Offsets, Source
from assay.types import BooleanArray

# The code of a token, before it is mixed: the byte of an operator, one of the codes below, or the letters of a reserved
# word as a number, which is larger than all of these.
NAME_TOKEN = np.uint64(0x100)
NUMBER_TOKEN = np.uint64(0x101)
LITERAL_TOKENS = np.uint64(0x102)  # + kind of the region

LONGEST_RESERVED = 16
"""Letters of a reserved word; longer words are names."""

EIGHT = 8  # letters that fit 64 bits
SECOND_HALF = np.uint64(0x9FB21C651E98DF25)
PLUS, MINUS, SMALL = ord("+"), ord("-"), 0x20

NAME_LETTERS = letter_table((string.ascii_letters + "_").encode())
POINT_IS_ACCESS_AFTER = letter_table(b")].")


def tokens(source: Source, regions: Regions, rules: LexicalRules) -> Canonical:
    """Return words, numbers, literals and operators outside comments.

    Each character of an operator is one unit, so `>>` and `> >` are equal. A number is one unit with its point and
    exponent. A literal is one unit with its prefix and its interpolated fields.
    """
    codes, starts, stops = token_codes(
        source.letters, (regions.starts, regions.stops, regions.kinds), word_rules(rules)
    )
    return Canonical(mix(codes), starts, stops)


WordRules = tuple[BooleanArray, tuple[Hashes, Hashes], tuple[int, bool]]


def word_rules(rules: LexicalRules) -> WordRules:
    """Return the letters of words, the spellings of reserved words and directives, and the rest that tokens need.

    The rest is the length of the longest prefix of a literal, and whether reserved words are read in small letters.
    """
    spelt = spellings(rules.reserved), spellings(rules.directives)
    return word_table(rules.word_marks), spelt, (rules.prefix, rules.folds_case)


@cache
def word_table(marks: str) -> BooleanArray:
    """Return for each letter whether a word may contain it, bool [256]."""
    return WORD_LETTERS | letter_table(marks.encode())


@cache
def spellings(words: frozenset[str]) -> Hashes:
    """Return the spelling of each of these words, ascending."""
    encoded = [np.frombuffer(word.encode(), np.uint8) for word in words]
    return np.array(sorted(spelling(letters, 0, len(letters)) for letters in encoded), np.uint64)


@compiled
def folded(word: Letters) -> Letters:
    """Return a word in small letters."""
    capitals = (word >= ord("A")) & (word <= ord("Z"))
    return word | (capitals * np.uint8(SMALL))


@compiled
def spelling(letters: Letters, start: int, stop: int) -> np.uint64:
    """Return the letters of a word as one number, unique for at most 8 letters; 0 for a word of more than 16."""
    if stop - start > LONGEST_RESERVED:
        return np.uint64(0)
    # eight letters fit one number; the second eight are multiplied by an odd factor, which maps no two to one
    first, second = np.uint64(0), np.uint64(0)
    for at in range(start, min(stop, start + EIGHT)):
        first |= np.uint64(letters[at]) << np.uint64(8 * (at - start))
    for at in range(start + EIGHT, stop):
        second |= np.uint64(letters[at]) << np.uint64(8 * (at - start - EIGHT))
    return first + second * SECOND_HALF


@compiled
def is_among(code: np.uint64, spelt: Hashes) -> bool:
    """Return True if the spelling is one of these, which ascend."""
    at = np.searchsorted(spelt, code)
    return bool(at < len(spelt) and spelt[at] == code)


@compiled
def letter_at(letters: Letters, at: int) -> int:
    """Return the letter at an offset; 0 outside the text."""
    return letters[at] if 0 <= at < len(letters) else 0


@compiled
def joins(letters: Letters, at: int, head: int) -> bool:
    """Return True if a point or a sign belongs to a number: `1.5e-3`, `.5`, `1.f`; not `0..9`, `1.max(2)`, `t.0`.

    Args:
        letters: of the text.
        at: offset of the point or sign.
        head: start of the word that ends at `at`; `at` itself if there is none.
    """
    # no grammar is needed: two letters before and after a point or a sign tell a number from a range or an access
    before, after, further = letter_at(letters, at - 1), letter_at(letters, at + 1), letter_at(letters, at + 2)
    after_number = head < at and DIGITS[letters[head]]
    if letters[at] == POINT:
        if after_number:
            is_suffix = not (NAME_LETTERS[after] and NAME_LETTERS[further])
            return after != POINT and is_suffix and (DIGITS[before] or DIGITS[after])
        return head == at and DIGITS[after] and not (POINT_IS_ACCESS_AFTER[before] or WORD_LETTERS[before])
    if not after_number or not DIGITS[after]:
        return False
    hexadecimal = (letter_at(letters, head + 1) | SMALL) == ord("x")
    return (before | SMALL) == ord("p") or ((before | SMALL) == ord("e") and not hexadecimal)


@compiled
def word_end(letters: Letters, start: int, bound: int, word_letters: BooleanArray) -> int:
    """Return the offset after the word or number that begins at `start`; `start` itself if there is none."""
    cursor, head = start, start
    while cursor < bound:
        letter = letters[cursor]
        if word_letters[letter]:
            cursor += 1
        elif letter in (POINT, PLUS, MINUS) and joins(letters, cursor, head):
            cursor += 1
            head = cursor
        else:
            break
    return cursor


@compiled
def word_code(word: Letters, spelt: tuple[Hashes, Hashes], after_mark: int) -> np.uint64:
    """Return the code of a word: its spelling where the language reserves it, else that of any number or name."""
    reserved, directives = spelt
    code = spelling(word, 0, len(word))
    # `include` is a name, but a directive after `#`
    if is_among(code, reserved) or (after_mark and is_among(code, directives)):
        return code
    if DIGITS[word[0]] or word[0] == POINT:
        return NUMBER_TOKEN
    return NAME_TOKEN


@compiled
def token_codes(
    letters: Letters,
    regions: tuple[Offsets, Offsets, Letters],
    words: WordRules,
) -> tuple[Hashes, Offsets, Offsets]:
    """Return code, start and stop of every token."""
    region_starts, region_stops, kinds = regions
    word_letters, spelt, (prefix, folds_case) = words
    codes = np.empty(len(letters) + 1, np.uint64)
    starts = np.empty(len(letters) + 1, np.int64)
    stops = np.empty(len(letters) + 1, np.int64)
    count, cursor = 0, 0
    for region in range(len(region_starts) + 1):
        bound = region_starts[region] if region < len(region_starts) else len(letters)
        while cursor < bound:
            letter = letters[cursor]
            if not VISIBLE[letter]:
                cursor += 1
                continue
            stop = word_end(letters, cursor, bound, word_letters)
            if stop > cursor:
                after_mark = count > 0 and codes[count - 1] == HASH
                word = folded(letters[cursor:stop]) if folds_case else letters[cursor:stop]
                code = word_code(word, spelt, after_mark)
            elif is_continuation(letters, cursor):
                cursor += 1
                continue
            else:
                code, stop = np.uint64(letter), cursor + 1
            codes[count], starts[count], stops[count] = code, cursor, stop
            count += 1
            cursor = stop
        if region < len(region_starts):
            cursor = region_stops[region]
            if kinds[region] == COMMENT:
                continue
            start = bound
            # a short name directly before an opening quote is the prefix of the literal: rb"…", u8R"…"
            touches = count > 0 and stops[count - 1] == bound and codes[count - 1] == NAME_TOKEN
            if touches and bound - starts[count - 1] <= prefix:
                count -= 1
                start = starts[count]
            codes[count], starts[count], stops[count] = LITERAL_TOKENS + np.uint64(kinds[region]), start, cursor
            count += 1
    return codes[:count].copy(), starts[:count].copy(), stops[:count].copy()
