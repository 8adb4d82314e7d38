"""What a glance from afar sees of a text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evaluation.shape import LONGEST_TEXT, lexical_shape


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300).map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_every_text_has_a_finite_shape(text):
    shape = lexical_shape(text)
    assert shape.shape == (23,)
    assert np.isfinite(shape).all()


def test_half_of_these_characters_are_digits():
    assert lexical_shape("a1b2")[11] == 0.5


def test_a_repetitive_text_compresses_better():
    varied = "".join(map(chr, np.random.default_rng(0).integers(33, 126, 500)))
    assert lexical_shape("ab" * 250)[7] < lexical_shape(varied)[7]


def test_the_length_is_that_of_the_whole_text():
    assert lexical_shape("x" * 3 * LONGEST_TEXT)[0] == pytest.approx(np.log1p(3 * LONGEST_TEXT))


def test_a_lone_surrogate_is_no_error():
    assert np.isfinite(lexical_shape("\ud800 broken")).all()


@pytest.mark.parametrize("text", ["if x:\n\treturn", "if x:\r\n    return", "if x: \n    return"])
def test_tabs_line_ends_and_trailing_spaces_show(text):
    assert (lexical_shape(text) != lexical_shape("if x:\n    return")).any()
