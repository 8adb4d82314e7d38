"""n-grams see names, words of names see through their case, and code without style sees neither."""

import numpy as np
import pytest

from assay.authorship.normalising import code_of
from assay.authorship.wording import bare_matrix, ngram_matrix, vocabulary_matrix

SNAKE = code_of("def f(max_length):\n    return max_length + 1\n", "python")
CAMEL = code_of("def f(maxLength):\n\n    return maxLength+1  # why\n", "python")
OTHER = code_of("def f(x):\n    return x + 1\n", "python")


def rows(matrix):
    return np.asarray(matrix.todense())


def test_the_words_of_a_name_do_not_depend_on_its_case():
    snake, camel, other = rows(vocabulary_matrix([SNAKE, CAMEL, OTHER]))
    np.testing.assert_array_equal(snake, camel)
    assert not np.array_equal(snake, other)


def test_code_without_style_does_not_depend_on_names_and_layout():
    snake, camel, other = rows(bare_matrix([SNAKE, CAMEL, OTHER]))
    np.testing.assert_array_equal(snake, camel)
    np.testing.assert_array_equal(snake, other)


@pytest.mark.parametrize("matrix", [ngram_matrix, bare_matrix, vocabulary_matrix])
def test_rows_have_length_one_and_an_empty_text_has_an_empty_row(matrix):
    full, empty = rows(matrix([SNAKE, code_of("", "python")]))
    assert np.linalg.norm(full) == pytest.approx(1)
    assert not empty.any()
