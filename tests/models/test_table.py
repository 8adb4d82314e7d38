import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import naive_column

from assay.errors import ModelError
from assay.types import Generator, TokenScorer
from support.table_model import TableModel

CODE = ["def f(x):\n    return x\n", "def g(x):\n    return x + 1\n"]


def one(model, text):
    return next(model.token_statistics([text]))


def test_it_is_a_scorer_and_a_generator():
    model = TableModel.uniform(10)
    assert isinstance(model, TokenScorer)
    assert isinstance(model, Generator)


@given(st.integers(2, 300), st.text(min_size=2, max_size=20))
def test_a_uniform_model_has_the_perplexity_of_its_vocabulary(size, text):
    statistics = one(TableModel.uniform(size), text)
    assert math.exp(-statistics.log_probs.mean(dtype="f8")) == pytest.approx(size, rel=1e-5)
    assert (statistics.ranks == 1).all()
    assert np.allclose(statistics.entropy, math.log(size))
    assert np.allclose(statistics.variance, 0)
    assert np.allclose(statistics.tail_mass, 0.5 / size)


def test_probabilities_are_smoothed_counts():
    model = TableModel(["a", "b", "c"], {(0,): {1: 3, 2: 1}}, order=2, smoothing=1.0, units="characters")
    assert model.probabilities([0]) == pytest.approx([1 / 7, 4 / 7, 2 / 7])
    assert model.probabilities([1]) == pytest.approx([1 / 3] * 3)
    assert one(model, "ab").log_probs == pytest.approx([math.log(4 / 7)])


def test_the_six_numbers_are_their_definitions():
    model = TableModel.trained(CODE, order=2, smoothing=0.1)
    statistics = one(model, CODE[1])
    ids = model.encode(CODE[1])
    for place, token in enumerate(ids[1:]):
        expected = naive_column(np.log(model.probabilities(ids[: place + 1])), token)
        found = [
            getattr(statistics, name)[place]
            for name in ("log_probs", "ranks", "entropy", "variance", "tail_mass", "top_log_probs")
        ]
        assert found == pytest.approx(expected, rel=1e-5)


@given(st.lists(st.integers(0, 2), max_size=6), st.integers(1, 4))
def test_probabilities_sum_to_one_and_see_no_further_back_than_the_order(before, order):
    model = TableModel.trained(["abcabcacb" * 3], order=order, units="characters", smoothing=0.5)
    assert model.probabilities(before).sum() == pytest.approx(1)
    seen = before[len(before) - order + 1 :] if order <= len(before) else before
    assert (model.probabilities([2, *before]) == model.probabilities([1, *before])).all() or len(before) < order - 1
    assert (model.probabilities(before) == model.probabilities(seen)).all()


def test_what_it_reads_twice_it_knows_twice_as_well():
    """The log-odds of a continuation read k times against one never read grow with k: (k + a) / a."""
    for k in (1, 2, 7):
        model = TableModel.trained(["ab"] * k + ["c"], order=2, units="characters", smoothing=0.25)
        a, b, c = (model.encode(letter)[0] for letter in "abc")
        p = model.probabilities([a])
        assert p[b] / p[c] == pytest.approx((k + 0.25) / 0.25)


def test_a_piece_outside_the_vocabulary_is_the_unknown_token():
    model = TableModel.trained(CODE)
    assert model.encode("never_read") == [0]
    assert len(one(model, "never_read never_read")) == 2


def test_texts_without_a_prediction_have_no_statistics():
    assert [len(found) for found in TableModel.trained(CODE).token_statistics(["", "x", "x y"])] == [0, 0, 2]


def test_what_it_has_read_is_likelier_than_what_it_has_not():
    model = TableModel.trained(CODE)
    assert one(model, CODE[0]).log_probs.mean() > one(model, "while True:\n    break\n").log_probs.mean()


@given(st.text(max_size=40))
def test_pieces_joined_are_the_text_and_offsets_point_at_them(text):
    for units in ("words", "characters"):
        model = TableModel.trained([text], units=units)
        statistics = one(model, text)
        assert (
            "".join(text[start:stop] for start, stop in statistics.offsets)
            == text[statistics.offsets[0][0] if len(statistics) else len(text) :]
        )


def test_every_text_asked_for_is_listed():
    model = TableModel.uniform(5)
    list(model.token_statistics(["ab", "cd", "ab"]))
    assert model.scored == ["ab", "cd", "ab"]


def test_greedy_continues_with_the_likeliest_token():
    assert list(TableModel.trained(CODE).generate(["def f"], max_new_tokens=5)) == ["(x):\n    "]


def test_a_continuation_ends_before_the_stop_string():
    assert list(TableModel.trained(CODE).generate(["def f"], max_new_tokens=50, stop=["\n", ":"])) == ["(x)"]


def test_sampling_is_repeatable_and_follows_the_seed():
    model = TableModel.uniform(50)
    first = list(model.generate(["a", "a"], max_new_tokens=20, temperature=1.0, seed=1))
    assert first == list(model.generate(["a", "a"], max_new_tokens=20, temperature=1.0, seed=1))
    assert first != list(model.generate(["a", "a"], max_new_tokens=20, temperature=1.0, seed=2))
    assert first[0] != first[1]


def test_top_p_keeps_the_likeliest_tokens_only():
    model = TableModel(["a", "b", "c"], {(): {0: 90, 1: 9}}, order=1, smoothing=0.5, units="characters")
    assert next(model.generate(["a"], max_new_tokens=200, temperature=1.0, top_p=0.5)) == "a" * 200
    assert "c" not in next(model.generate(["a"], max_new_tokens=200, temperature=1.0, top_p=0.98))


def test_digests_tell_models_and_tokenizers_apart():
    one_read, two_read = TableModel.trained(CODE), TableModel.trained(CODE * 2)
    assert one_read.tokenizer_digest == two_read.tokenizer_digest
    assert one_read.digest != two_read.digest
    assert one_read.digest == TableModel.trained(CODE).digest


@pytest.mark.parametrize(
    ("change", "message"),
    [({"vocabulary": []}, "empty vocabulary"), ({"order": 0}, "order 0"), ({"smoothing": 0.0}, "smoothing 0.0")],
)
def test_a_table_that_defines_no_distribution_is_refused(change, message):
    with pytest.raises(ModelError, match=message):
        TableModel(**({"vocabulary": ["a"], "counts": {}} | change))
