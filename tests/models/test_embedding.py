"""Hidden states: those of transformers, whatever the batch, and from the cache the second time."""

import numpy as np
import pytest
import torch

from assay.errors import ModelError
from assay.models import CachedEmbedder, ModelSettings, StatisticsCache, TransformersModel
from assay.models.cached_models import unpack_vector
from assay.models.loading import Checkpoint
from assay.types import Embedder
from support.tiny_models import byte_tokenizer, tiny

TEXTS = ["x = 1", "def f(a, b):\n    return a + b\n", "y", "x = 1"]


@pytest.fixture(params=["llama", "gpt-2", "gemma2", "opt", "deepseek-v3"])
def model(request):
    return TransformersModel(
        Checkpoint(request.param, tiny(request.param), byte_tokenizer(), ()), ModelSettings(max_length=24)
    )


def by_transformers(model, text, layer):
    ids = torch.tensor([byte_tokenizer()(text)["input_ids"][-24:]])
    with torch.inference_mode():
        return model.checkpoint.model(input_ids=ids, output_hidden_states=True).hidden_states[layer][0].numpy()


@pytest.mark.parametrize("layer", [0, 1, -1])
def test_the_vector_is_the_hidden_state_of_transformers(model, layer):
    last = model.hidden_states(TEXTS, layer=layer)
    mean = model.hidden_states(TEXTS, layer=layer, pooling="mean")
    for index, text in enumerate(TEXTS):
        states = by_transformers(model, text, layer)
        np.testing.assert_allclose(last[index], states[-1], atol=2e-5)
        np.testing.assert_allclose(mean[index], states.mean(0), atol=2e-5)


def test_a_model_of_transformers_is_an_embedder(model):
    assert isinstance(model, Embedder)
    assert model.hidden_states(TEXTS).dtype == np.float32


def test_no_texts_give_no_rows(model):
    assert model.hidden_states([]).shape[0] == 0


def test_a_text_without_a_token_is_refused(model):
    with pytest.raises(ModelError, match="text 1 has no token"):
        model.hidden_states(["a", ""])


def test_a_layer_that_is_not_there_is_refused(model):
    with pytest.raises(ModelError, match="layer 99: expected"):
        model.hidden_states(["a"], layer=99)


class Counting:
    name, digest = "counting", "0" * 64

    def __init__(self):
        self.requests = []

    def hidden_states(self, texts, *, layer=-1, pooling="last"):
        self.requests += texts
        return np.array([[len(text), layer, pooling == "mean"] for text in texts], np.float32).reshape(-1, 3)


def test_a_vector_is_computed_once_for_each_layer_and_pooling(tmp_path):
    inner = Counting()
    with StatisticsCache(tmp_path / "cache.sqlite") as cache:
        embedder = CachedEmbedder(inner, cache)
        first = embedder.hidden_states(TEXTS)
        np.testing.assert_array_equal(embedder.hidden_states(TEXTS), first)
        assert sorted(inner.requests) == sorted(set(TEXTS))
        assert embedder.hidden_states(["y"], layer=2, pooling="mean").tolist() == [[1, 2, 1]]
        assert embedder.hidden_states([]).shape == (0, 3)


def test_a_damaged_vector_is_not_read():
    with pytest.raises(ValueError, match="checksum"):
        unpack_vector(b"12345678")
