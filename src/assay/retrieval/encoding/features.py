"""What a text has: hashed n-grams of its tokens, spelled out and with names taken away, and its words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.encoding.lexemes import Indices, Lexemes, read_lexemes
from assay.retrieval.hashing import BASE, Hashes, mixed

SPELLED_GRAMS = (1, 2, 3)
SHAPE_GRAMS = (3, 5, 8)
HASH_BITS = 44
TEXT_BITS = 64 - HASH_BITS


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The distinct features of some texts.

    Attributes:
        starts: int64 [texts + 1], where the features of each text begin.
        hashes: uint64 [n] below 2^44, ascending within a text. How often a text has a feature does not count.
    """

    starts: Indices
    hashes: Hashes


def features(texts: Sequence[str]) -> Features:
    """The features of each text; nothing of one text depends on the others.

    - Words: parts of names, and the words in strings, comments and docstrings.
    - n-grams of spelled tokens, n = 1, 2, 3.
    - n-grams of shapes, n = 3, 5, 8. A name is described by where it stood before *within the gram*: `a = a + b` and
      `x = x + y` are one gram, `x = y + x` another (Baker's parameterised match, 1993). A renaming changes none of
      them.
    """
    lexemes = read_lexemes(texts)
    parts = [_keyed(lexemes.word_text, mixed(lexemes.words + np.uint64(1)), 0)]
    parts += [_keyed(*_grams(lexemes, n, spelled=True), n) for n in SPELLED_GRAMS]
    parts += [_keyed(*_grams(lexemes, n, spelled=False), 16 + n) for n in SHAPE_GRAMS]
    keys = np.unique(np.concatenate(parts))
    starts = np.searchsorted(keys, np.arange(len(texts) + 1, dtype=np.uint64) << np.uint64(HASH_BITS))
    return Features(starts, keys & np.uint64((1 << HASH_BITS) - 1))


def _grams(lexemes: Lexemes, n: int, *, spelled: bool) -> tuple[Indices, Hashes]:
    """Text and polynomial hash of every n-gram that lies within one text."""
    many = max(0, len(lexemes.text) - n + 1)
    total = np.zeros(many, np.uint64)
    for offset in range(n):
        at = slice(offset, offset + many)
        if spelled:
            codes = lexemes.spelling[at]
        else:
            since = lexemes.since[at]
            codes = lexemes.shape[at] + np.where(since <= offset, since, 0).astype(np.uint64)
        total = total * np.uint64(BASE) + codes
    text = lexemes.text[:many]
    whole = text == lexemes.text[n - 1 :][:many]
    return text[whole], total[whole]


def _keyed(text: Indices, hashes: Hashes, kind: int) -> NDArray[np.uint64]:
    """Text above, hash below, in one number, so that one sort brings equal features of a text together."""
    spread = mixed(hashes + np.uint64(kind * 0x9E3779B9))
    return (text.astype(np.uint64) << np.uint64(HASH_BITS)) | (spread >> np.uint64(TEXT_BITS))
