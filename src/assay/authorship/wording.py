"""Token n-grams, hashed into a sparse matrix."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

from assay.authorship.normalising import Code, Kind

COLUMNS = 2**16
LONGEST = 3
"""Tokens of the longest n-gram."""

_PLAIN_NUMBER = 2


def token_words(code: Code) -> list[str]:
    """Return the tokens with literals and long numbers replaced by their kind: their content is the task's."""
    return [
        "<literal>"
        if token.kind is Kind.LITERAL
        else "<number>"
        if token.kind is Kind.NUMBER and len(token.text) > _PLAIN_NUMBER
        else token.text
        for token in code.tokens
    ]


def token_ngrams(code: Code) -> Iterator[str]:
    """Yield every n-gram of 1 to `LONGEST` tokens, each once."""
    words = token_words(code)
    grams = set(words)
    for n in range(2, LONGEST + 1):
        grams.update(map(" ".join, zip(*(words[start:] for start in range(n)), strict=False)))
    yield from grams


def ngram_matrix(codes: Sequence[Code]) -> sparse.csr_matrix:
    """Return the n-grams of texts, one row each of length 1; presence counts, not frequency.

    Returns:
        float64 [n, COLUMNS], sparse.
    """
    hashed = FeatureHasher(COLUMNS, input_type="string", alternate_sign=False).transform(map(token_ngrams, codes))
    hashed.data[:] = 1.0
    norms = np.sqrt(np.maximum(1.0, np.asarray(hashed.sum(axis=1)).ravel()))
    return sparse.csr_matrix(sparse.diags_array(1 / norms) @ hashed)
