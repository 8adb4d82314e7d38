"""Features of a text: hashed n-grams of its tokens, with and without names, and its words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.encoding.lexemes import Lexemes, read_lexemes
from assay.retrieval.hashing import BASE, Hashes, mixed
from assay.types import Int64Array

SPELLED_GRAMS = (1, 2, 3)
SHAPE_GRAMS = (3, 5, 8)
HASH_BITS = 44
TEXT_BITS = 64 - HASH_BITS


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Distinct features of several texts.

    Attributes:
        starts: int64 [texts + 1], start of the features of each text.
        hashes: uint64 [n] below 2^44, ascending within a text. The number of occurrences does not matter.
    """

    starts: Int64Array
    hashes: Hashes


def hashed_features(texts: Sequence[str]) -> Features:
    """Return the features of each text, which do not depend on the other texts.

    - Words: parts of names, and the words in strings, comments and docstrings.
    - n-grams of spelled tokens, n = 1, 2, 3.
    - n-grams of shapes, n = 3, 5, 8. A name is replaced by the distance to its previous occurrence *within the gram*:
    `a = a +
      b` and `x = x + y` are equal grams, `x = y + x` is another (parameterised matching, Baker 1993). Renaming does not
      change them.
    """
    lexemes = read_lexemes(texts)
    parts = [_keyed(lexemes.word_text, mixed(lexemes.words + np.uint64(1)), 0)]
    parts += [_keyed(*_grams(lexemes, n, spelled=True), n) for n in SPELLED_GRAMS]
    parts += [_keyed(*_grams(lexemes, n, spelled=False), 16 + n) for n in SHAPE_GRAMS]
    keys = np.unique(np.concatenate(parts))
    starts = np.searchsorted(keys, np.arange(len(texts) + 1, dtype=np.uint64) << np.uint64(HASH_BITS))
    return Features(starts, keys & np.uint64((1 << HASH_BITS) - 1))


def _grams(lexemes: Lexemes, n: int, *, spelled: bool) -> tuple[Int64Array, Hashes]:
    """Return text and polynomial hash of every n-gram that is within one text."""
    count = max(0, len(lexemes.text) - n + 1)
    total = np.zeros(count, np.uint64)
    for offset in range(n):
        at = slice(offset, offset + count)
        if spelled:
            codes = lexemes.spelling[at]
        else:
            since = lexemes.since[at]
            # a name whose previous occurrence is before the gram counts as new
            codes = lexemes.shape[at] + np.where(since <= offset, since, 0).astype(np.uint64)
        total = total * np.uint64(BASE) + codes
    text = lexemes.text[:count]
    whole = text == lexemes.text[n - 1 :][:count]
    return text[whole], total[whole]


def _keyed(text: Int64Array, hashes: Hashes, kind: int) -> NDArray[np.uint64]:
    """Return text (high bits) and hash (low bits) as one number, so that one sort groups equal features of a text."""
    spread = mixed(hashes + np.uint64(kind * 0x9E3779B9))
    return (text.astype(np.uint64) << np.uint64(HASH_BITS)) | (spread >> np.uint64(TEXT_BITS))
