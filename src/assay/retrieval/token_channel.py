"""The identifier-blind form: names look alike, literals look alike by kind, reserved words and operators stay."""

import string
from functools import cache

import numpy as np
from numpy.typing import NDArray

from assay.languages import LexicalRules
from assay.retrieval.canonical import VISIBLE, Canonical, is_continuation
from assay.retrieval.compiled import compiled
from assay.retrieval.hashing import Hashes, mixed
from assay.retrieval.regions import COMMENT, Regions
from assay.retrieval.scanning import DIGITS, HASH, POINT, WORD_LETTERS, Letters
from assay.retrieval.source import WORD, Offsets, Source

Booleans = NDArray[np.bool_]

# What is mixed to a unit: the byte of an operator, one of these, or the letters of a reserved word, which as a number
# are above them all.
NAME = np.uint64(0x100)
NUMBER = np.uint64(0x101)
LITERAL = np.uint64(0x102)  # + kind of the region

LONGEST = 16  # letters that a reserved word may have
EIGHT = 8
SECOND_HALF = np.uint64(0x9FB21C651E98DF25)
PLUS, MINUS, SMALL = ord("+"), ord("-"), 0x20

LETTERS = np.zeros(256, np.bool_)
LETTERS[[*(string.ascii_letters + "_").encode()]] = True
POINT_IS_ACCESS_AFTER = np.zeros(256, np.bool_)
POINT_IS_ACCESS_AFTER[[*b")]."]] = True


def tokens(source: Source, regions: Regions, rules: LexicalRules) -> Canonical:
    """Words, numbers, literals and operators outside comments.

    An operator is one unit a character: `>>` and `> >` are the same, as they are for a formatter. A number is one unit
    with its point and exponent, a literal one unit with its prefix and whatever is interpolated into it.
    """
    codes, starts, stops = token_codes(
        source.letters,
        (regions.starts, regions.stops, regions.kinds),
        word_table(rules.word_marks),
        (spellings(rules.reserved), spellings(rules.directives)),
        rules.prefix,
    )
    return Canonical(mixed(codes), starts, stops)


@cache
def word_table(marks: str) -> Booleans:
    """Of each letter, whether it may stand in a word."""
    table = np.zeros(256, np.bool_)
    table[[*(string.ascii_letters + string.digits + "_" + marks).encode(), WORD]] = True
    return table


@cache
def spellings(words: frozenset[str]) -> Hashes:
    """The spelling of each of these words, ascending."""
    letters = [np.frombuffer(word.encode(), np.uint8) for word in words]
    return np.array(sorted(spelling(one, 0, len(one)) for one in letters), np.uint64)


@compiled
def spelling(letters: Letters, start: int, stop: int) -> np.uint64:
    """The letters of a word as one number, exact for at most 8 letters; 0 for a word of more than 16."""
    if stop - start > LONGEST:
        return np.uint64(0)
    first, second = np.uint64(0), np.uint64(0)
    for at in range(start, min(stop, start + EIGHT)):
        first |= np.uint64(letters[at]) << np.uint64(8 * (at - start))
    for at in range(start + EIGHT, stop):
        second |= np.uint64(letters[at]) << np.uint64(8 * (at - start - EIGHT))
    return first + second * SECOND_HALF


@compiled
def is_among(one: np.uint64, known: Hashes) -> bool:
    """Whether the spelling is one of these, ascending."""
    at = np.searchsorted(known, one)
    return bool(at < len(known) and known[at] == one)


@compiled
def letter_at(letters: Letters, at: int) -> int:
    """The letter at an offset; 0 outside the text."""
    return letters[at] if 0 <= at < len(letters) else 0


@compiled
def joins(letters: Letters, at: int, head: int) -> bool:
    """Whether a point or a sign belongs to a number: `1.5e-3`, `.5`, `1.f`; not `0..9`, `1.max(2)`, `t.0`.

    Args:
        letters: of the text.
        at: offset of the point or sign.
        head: where the word begins that ends here; `at` itself where none does.
    """
    before, after, further = letter_at(letters, at - 1), letter_at(letters, at + 1), letter_at(letters, at + 2)
    after_number = head < at and DIGITS[letters[head]]
    if letters[at] == POINT:
        if after_number:
            is_suffix = not (LETTERS[after] and LETTERS[further])
            return after != POINT and is_suffix and (DIGITS[before] or DIGITS[after])
        return head == at and DIGITS[after] and not (POINT_IS_ACCESS_AFTER[before] or WORD_LETTERS[before])
    if not after_number or not DIGITS[after]:
        return False
    hexadecimal = (letter_at(letters, head + 1) | SMALL) == ord("x")
    return (before | SMALL) == ord("p") or ((before | SMALL) == ord("e") and not hexadecimal)


@compiled
def word_end(letters: Letters, start: int, bound: int, word_letters: Booleans) -> int:
    """Offset after the word or number that begins at `start`; `start` itself where none does."""
    here, head = start, start
    while here < bound:
        letter = letters[here]
        if word_letters[letter]:
            here += 1
        elif letter in (POINT, PLUS, MINUS) and joins(letters, here, head):
            here += 1
            head = here
        else:
            break
    return here


@compiled
def token_codes(
    letters: Letters,
    regions: tuple[Offsets, Offsets, Letters],
    word_letters: Booleans,
    spelt: tuple[Hashes, Hashes],
    prefix: int,
) -> tuple[Hashes, Offsets, Offsets]:
    """Code, start and stop of every token."""
    region_starts, region_stops, kinds = regions
    reserved, directives = spelt
    codes = np.empty(len(letters) + 1, np.uint64)
    starts = np.empty(len(letters) + 1, np.int64)
    stops = np.empty(len(letters) + 1, np.int64)
    found, here = 0, 0
    for region in range(len(region_starts) + 1):
        bound = region_starts[region] if region < len(region_starts) else len(letters)
        while here < bound:
            letter = letters[here]
            if not VISIBLE[letter]:
                here += 1
                continue
            stop = word_end(letters, here, bound, word_letters)
            if stop > here:
                code = spelling(letters, here, stop)
                after_mark = found > 0 and codes[found - 1] == HASH
                if not (is_among(code, reserved) or (after_mark and is_among(code, directives))):
                    code = NUMBER if DIGITS[letter] or letter == POINT else NAME
            elif is_continuation(letters, here):
                here += 1
                continue
            else:
                code, stop = np.uint64(letter), here + 1
            codes[found], starts[found], stops[found] = code, here, stop
            found += 1
            here = stop
        if region < len(region_starts):
            here = region_stops[region]
            if kinds[region] == COMMENT:
                continue
            start = bound
            # a short name that touches an opening quote is the prefix of that literal: rb"…", u8R"…"
            touches = found > 0 and stops[found - 1] == bound and codes[found - 1] == NAME
            if touches and bound - starts[found - 1] <= prefix:
                found -= 1
                start = starts[found]
            codes[found], starts[found], stops[found] = LITERAL + np.uint64(kinds[region]), start, here
            found += 1
    return codes[:found].copy(), starts[:found].copy(), stops[:found].copy()
