import numpy as np
import pytest
import torch
from naive import columns_of
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from assay.errors import ModelError
from assay.models import ModelSettings, forward, transformers_backend, windowed
from assay.models.forward import Forward
from assay.models.loading import Checkpoint
from assay.models.transformers_backend import TransformersModel
from support.tiny_models import CONTEXT, TEXTS, byte_tokenizer, tiny

WIDE = 20_000


class LargestTensor(TorchDispatchMode):
    """The number of elements of the largest floating tensor that any operation gave."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        for value in tree_leaves(result):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                self.elements = max(self.elements, value.numel())
        return result


def opened(model, **settings):
    return TransformersModel(Checkpoint("tiny", model, byte_tokenizer(), ()), ModelSettings(**settings))


@pytest.mark.parametrize("family", ["llama", "gemma2", "gpt-2", "codegen"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_logits_of_a_batch_never_exist_all_at_once(monkeypatch, family, dtype):
    """Of 8 texts x 63 tokens x 20000 logits no more than the piece that was allowed is there at any time."""
    piece = 10 * WIDE
    monkeypatch.setattr(forward, "CPU_LOGITS", piece)
    monkeypatch.setattr(forward, "CPU_ELEMENTS", piece // 4)
    model = opened(tiny(family, vocab_size=WIDE).to(dtype), batch_tokens=10**6)
    assert model.forward.chunked
    texts = [f"{index}" * CONTEXT for index in range(8)]
    with LargestTensor() as largest:
        found = list(model.token_statistics(texts))
    assert [len(statistic) for statistic in found] == [CONTEXT - 1] * 8
    weights = WIDE * 32  # the output layer's own matrix, which a view of may pass by
    assert largest.elements <= max(piece, weights) < 8 * (CONTEXT - 1) * WIDE / 10


@pytest.mark.parametrize("rows", [1, 7, 10**6])
def test_the_size_of_the_pieces_changes_nothing(monkeypatch, rows):
    model = opened(tiny("llama"))
    whole = list(model.token_statistics(TEXTS))
    monkeypatch.setattr(forward, "CPU_LOGITS", rows * model.vocabulary_size)
    for found, expected in zip(model.token_statistics(TEXTS), whole, strict=True):
        np.testing.assert_allclose(columns_of(found), columns_of(expected), rtol=0, atol=1e-5)


def doubled(model):
    """A model that does to its logits what no configuration says."""
    own = model.forward

    def run(*arguments, **named):
        output = own(*arguments, **named)
        output.logits = output.logits * 2
        return output

    model.forward = run
    return model


def test_a_head_that_does_more_than_its_configuration_says_is_run_as_the_model_runs_it():
    model = opened(doubled(tiny("llama")))
    assert not model.forward.chunked
    with torch.inference_mode():
        ids = torch.tensor([byte_tokenizer()("x = 1")["input_ids"]])
        log_p = model.checkpoint.model(ids).logits[0, :-1].log_softmax(-1)
    found = next(model.token_statistics(["x = 1"]))
    np.testing.assert_allclose(found.log_probs, log_p.gather(1, ids[0, 1:, None])[:, 0], atol=1e-5)


def test_a_model_that_gives_the_logits_of_a_whole_batch_gets_small_batches(monkeypatch):
    monkeypatch.setattr(transformers_backend, "CPU_WHOLE", 40 * WIDE)
    monkeypatch.setattr(forward, "CPU_ELEMENTS", WIDE)
    whole, rows = opened(doubled(tiny("llama", vocab_size=WIDE))), opened(tiny("llama", vocab_size=WIDE))
    assert (whole.budget.tokens, rows.budget.tokens) == (40, windowed.CPU_BATCH_TOKENS)
    with LargestTensor() as largest:
        list(whole.token_statistics(["x" * 30] * 8))
    assert largest.elements <= 40 * WIDE


def test_both_ways_give_the_same_statistics(monkeypatch):
    quick = opened(tiny("gemma2"))
    monkeypatch.setattr(forward, "_head", lambda _model: None)
    slow = opened(tiny("gemma2"))
    assert (quick.forward.chunked, slow.forward.chunked) == (True, False)
    for entry, other in zip(quick.token_statistics(TEXTS), slow.token_statistics(TEXTS), strict=True):
        np.testing.assert_allclose(columns_of(entry), columns_of(other), rtol=0, atol=1e-5)


def test_a_decoder_with_another_interface_is_run_as_the_model_runs_it(monkeypatch):
    def refuse(_self, _ids):
        raise TypeError("another interface")

    monkeypatch.setattr(Forward, "_hidden", refuse)
    model = opened(tiny("llama"))
    assert not model.forward.chunked
    assert len(next(model.token_statistics(["x = 1"]))) == 4


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused_at_once(poison):
    model = tiny("llama")
    with torch.no_grad():
        model.model.layers[0].mlp.down_proj.weight[3, 5] = poison
    with pytest.raises(ModelError, match="tiny: the model's logits are not finite") as caught:
        opened(model)
    assert "\n" not in str(caught.value)


def test_the_vocabulary_is_as_large_as_the_logits_are():
    assert opened(tiny("llama", vocab_size=512)).vocabulary_size == 512


def test_no_rows_asked_for_give_no_columns():
    found = Forward(tiny("llama")).statistics(
        torch.zeros(1, 3, dtype=torch.int64), *[torch.zeros(0, dtype=torch.int64)] * 2
    )
    assert found.shape == (6, 0)
