import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import naive_column

from assay.errors import ModelError
from assay.models import TableModel
from assay.types import Generator, TokenScorer

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
