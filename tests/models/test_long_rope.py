import numpy as np
import pytest
from naive import columns_of

from assay.models import ModelSettings
from assay.models.batching import original_context
from assay.models.loading import Checkpoint
from assay.models.transformers_backend import TransformersModel
from support.tiny_models import byte_tokenizer, tiny

ORIGINAL = 16
LONG = {
    "rope_type": "longrope",
    "rope_theta": 10_000.0,
    "short_factor": [1.0] * 4,
    "long_factor": [4.0] * 4,
    "original_max_position_embeddings": ORIGINAL,
    "factor": 4.0,
}
PROMPTS = ["x =", "def f():", "# a prompt of more than sixteen tokens", "x = 12345678"]


@pytest.fixture(scope="module", params=["phi-3", "llama"])
def model(request):
    return tiny(request.param, rope_parameters=LONG, original_max_position_embeddings=ORIGINAL)


def opened(model, batch_tokens):
    return TransformersModel(Checkpoint("long", model, byte_tokenizer(), ()), ModelSettings(batch_tokens=batch_tokens))


def test_a_long_text_in_the_batch_changes_nothing_for_a_short_one(model):
    texts = ["short", "a text of more than sixteen tokens", "x" * 17, "x" * 18]
    alone = opened(model, 1).token_statistics(texts)
    together = opened(model, 10**6).token_statistics(texts)
    for single, many in zip(alone, together, strict=True):
        np.testing.assert_allclose(columns_of(single), columns_of(many), rtol=0, atol=1e-5)


def test_a_long_prompt_in_the_batch_changes_nothing_for_a_short_one(model):
    alone = opened(model, 1).generate(PROMPTS, max_new_tokens=8)
    together = opened(model, 10**6).generate(PROMPTS, max_new_tokens=8)
    assert list(alone) == list(together)


def test_the_border_is_where_the_configuration_says(model):
    assert original_context(model.config) == ORIGINAL


def test_a_model_with_one_kind_of_frequencies_has_no_border():
    assert original_context(tiny("llama").config) is None
    assert original_context(tiny("gpt-2").config) is None
