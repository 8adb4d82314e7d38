"""Features of a text: hashed n-grams of its tokens, with and without names, and its words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.retrieval.compiled import compiled
from assay.retrieval.encoding.lexemes import read_lexemes
from assay.retrieval.hashing import BASE, Hashes, compiled_mix, mix
from assay.types import Int64Array

SPELLED_GRAMS = (1, 2, 3)
SHAPE_GRAMS = (3, 5, 8)
HASH_BITS = 44
DROPPED_BITS = 64 - HASH_BITS


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
      `a = a + b` and `x = x + y` are equal grams, `x = y + x` is another (parameterised matching, Baker 1993). Renaming
      does not change them.
    """
    lexemes = read_lexemes(texts)
    numbers = np.arange(len(texts) + 1)
    tokens = (np.searchsorted(lexemes.text, numbers), lexemes.spelling, lexemes.shape, lexemes.since)
    words = (np.searchsorted(lexemes.word_text, numbers), mix(lexemes.words + np.uint64(1)))
    return Features(*_distinct(tokens, words, np.uint64(BASE)))


@compiled
def _distinct(
    tokens: tuple[Int64Array, Hashes, Hashes, Int64Array], words: tuple[Int64Array, Hashes], base: np.uint64
) -> tuple[Int64Array, Hashes]:
    """Return the start of the features of each text, int64 [texts + 1], and the features, ascending within a text.

    Args:
        tokens: start of each text, int64 [texts + 1]; spelling, shape and distance of each token, as in `Lexemes`.
        words: start of each text, and the hash of each word.
        base: BASE; numba has no constant above 2^63.
    """
    token_starts, spelling, shape, since = tokens
    word_starts, word_hashes = words
    starts = np.zeros_like(token_starts)
    hashes = np.empty(len(word_hashes) + (len(SPELLED_GRAMS) + len(SHAPE_GRAMS)) * len(spelling), np.uint64)
    end = 0
    for text in range(len(starts) - 1):
        begin, first, stop = end, token_starts[text], token_starts[text + 1]
        for at in range(word_starts[text], word_starts[text + 1]):
            hashes[end] = _feature(word_hashes[at], 0)
            end += 1
        # the kind of a gram is a part of its hash: equal numbers of different kinds are different features
        for n in SPELLED_GRAMS:
            for at in range(first, stop - n + 1):
                hashes[end] = _feature(_spelled(spelling[at : at + n], base), n)
                end += 1
        for n in SHAPE_GRAMS:
            for at in range(first, stop - n + 1):
                hashes[end] = _feature(_shaped(shape[at : at + n], since[at : at + n], base), 16 + n)
                end += 1
        # written over its own input: the distinct ones are never more, so the end never overtakes the start
        distinct = np.unique(hashes[begin:end])
        end = begin + len(distinct)
        hashes[begin:end] = distinct
        starts[text + 1] = end
    return starts, hashes[:end].copy()


@compiled
def _spelled(spelling: Hashes, base: np.uint64) -> np.uint64:
    """Return the polynomial hash of a gram."""
    total = np.uint64(0)
    for unit in spelling:
        total = total * base + unit
    return total


@compiled
def _shaped(shape: Hashes, since: Int64Array, base: np.uint64) -> np.uint64:
    """Return the polynomial hash of a gram without names; a name last seen before the gram counts as new."""
    total = np.uint64(0)
    for at in range(len(shape)):
        # the distance counts only within the gram: the same lines have the same features wherever their names came
        # before
        total = total * base + shape[at] + np.uint64(since[at] if since[at] <= at else 0)
    return total


@compiled
def _feature(value: np.uint64, kind: int) -> np.uint64:
    """Return the hash of a word or gram among those of its kind, below 2^44."""
    return compiled_mix(value + np.uint64(kind * 0x9E3779B9)) >> np.uint64(DROPPED_BITS)
