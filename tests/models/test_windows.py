import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ModelError
from assay.models.windows import DEFAULT_STRIDE, resolve_stride, windows


def naive_windows(length, context, stride, first):
    """Token → (first token seen, window's end), token by token: the first window that can predict it scores it."""
    seen = {}
    for start in range(0, length, stride):
        for token in range(start + 1, min(start + context, length)):
            if token >= first and token not in seen:
                seen[token] = (start, min(start + context, length))
    return seen


@st.composite
def settings(draw):
    context = draw(st.integers(2, 40))
    return draw(st.integers(0, 200)), context, draw(st.integers(1, context - 1)), draw(st.integers(1, context - 1))


@given(settings())
def test_windows_score_what_the_naive_loop_scores(case):
    length, context, stride, first = case
    found = {}
    for window in windows(length, context=context, stride=stride, first=first):
        for token in range(window.first, window.stop):
            assert token not in found, "scored twice"
            found[token] = (window.start, window.stop)
    assert found == naive_windows(length, context, stride, first)


@given(settings())
def test_every_token_but_the_first_is_scored_exactly_once(case):
    length, context, stride, first = case
    scored = [
        token
        for window in windows(length, context=context, stride=stride, first=first)
        for token in range(window.first, window.stop)
    ]
    assert scored == list(range(first, length))


@given(settings())
def test_no_window_is_longer_than_the_context_and_each_predicts_from_something(case):
    length, context, stride, first = case
    for window in windows(length, context=context, stride=stride, first=first):
        assert window.stop - window.start <= context
        assert window.first > window.start
        assert window.inputs >= window.scored


@given(settings())
def test_after_the_first_window_every_token_sees_at_least_context_minus_stride_tokens(case):
    length, context, stride, first = case
    for window in windows(length, context=context, stride=stride, first=first):
        if window.start:
            assert window.first - window.start >= context - stride


def test_a_text_that_fits_is_one_window():
    assert [(w.start, w.first, w.stop) for w in windows(1024, context=1024, stride=512)] == [(0, 1, 1024)]


def test_the_stride_is_512_unless_that_leaves_no_overlap():
    assert resolve_stride(None, 2048) == DEFAULT_STRIDE == 512
    assert resolve_stride(None, 512) == 256
    assert resolve_stride(None, 2) == 1


@pytest.mark.parametrize("stride", [0, -1, 64, 100])
def test_a_stride_that_leaves_no_overlap_is_refused(stride):
    with pytest.raises(ModelError, match=rf"stride {stride} with a context of 64: expected 1 to 63"):
        resolve_stride(stride, 64)


def test_a_context_of_one_token_predicts_nothing():
    with pytest.raises(ModelError, match="expected at least 2"):
        resolve_stride(None, 1)
