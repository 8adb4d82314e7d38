"""Texts as sequences of units, in two forms, and the grams of units that two texts share; compiled loops over bytes.

*Words* are runs of letters, digits and `_`, in lower case: layout, punctuation and marks of comments do not count, so a
reformatted program and a rewrapped paragraph keep their words. *Tokens* are blind to names: of a word that neither a
language nor its library defines only the distance to the same word before it counts (the encoding of parameters by
Baker, 1993); punctuation counts; comments do not.
"""

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.files import parse_toml
from assay.retrieval.compiled import compiled

UnitForm = Literal["words", "tokens"]
UnitHashes = NDArray[np.uint64]
UnitOffsets = NDArray[np.int32]
TextBytes = NDArray[np.uint8]

NO_LETTER, LETTER, CAPITAL, IDEOGRAPH, BLANK = range(5)
NAME, FARTHEST, SLOTS = 1, 16, 4096
"""Unit of a name that did not occur in the last `FARTHEST` units; a nearer one is its distance more."""
FIRST, PRIME, STEP = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3), np.uint64(0x9E3779B97F4A7C15)
MARK = np.uint64(256)
"""The unit of a mark is its byte and this."""
LONGEST_COMMENT = 4000
LINE_FEED, HASH, SLASH, STAR, QUOTE, SINGLE, ZERO, NINE, DOT, OPENING = b"\n#/*\"'09.("


def _classes() -> NDArray[np.uint8]:
    table = np.zeros(256, np.uint8)
    table[[*b" \t\n\r\f\v\0"]] = BLANK
    # UTF-8 (RFC 3629): bytes that continue a character, and that begin one of two or three, count as letters, so a word
    # of any alphabet is one unit without a table of Unicode
    table[[*b"abcdefghijklmnopqrstuvwxyz0123456789_", *range(0xC3, 0xE2), *range(0xEE, 0xF0), *range(0x80, 0xC0)]] = (
        LETTER
    )
    table[[*b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]] = CAPITAL
    # Chinese, Japanese and Korean write without spaces: a character of three bytes is a word of its own
    table[0xE3:0xEE] = IDEOGRAPH
    return table


CLASSES = _classes()


def word_hash(word: str) -> int:
    """Return the hash of a word in lower case (FNV-1a, 64 bits)."""
    value = int(FIRST)
    for letter in word.encode():
        value = ((value ^ letter) * int(PRIME)) & (2**64 - 1)
    return value


def reserved_words() -> dict[str, bool]:
    """Return the words that a renaming leaves alone, in lower case, sorted: True for a keyword, False for a member."""
    words = parse_toml(files("assay.scan").joinpath("words.toml").read_text("utf-8"))
    keywords = set(words["keyword"].split())
    return {word: word in keywords for word in sorted(keywords.union(words["member"].split()))}


def _reserved() -> UnitHashes:
    """Return an open-addressed table of the reserved words; the last bit is set for keywords."""
    table = np.zeros(1 << 13, np.uint64)
    for word, is_keyword in reserved_words().items():
        value = word_hash(word)
        slot = (value >> 20) & (len(table) - 1)
        while table[slot]:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = value & ~1 | is_keyword
    return table


RESERVED = _reserved()


@compiled
def word_at(letters: TextBytes, at: int) -> tuple[np.uint64, int]:
    """Return the hash of the word that begins at an offset, in lower case, and the offset after it."""
    value = FIRST
    while at < len(letters):
        letter = letters[at]
        kind = CLASSES[letter]
        if kind == LETTER:
            value = (value ^ np.uint64(letter)) * PRIME
        elif kind == CAPITAL:
            value = (value ^ np.uint64(letter + 32)) * PRIME
        else:
            break
        at += 1
    return value, at


@compiled
def is_reserved(value: np.uint64, is_member: bool) -> bool:  # noqa: FBT001  numba has no keywords
    """Return True if a hash is that of a keyword, or of a member of a library where a member stands."""
    # the last bit of an entry is no part of the hash: both sides are compared with it set
    mask, last = np.uint64(len(RESERVED) - 1), np.uint64(1)
    slot = (value >> np.uint64(20)) & mask
    while RESERVED[slot] != 0 and RESERVED[slot] | last != value | last:
        slot = (slot + np.uint64(1)) & mask
    return bool(RESERVED[slot] != 0 and (is_member or RESERVED[slot] & last != 0))


@compiled
def comment_end(letters: TextBytes, at: int) -> int:
    """Return the offset after the comment that begins at an offset; the offset itself where none does."""
    mark, size = letters[at], len(letters)
    following = letters[at + 1] if at + 1 < size else BLANK
    if mark == HASH or (mark == SLASH and following == SLASH):
        while at < size and letters[at] != LINE_FEED:
            at += 1
        return at
    if mark != SLASH or following != STAR:
        return at
    # a comment that does not end nearby is none: a mark inside a text must not hide the rest of it
    close, limit = at + 2, min(size - 1, at + LONGEST_COMMENT)
    while close < limit and not (letters[close] == STAR and letters[close + 1] == SLASH):
        close += 1
    return close + 2 if close < limit else at


