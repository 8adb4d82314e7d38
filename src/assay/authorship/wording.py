"""n-grams of tokens and words of names, hashed into sparse matrices."""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

from assay.authorship.normalising import Code, Kind

COLUMNS = 2**16
LONGEST = 3
"""Tokens of the longest n-gram."""

BARE_LONGEST = 5
"""The same where all names are alike: short n-grams would say little."""

_PLAIN_NUMBER = 2
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def token_words(code: Code, *, name: str | None = None) -> list[str]:
    """Return the tokens with literals and long numbers replaced by their kind: their content is the task's.

    Args:
        code: the tokens.
        name: word that stands for every name; None leaves names as they are.
    """
    return [
        "<literal>"
        if token.kind is Kind.LITERAL
        else "<number>"
        if token.kind is Kind.NUMBER and len(token.text) > _PLAIN_NUMBER
        else name
        if name is not None and token.kind is Kind.NAME
        else token.text
        for token in code.tokens
    ]


def token_ngrams(words: Sequence[str], longest: int = LONGEST) -> Iterator[str]:
    """Yield every n-gram of 1 to `longest` tokens, each once."""
    grams = set(words)
    for n in range(2, longest + 1):
        # n shifted copies of the words, read in step, are the n-grams
        grams.update(map(" ".join, zip(*(words[start:] for start in range(n)), strict=False)))
    yield from grams


def name_words(code: Code) -> Iterator[str]:
    """Yield the words of all names in lower case, each once: `maxLength` and `max_length` have the same ones."""
    names = {token.text for token in code.tokens if token.kind is Kind.NAME}
    yield from {word.lower() for name in names for word in _WORD.findall(name)}


def ngram_matrix(codes: Sequence[Code]) -> sparse.csr_matrix:
    """Return the n-grams of texts, one row each of length 1; presence counts, not frequency.

    Returns:
        float64 [n, COLUMNS], sparse.
    """
    return _hashed(token_ngrams(token_words(code)) for code in codes)


def bare_matrix(codes: Sequence[Code]) -> sparse.csr_matrix:
    """Return the n-grams of texts without style: every name is one word, and there is no layout. As `ngram_matrix`."""
    return _hashed(token_ngrams(token_words(code, name="<name>"), BARE_LONGEST) for code in codes)


def vocabulary_matrix(codes: Sequence[Code]) -> sparse.csr_matrix:
    """Return the words of the names of texts. As `ngram_matrix`."""
    return _hashed(map(name_words, codes))


def _hashed(texts: Iterable[Iterable[str]]) -> sparse.csr_matrix:
    hashed = FeatureHasher(COLUMNS, input_type="string", alternate_sign=False).transform(texts)
    # an n-gram counts once however often it occurs, and rows of length 1 make long texts no heavier than short ones
    hashed.data[:] = 1.0
    norms = np.sqrt(np.maximum(1.0, np.asarray(hashed.sum(axis=1)).ravel()))
    return sparse.csr_matrix(sparse.diags_array(1 / norms) @ hashed)
