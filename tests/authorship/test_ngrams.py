"""n-grams of characters and tokens."""

import numpy as np

from assay.authorship import code_of, ngram_matrix
from assay.authorship.ngrams import COLUMNS, character_ngrams, token_ngrams


def test_the_n_grams_of_characters_keep_white_space():
    assert list(character_ngrams("a b")) == ["a", " ", "b", "a ", " b", "a b"]


def test_literals_and_long_numbers_are_replaced_by_their_kind():
    words = list(token_ngrams(code_of("x = 'text'\ny = 12345\n", "python")))
    assert {"<literal>", "<number>", "= <literal>"} <= set(words)
    assert not any("text" in word or "12345" in word for word in words)


def test_each_half_of_a_row_has_length_one_and_an_empty_text_has_none():
    texts = ["x = 1\n", "", "# only a comment\n"]
    matrix = ngram_matrix(texts, [code_of(text, "python") for text in texts])
    halves = [matrix[:, :COLUMNS], matrix[:, COLUMNS:]]
    lengths = np.array([np.sqrt(np.asarray(half.multiply(half).sum(axis=1)).ravel()) for half in halves])
    np.testing.assert_allclose(lengths, [[1, 0, 1], [1, 0, 0]])
