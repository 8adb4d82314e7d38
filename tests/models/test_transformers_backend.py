from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import columns_of, naive_columns, near_ties

from assay.errors import ModelError, SettingError
from assay.models import ModelSettings, windowed
from assay.models.generators import in_order, portions
from assay.models.loading import Checkpoint
from assay.models.transformers_backend import TransformersModel
from assay.types import Generator, TokenScorer
from support.tiny_models import CONTEXT, TEXTS, byte_tokenizer, tiny

LLAMA = tiny("llama")


def opened(template=None, model=LLAMA, **settings):
    return TransformersModel(Checkpoint("tiny", model, byte_tokenizer(template), ()), ModelSettings(**settings))


def one(model, text):
    return next(model.token_statistics([text]))


def test_it_is_a_scorer_and_a_generator():
    assert isinstance(opened(), TokenScorer)
    assert isinstance(opened(), Generator)


@st.composite
def window_settings(draw):
    context = draw(st.integers(2, 20))
    texts = draw(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=5))
    batch_tokens = draw(st.integers(1, 200))
    return texts, context, draw(st.integers(1, context - 1)), batch_tokens


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(window_settings())
def test_a_text_of_many_windows_has_what_a_naive_loop_over_windows_gives(case):
    texts, context, stride, batch_tokens = case
    model = opened(max_length=context, stride=stride, batch_tokens=batch_tokens)
    for text, statistics in zip(texts, model.token_statistics(texts), strict=True):
        ids = list(byte_tokenizer()(text)["input_ids"])
        assert statistics.token_ids.tolist() == ids[1:], "each token but the first is scored exactly once, in order"
        expected = naive_columns(LLAMA, ids, context=context, stride=stride, first=1)
        found, others = columns_of(statistics), [0, 2, 3, 4, 5]
        np.testing.assert_allclose(found[others], expected[others], rtol=2e-5, atol=2e-5)
        # on some processors two passes in float32 round logits that all but tie to another order
        ties = naive_columns(LLAMA, ids, context=context, stride=stride, first=1, column=near_ties, width=1)
        assert (np.abs(found[1] - expected[1]) <= ties[0]).all()


def test_with_a_bos_the_windows_still_score_every_token_once():
    model = opened("<s> $A", max_length=10, stride=3)
    text = "a text of more than ten tokens"
    statistics = one(model, text)
    expected = naive_columns(LLAMA, [0, *byte_tokenizer()(text)["input_ids"]], context=10, stride=3, first=1)
    assert len(statistics) == len(text)
    np.testing.assert_allclose(columns_of(statistics), expected, rtol=2e-5, atol=2e-5)


@given(st.text(max_size=30))
@settings(max_examples=40, deadline=None)
def test_every_offset_lies_in_the_text_and_together_they_spell_it(text):
    statistics = one(opened("<s> $A"), text)
    assert "".join(text[start:end] for start, end in np.unique(statistics.offsets, axis=0)) == text


def test_an_offset_spells_its_token():
    text = "naïve = 'größe 例 🙂'\n"
    statistics = one(opened("<s> $A"), text)
    tokenizer = byte_tokenizer()
    for token, (start, end) in zip(statistics.token_ids, statistics.offsets, strict=True):
        spelled = tokenizer(text[start:end])["input_ids"]
        assert end == start + 1
        assert token in spelled, "a byte of the character that stands there"


def test_a_token_of_several_characters_spans_them():
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens(["größe"])
    model = TransformersModel(Checkpoint("tiny", LLAMA, tokenizer, ()))
    statistics = one(model, "x größe = 1")
    start, end = statistics.offsets[statistics.token_ids.tolist().index(tokenizer.convert_tokens_to_ids("größe"))]
    assert "x größe = 1"[start:end] == "größe"


def test_results_come_in_the_order_of_the_texts_and_equal_texts_get_equal_values():
    found = list(opened().token_statistics(TEXTS))
    for text, statistics in zip(TEXTS, found, strict=True):
        assert statistics.token_ids.tolist() == byte_tokenizer()(text)["input_ids"][1:]
    np.testing.assert_array_equal(found[0].log_probs, found[-1].log_probs)


def test_no_texts_give_nothing():
    assert list(opened().token_statistics([])) == []
    assert list(opened().completed([])) == []


def test_every_index_is_completed_exactly_once():
    indexes = [index for batch in opened(batch_tokens=64).completed(TEXTS) for index, _ in batch]
    assert sorted(indexes) == list(range(len(TEXTS)))


def test_a_result_is_given_before_the_next_buffer_of_texts_is_read(monkeypatch):
    """However many texts there are, no more than a buffer of them is held, and the first results come early."""
    monkeypatch.setattr(windowed, "BUFFER_TEXTS", 3)
    model = opened()
    encoded = []
    encode = model.encoder.encode

    def watched(texts):
        encoded.extend(texts)
        return encode(texts)

    monkeypatch.setattr(model.encoder, "encode", watched)
    texts = [f"text {index}" for index in range(10)]
    results = model.token_statistics(texts)
    next(results)
    assert encoded == texts[:3]
    assert len(list(results)) == 9
    assert encoded == texts


def test_a_buffer_is_bounded_in_characters_too(monkeypatch):
    monkeypatch.setattr(windowed, "BUFFER_CHARACTERS", 10)
    texts = ["123456", "1234", "1", "a text longer than a whole buffer", "1", "2"]
    assert list(portions(texts, characters=10)) == [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 6)]
    assert [len(found) for found in opened().token_statistics(texts)] == [len(text) - 1 for text in texts]


