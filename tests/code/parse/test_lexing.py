"""Lexemes of any language."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from assay.code.parse.lexing import lexeme_spans, lexemes


def test_words_numbers_and_single_marks():
    assert lexemes("x1 = 1.5e-3 + größe->y;\n") == ["x1", "=", "1.5e-3", "+", "größe", "-", ">", "y", ";"]


def test_code_that_breaks_off_inside_a_string_has_lexemes_too():
    assert lexemes("print('hello wor") == ["print", "(", "'", "hello", "wor"]


@given(st.text())
def test_lexemes_hold_all_that_is_visible_and_nothing_twice(text):
    spans = lexeme_spans(text)
    assert "".join(text[start:end] for start, end in spans) == "".join(text.split())
    assert all(first[1] <= then[0] for first, then in pairwise(spans))