@compiled
def opens_call(letters: TextBytes, at: int) -> bool:
    """Return True if the next letter that is no blank is an opening parenthesis."""
    while at < len(letters) and CLASSES[letters[at]] == BLANK:
        at += 1
    return at < len(letters) and letters[at] == OPENING


@compiled
def unit_at(letters: TextBytes, at: int, blind: bool) -> tuple[np.uint64, int]:  # noqa: FBT001  numba has no keywords
    """Return the unit that begins at an offset, 0 for none, and the offset after it; names have their hash still."""
    kind, begin = CLASSES[letters[at]], at
    if kind == IDEOGRAPH:
        value = FIRST
        for letter in letters[at : at + 3]:
            value = (value ^ np.uint64(letter)) * PRIME
        return np.uint64(NAME) if blind else value, min(at + 3, len(letters))
    if kind != NO_LETTER:
        return word_at(letters, at)
    if not blind:
        return np.uint64(0), at + 1
    at = comment_end(letters, at)
    if at > begin:
        return np.uint64(0), at
    mark = QUOTE if letters[at] == SINGLE else letters[at]
    return np.uint64(mark) + MARK, at + 1


@compiled
def fill_units(letters: TextBytes, blind: bool, out: tuple[UnitHashes, UnitOffsets, UnitOffsets]) -> int:  # noqa: FBT001  as above
    """Write the units of letters into hashes, starts and ends, each as long as the letters; return their number."""
    hashes, starts, ends = out
    count, at = 0, 0
    # the last names, by the low bits of their hashes, and where they were
    names, places = np.zeros(SLOTS, np.uint64), np.zeros(SLOTS, np.int64)
    while at < len(letters):
        begin = at
        if CLASSES[letters[at]] == BLANK:
            at += 1
            continue
        value, at = unit_at(letters, at, blind)
        if blind and CLASSES[letters[begin]] in (LETTER, CAPITAL) and not ZERO <= letters[begin] <= NINE:
            is_member = (count > 0 and hashes[count - 1] == MARK + np.uint64(DOT)) or opens_call(letters, at)
            if not is_reserved(value, is_member):
                # two names in one slot drive each other out: a distance is lost now and then, in both texts alike
                slot = (value ^ value >> np.uint64(40)) & np.uint64(SLOTS - 1)
                distance = count - places[slot]
                is_near = names[slot] == value and distance <= FARTHEST
                names[slot], places[slot] = value, count
                value = np.uint64(NAME + distance * is_near)
        if value != 0:
            hashes[count], starts[count], ends[count] = value, begin, at
            count += 1
    return count


def units_of_letters(letters: TextBytes, form: UnitForm) -> tuple[UnitHashes, UnitOffsets, UnitOffsets]:
    """Return hashes, starts and ends of the units of letters; the arrays share no memory with others."""
    out = np.empty(len(letters), np.uint64), np.empty(len(letters), np.int32), np.empty(len(letters), np.int32)
    count: int = fill_units(letters, form == "tokens", out)
    return out[0][:count], out[1][:count], out[2][:count]


@dataclass(frozen=True, eq=False)
class UnitSequence:
    """The units of one text.

    Attributes:
        hashes: uint64 [n], equal for equal units.
        starts: int32 [n], offsets of their first byte in the text as UTF-8.
        ends: int32 [n], offsets after their last byte.
    """

    hashes: UnitHashes
    starts: UnitOffsets
    ends: UnitOffsets

    @classmethod
    def of(cls, text: bytes, form: UnitForm) -> "UnitSequence":
        """Return the units of a text in UTF-8."""
        hashes, starts, ends = units_of_letters(np.frombuffer(text, np.uint8), form)
        # copies, because a view would keep arrays as long as the text
        return cls(hashes.copy(), starts.copy(), ends.copy())

    def __len__(self) -> int:
        return len(self.hashes)


@compiled
def mixed(value: np.uint64) -> np.uint64:
    """Return well mixed bits of a number (the finalizer of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def _grams(hashes: UnitHashes, width: int) -> UnitHashes:
    # a polynomial in STEP modulo 2⁶⁴ (Karp and Rabin 1987), mixed because its low bits depend on few units alone
    count = max(0, len(hashes) - width + 1)
    grams = np.empty(count, np.uint64)
    power = np.uint64(1)
    for _ in range(width):
        power *= STEP
    rolling = np.uint64(0)
    for at in range(len(hashes)):
        rolling = rolling * STEP + hashes[at]
        if at >= width:
            rolling -= power * hashes[at - width]
        if at >= width - 1:
            grams[at - width + 1] = mixed(rolling)
    return grams


def grams(hashes: UnitHashes, width: int) -> UnitHashes:
    """Return a hash of each run of `width` units, uint64 [n - width + 1]."""
    result: UnitHashes = _grams(hashes, width)
    return result