def test_a_texts_arrays_are_its_own():
    """A result that is kept does not keep its batch or its buffer alive."""
    found = list(opened().token_statistics(TEXTS))
    for statistics in found:
        base = statistics.log_probs.base
        assert base is None or base.nbytes <= 6 * 4 * len(statistics)


class Starved:
    """A forward pass that runs out of memory on batches of more than `limit` tokens, padding included."""

    def __init__(self, forward, limit, error):
        self._forward, self._limit, self._error = forward, limit, error
        self.vocabulary_size = forward.vocabulary_size
        self.tokens = []

    def statistics(self, ids, positions, targets):
        self.tokens.append(ids.numel())
        if ids.numel() > self._limit:
            raise self._error
        return self._forward.statistics(ids, positions, targets)


ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: not enough memory: you tried to allocate 9"),
    RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
]


@pytest.mark.parametrize("error", ERRORS)
def test_out_of_memory_halves_the_batch_and_changes_no_result(error):
    texts = [f"x = {index}  # text" for index in range(16)] + TEXTS
    expected = list(opened().token_statistics(texts))
    model = opened(batch_tokens=10**6)
    model.forward = Starved(model.forward, 100, error)
    for found, wanted in zip(model.token_statistics(texts), expected, strict=True):
        np.testing.assert_array_equal(found.token_ids, wanted.token_ids)
        np.testing.assert_allclose(columns_of(found), columns_of(wanted), rtol=0, atol=1e-5)
    too_many = [tokens for tokens in model.forward.tokens if tokens > 100]
    assert len(too_many) > 1
    assert all(after <= before / 2 + 63 for before, after in pairwise(too_many)), "each time half of the windows"
    assert model.forward.tokens[: len(too_many)] == too_many, "once a batch fits, none is larger"


@pytest.mark.parametrize("error", ERRORS)
def test_a_window_that_does_not_fit_alone_is_one_line(error):
    model = opened()
    model.forward = Starved(model.forward, 0, error)
    with pytest.raises(ModelError, match=r"single sequence of 9 tokens.*smaller max_length or more memory") as caught:
        list(model.token_statistics(["ten tokens"]))
    assert "\n" not in str(caught.value)


def test_another_error_of_the_model_is_not_taken_for_lack_of_memory():
    model = opened()
    model.forward = Starved(model.forward, 0, RuntimeError("shapes differ"))
    with pytest.raises(RuntimeError, match="shapes differ"):
        list(model.token_statistics(["ten tokens"]))


def test_max_length_is_at_most_the_models_context():
    assert opened().context == CONTEXT
    assert opened(max_length=16).context == 16
    with pytest.raises(ModelError, match=f"max_length 65: expected 2 to {CONTEXT}"):
        opened(max_length=65)
    with pytest.raises(SettingError, match="max_length: received 1, expected at least 2"):
        opened(max_length=1)


def test_a_context_that_no_one_states_has_to_be_given():
    model = tiny("llama")
    model.config.max_position_embeddings = 0
    with pytest.raises(ModelError, match="states no context length: expected --model-option max-length=N"):
        opened(model=model)
    assert opened(model=model, max_length=8).context == 8


def test_a_tokenizer_may_state_the_context():
    model = tiny("llama")
    model.config.max_position_embeddings = 0
    tokenizer = byte_tokenizer()
    tokenizer.model_max_length = 24
    assert TransformersModel(Checkpoint("tiny", model, tokenizer, ())).context == 24


def test_a_context_full_of_special_tokens_is_refused():
    with pytest.raises(ModelError, match="context of 2 holds nothing beside the special tokens"):
        opened("<s> <pad> $A", max_length=2)


def test_a_token_without_an_embedding_is_refused_only_where_a_text_contains_it():
    """The tokenizers of Qwen2 and others have a few more tokens than the model has embeddings."""
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens([f"<extra {index}>" for index in range(100)])
    model = TransformersModel(Checkpoint("tiny", LLAMA, tokenizer, ()))
    assert len(one(model, "def f(x): return x <extra 0>")) > 10
    refused = r"tiny: a text contains '<extra 99>', token 358 .*, and the model has 300 embeddings"
    with pytest.raises(ModelError, match=refused):
        one(model, "def f(x): return x <extra 99>")
    with pytest.raises(ModelError, match=refused):
        list(model.generate(["<extra 99>"], max_new_tokens=1))


def test_an_unknown_bos_is_refused_with_those_there_are():
    with pytest.raises(SettingError, match="bos: received 'sometimes', expected auto, always, never"):
        opened(bos="sometimes")


def test_a_weight_that_makes_one_token_infinite_is_told_by_name():
    """The probe at loading may not meet it; the text does."""
    model = tiny("llama")
    with torch.no_grad():
        model.lm_head.weight[byte_tokenizer().convert_tokens_to_ids("x")] = 0
        model.model.embed_tokens.weight[byte_tokenizer().convert_tokens_to_ids("x")] = float("nan")
    with pytest.raises(ModelError, match="tiny: a token's log-probability is not finite"):
        list(opened(model=model).token_statistics(["xyz"]))


def test_streams_of_several_buffers_keep_the_order(monkeypatch):
    monkeypatch.setattr(windowed, "BUFFER_TEXTS", 2)
    model = opened(batch_tokens=8)
    found = list(in_order(model.completed(TEXTS)))
    assert [len(statistics) for statistics in found] == [max(0, len(text.encode()) - 1) for text in TEXTS]
