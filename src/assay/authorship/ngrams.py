"""n-grams of characters and of tokens, hashed into one sparse matrix: what the classifier of machine-written code sees.

It is the least that a detector has to beat: no feature is made by hand, and nothing is chosen.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy import sparse

from assay.authorship.normalising import Code, Kind, Token
from assay.authorship.units import LONGEST_TEXT

COLUMNS = 2**16
"""Columns of each of the two halves: characters, then tokens."""
LONGEST = 3
"""Characters, and tokens, of the longest n-gram."""

_PLAIN_NUMBER = 2


def ngram_matrix(texts: Sequence[str], codes: Sequence[Code]) -> sparse.csr_matrix:
    """Return the n-grams of texts, float64 [n, 2 * COLUMNS]; each half of a row has length 1.

    Args:
        texts: as they are written.
        codes: their tokens.
    """
    characters = _hashed(map(character_ngrams, texts))
    # the root dampens counts: a line of dashes would outweigh the rest of a file
    characters.data = np.sqrt(characters.data)
    tokens = _hashed(map(token_ngrams, codes))
    tokens.data[:] = 1.0  # a token n-gram counts once however often it occurs
    return sparse.csr_matrix(sparse.hstack([_of_length_one(characters), _of_length_one(tokens)]))


def character_ngrams(text: str) -> Iterator[str]:
    """Yield the n-grams of the beginning of a text, white space as it is."""
    text = text[:LONGEST_TEXT]
    for n in range(1, LONGEST + 1):
        for at in range(len(text) - n + 1):
            yield text[at : at + n]


def token_ngrams(code: Code) -> Iterator[str]:
    """Yield n-grams of tokens; literals and long numbers are replaced by their kind: the content is the task's."""
    words = list(map(_word, code.tokens))
    for n in range(1, LONGEST + 1):
        # n shifted copies of the words, read in step, are the n-grams
        yield from map(" ".join, zip(*(words[start:] for start in range(n)), strict=False))


def _word(token: Token) -> str:
    """Return a token as n-grams have it."""
    if token.kind is Kind.LITERAL:
        return "<literal>"
    if token.kind is Kind.NUMBER and len(token.text) > _PLAIN_NUMBER:
        return "<number>"
    return token.text


def _hashed(texts: Iterable[Iterable[str]]) -> sparse.csr_matrix:
    from sklearn.feature_extraction import FeatureHasher  # noqa: PLC0415  slow to import, needed only here

    # counts only add up: with alternating signs two n-grams in one column would cancel each other
    return sparse.csr_matrix(FeatureHasher(COLUMNS, input_type="string", alternate_sign=False).transform(texts))


def _of_length_one(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    # a text without n-grams stays a row of zeros
    return sparse.csr_matrix(sparse.diags_array(1 / np.maximum(norms, 1e-12)) @ matrix)
