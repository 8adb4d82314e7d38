"""What every family of code models must hold to, whatever its attention, its positions and its head."""

import numpy as np
import pytest
import torch
from naive import columns_of, naive_columns, near_ties

from assay.models import open_model
from support.tiny_models import CONTEXT, FAMILIES, TEXTS, byte_tokenizer, tiny

TEMPLATES = {"bos": "<s> $A", "no-bos": None}
STRIDE = 24

EXACT = {"rtol": 2e-5, "atol": 2e-5}
"""float32 against float64 of the same logits, which one more float32 pass gave: logits of about 8 have
steps of 1e-6, and a softmax adds up 300 of them."""

MANY = [f"def f_{index}(x):\n    return x * {index**3} + {'y' * (index % 23)}\n" for index in range(32)]


@pytest.fixture(scope="module", params=list(FAMILIES))
def family(request):
    return request.param


@pytest.fixture(scope="module")
def folder(family, tmp_path_factory):
    """A checkpoint of the family on disk; every second family has a tokenizer that puts a BOS before a text."""
    folder = tmp_path_factory.mktemp(family)
    tiny(family).save_pretrained(folder)
    byte_tokenizer(list(TEMPLATES.values())[list(FAMILIES).index(family) % 2]).save_pretrained(folder)
    return folder


def reference(model, texts, **options):
    """METHODS §0 from the model's own logits, one text and one window at a time."""
    for encoded in model.encoder.encode(texts):
        yield naive_columns(
            model.checkpoint.model,
            encoded.ids,
            context=model.context,
            stride=model.stride,
            first=encoded.first,
            **options,
        )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_statistics_are_their_definitions_on_the_models_own_logits(folder, dtype):
    """One window a batch, so that the model's own pass sees the very same numbers, in bfloat16 too."""
    model = open_model(str(folder), dtype=dtype, stride=STRIDE, batch_tokens=1)
    assert model.context == CONTEXT
    assert model.forward.chunked, "the fast way to the logits disagrees with the model"
    ties = reference(model, TEXTS, column=near_ties, width=1)
    for statistics, expected, near in zip(model.token_statistics(TEXTS), reference(model, TEXTS), ties, strict=True):
        found = columns_of(statistics)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found[[0, 2, 3, 4, 5]], expected[[0, 2, 3, 4, 5]], **EXACT)
        # on some processors two passes in float32 round logits that all but tie to another order
        allowed = near[0] if dtype == "float32" else 0
        assert (np.abs(found[1] - expected[1]) <= allowed).all(), "ranks are exact but for ties"


def test_a_batch_of_one_equals_a_batch_of_thirty_two(folder):
    """Padding never changes a value, and neither does what else is in the batch."""
    alone = open_model(str(folder), batch_tokens=1)
    together = open_model(str(folder), batch_tokens=10**6)
    for statistics, many in zip(alone.token_statistics(MANY), together.token_statistics(MANY), strict=True):
        np.testing.assert_allclose(
            columns_of(statistics)[[0, 2, 3, 4, 5]], columns_of(many)[[0, 2, 3, 4, 5]], rtol=0, atol=1e-5
        )
        np.testing.assert_array_equal(statistics.token_ids, many.token_ids)


def test_in_bfloat16_a_batch_changes_no_more_than_rounding_does(folder):
    """The same text in two shapes of matrices: eight bits of precision, log-probabilities of about -8."""
    alone = open_model(str(folder), dtype="bfloat16", batch_tokens=1)
    together = open_model(str(folder), dtype="bfloat16", batch_tokens=10**6)
    exact = open_model(str(folder), dtype="float32")
    rounding, batching = [], []
    for entry, many, true in zip(*(model.token_statistics(MANY) for model in (alone, together, exact)), strict=True):
        rounding.append(np.abs(entry.log_probs - true.log_probs))
        batching.append(np.abs(entry.log_probs - many.log_probs))
    assert np.concatenate(batching).mean() <= np.concatenate(rounding).mean()


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_bos_before_the_text_scores_the_first_token_too(template, tmp_path):
    tiny("llama").save_pretrained(tmp_path)
    byte_tokenizer(TEMPLATES[template]).save_pretrained(tmp_path)
    model = open_model(str(tmp_path))
    lengths = [len(statistics) for statistics in model.token_statistics(TEXTS)]
    tokens = [len(text.encode()) for text in TEXTS]
    assert lengths == [max(0, count - (template == "no-bos")) for count in tokens]


def test_soft_capping_is_part_of_gemmas_distribution():
    """A cap of 5 leaves no probability ratio above e^10."""
    capped, free = tiny("gemma2"), tiny("gemma2", final_logit_softcapping=None)
    ids = torch.arange(40)[None]
    with torch.inference_mode():
        assert capped(ids).logits.abs().max() <= 5 < free(ids).logits.abs().max()
