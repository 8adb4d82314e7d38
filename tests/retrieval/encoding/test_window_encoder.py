"""Several vectors of a document: the windows are its tokens, and a short fragment is near one of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.retrieval.encoding import document_vectors, for_queries, open_encoder
from assay.retrieval.encoding.lexemes import code_starts
from assay.retrieval.encoding.windows import MOST_WINDOWS, WIDTH, windows_of
from assay_lab.clones import rename_all


@pytest.fixture(scope="module")
def encoder():
    return open_encoder("builtin:windows")


def test_a_text_of_one_window_has_none():
    assert windows_of("a " * WIDTH) == []
    assert windows_of("") == []
    assert len(windows_of("a " * (WIDTH + 1))) == 2


@given(st.integers(WIDTH + 1, 5000))
def test_windows_cover_every_token_and_are_few(count):
    windows = windows_of(" ".join(f"n{number}" for number in range(count)))
    names = [window.split() for window in windows]
    assert {name for window in names for name in window} == {f"n{number}" for number in range(count)}
    assert len({len(window) for window in names}) == 1
    assert 2 <= len(windows) <= MOST_WINDOWS
    assert len(names[0]) == WIDTH or count > WIDTH * MOST_WINDOWS / 2


def test_comments_are_no_tokens_of_a_window():
    text = '# a comment of many words\n"""A docstring."""\nx = "text"  # more\n'
    assert [text[start:][:1] for start in code_starts(text)] == ["x", "=", '"']


def test_a_document_has_the_vector_of_its_text_and_those_of_its_windows(encoder):
    long = "\n".join(f"value_{number} = read({number}, other[{number}])" for number in range(12))
    one, several = document_vectors(encoder, ["x = 1", long])
    np.testing.assert_array_equal(one, encoder.encode(["x = 1"]))
    np.testing.assert_array_equal(several, encoder.encode([long, *windows_of(long)]))
    assert document_vectors(encoder, []) == []
    whole = open_encoder("builtin:fragments")
    assert [vectors.shape for vectors in document_vectors(whole, ["x", long])] == [(1, 384), (1, 384)]
    assert encoder.digest != whole.digest


def test_a_short_renamed_fragment_is_nearer_to_a_window_than_to_the_whole(encoder):
    lines = [f"    if rows[{n}].total > limit_{n} and not seen: count += rows[{n}].price * {n}" for n in range(5)]
    other = "    for name in sorted(names): print(name.upper(), file=sink)"
    document = "def report(rows, names, sink):\n" + "\n".join([*lines, other, *lines[::-1]])
    query = for_queries(encoder).encode([rename_all(other, "python", seed=1)])[0]
    (vectors,) = document_vectors(encoder, [document])
    assert (vectors[1:] @ query).max() > 1.5 * (vectors[0] @ query)
