"""Exact containment of shingles, against plain sets."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evaluation import SHINGLE
from assay.evaluation.near_duplicates import ShingleIndex, shingles

# pieces of one text, and texts of few distinct words: both share shingles
WORDS = ["a", "b", "c", "(", ")", "=", "1", "foo"]
WHOLE = [f"w{i}" for i in range(30)]
PIECE = st.tuples(st.integers(0, 29), st.integers(0, 29)).map(lambda ends: WHOLE[min(ends) : max(ends) + 1])
TEXTS = st.lists((st.lists(st.sampled_from(WORDS), max_size=25) | PIECE).map(" ".join), max_size=6)


def naive(text):
    """The set of 5-grams of code tokens."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    return {tuple(tokens[i : i + SHINGLE]) for i in range(len(tokens) - SHINGLE + 1)}


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_containment_equals_that_of_sets(indexed, others):
    expected = [
        max((len(naive(text) & naive(other)) for other in others), default=0) / max(1, len(naive(text)))
        for text in indexed
    ]
    assert ShingleIndex(indexed).largest_containment(others) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(TEXTS, st.sampled_from([0.2, 0.5, 0.8, 1.0]))
def test_no_two_kept_texts_are_near_duplicates_and_each_dropped_one_has_a_kept_near_duplicate(texts, threshold):
    kept = ShingleIndex(texts).first_of_each_kind(threshold)

    def near(i, j):
        smaller = max(1, min(len(naive(texts[i])), len(naive(texts[j]))))
        return len(naive(texts[i]) & naive(texts[j])) >= threshold * smaller

    for i in range(len(texts)):
        assert kept[i] != any(near(i, j) for j in range(i) if kept[j])


def test_layout_does_not_count():
    crc_of = {}
    one = shingles("def f(a, b):\n    return a + b\n", crc_of)
    assert np.array_equal(one, shingles("def  f( a,b ) :\n\n\treturn a+b", crc_of))


def test_a_function_inside_a_long_file_is_contained_whole():
    function = "def mean(values):\n    total = sum(values)\n    return total / len(values)\n"
    file = "".join(f"def other{i}(x):\n    return x * {i}\n\n" for i in range(200)) + function
    assert ShingleIndex([function]).largest_containment([file]).tolist() == [1.0]


def test_the_first_of_equal_texts_is_kept():
    text = "for item in items: print(item, end='')"
    assert ShingleIndex([text, text.replace(" ", "  "), "x = 1 + 2 * 3 - y"]).first_of_each_kind(0.5).tolist() == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("order", [1, -1], ids=["long-first", "short-first"])
def test_a_piece_of_a_kept_text_and_a_text_around_a_kept_piece_are_dropped(order):
    long, piece = " ".join(f"w{i}" for i in range(60)), " ".join(f"w{i}" for i in range(20, 30))
    assert ShingleIndex([long, piece][::order]).first_of_each_kind(0.5).tolist() == [True, False]


def test_a_text_too_short_for_a_shingle_is_near_nothing():
    index = ShingleIndex(["a b", "a b"])
    assert index.largest_containment(["a b c d e f"]).tolist() == [0.0, 0.0]
    assert index.first_of_each_kind(0.5).tolist() == [True, True]


def test_half_of_a_surrogate_pair_is_a_token_like_any_other():
    assert ShingleIndex(["a b \ud800 c d e"]).largest_containment(["x a b \ud800 c d e"]).tolist() == [1.0]
