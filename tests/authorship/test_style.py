"""StyleFeatures are rates: they say how code is written and not how long it is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.authorship.normalising import code_of
from assay.authorship.style import FAMILIES, columns_of, feature_table, local_names, names
from assay.authorship.wording import ngram_matrix, token_words


def test_local_names_are_what_the_text_itself_assigns():
    code = code_of(
        "def task(given_name):\n    cnt = 0\n    for i, x in enumerate(given_name):\n        cnt += x.size\n", "python"
    )
    assert set(local_names(code)) == {"cnt", "i", "x"}


def test_local_names_of_declarations_in_c():
    assert set(local_names(code_of("int a; long total = 0; f(x); return y;", "cpp"))) == {"a", "total"}


def test_short_and_long_names_differ():
    short = names(code_of("a = 1\nb = a\n", "python"))
    long = names(code_of("total_count = 1\nmaximum_value = total_count\n", "python"))
    assert short["at most four letters"] == 1
    assert long["at most four letters"] == 0
    assert long["words"] == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_a_table_has_every_column_of_its_family(family):
    table = feature_table([code_of("x = 1\n", "python"), code_of("", "python")], family)
    assert table.shape == (2, len(columns_of(family)))


def test_layout_does_not_see_indentation_or_line_ends():
    first = feature_table([code_of("if x:\n\ty = 1\r\n", "python")], "layout")
    second = feature_table([code_of("if x:\n    y = 1\n", "python")], "layout")
    np.testing.assert_array_equal(first, second)


def test_tight_operators_are_irregular():
    table = feature_table([code_of("a=b\nc=d\n", "python"), code_of("a = b\nc = d\n", "python")], "layout")
    column = columns_of("layout").index("tight assignment")
    assert table[:, column].tolist() == [1, 0]


@given(st.text(max_size=200), st.sampled_from(["python", "java", None]))
def test_features_of_any_text_are_finite_or_absent(text, language):
    for family in FAMILIES:
        values = feature_table([code_of(text, language)], family)
        assert not np.isinf(values).any()


def test_long_numbers_and_literals_are_replaced_in_wording():
    assert token_words(code_of('x = "task" + 1000 + 1', "python")) == ["x", "=", "<literal>", "+", "<number>", "+", "1"]


def test_rows_of_the_ngram_matrix_have_length_one_or_are_empty():
    matrix = ngram_matrix([code_of("x = 1\n", "python"), code_of("", "python")])
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1))).ravel()
    assert norms[0] == pytest.approx(1, abs=1e-9)
    assert norms[1] == 0
    assert not math.isnan(norms[1])
