"""Observer and performer: alone with itself a model has its ordinary statistics, two have their cross-entropy."""

import numpy as np
import pytest
import torch

from assay.errors import ModelError
from assay.models import ModelSettings
from assay.models.loading import Checkpoint
from assay.models.transformers_backend import TransformersModel
from assay.types import TokenScorer
from assay_lab.methods.pair import ModelPair, crossed
from support.tiny_models import TEXTS, byte_tokenizer, tiny


def opened(family, tmp_path, tokenizer=None, **settings):
    folder = tmp_path / family
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(family)
    checkpoint = Checkpoint(family, tiny(family), tokenizer or byte_tokenizer(), (folder,))
    return TransformersModel(checkpoint, ModelSettings(**settings))


def test_a_model_with_itself_has_its_own_statistics(tmp_path):
    model = opened("llama", tmp_path)
    pair = ModelPair(model, model, ModelSettings())
    assert isinstance(pair, TokenScorer)
    for alone, both in zip(model.token_statistics(TEXTS), pair.token_statistics(TEXTS), strict=True):
        for column in ("log_probs", "ranks", "entropy", "variance", "tail_mass"):
            np.testing.assert_allclose(getattr(both, column), getattr(alone, column), rtol=1e-4, atol=1e-5)


def test_two_models_have_their_cross_entropy(tmp_path):
    observer, performer = opened("gpt-2", tmp_path), opened("llama", tmp_path)
    pair = ModelPair(observer, performer, ModelSettings())
    text = TEXTS[0]
    (found,) = pair.token_statistics([text])
    ids = torch.tensor([performer.encoder.encode([text])[0].ids.tolist()])
    with torch.inference_mode():
        weights = observer.checkpoint.model(ids).logits[0, :-1].softmax(-1)
        logs = performer.checkpoint.model(ids).logits[0, :-1].log_softmax(-1)
    np.testing.assert_allclose(found.log_probs, logs.gather(-1, ids[0, 1:, None])[:, 0], rtol=1e-4, atol=1e-5)
    mean = (weights * logs).sum(-1)
    np.testing.assert_allclose(found.entropy, -mean, rtol=1e-4)
    np.testing.assert_allclose(found.variance, (weights * logs.square()).sum(-1) - mean.square(), rtol=1e-3)
    assert pair.digest not in {observer.digest, performer.digest}


def test_an_impossible_token_that_the_observer_excludes_too_costs_nothing():
    logits = torch.tensor([[0.0, 0.0, -torch.inf]])
    result = crossed(logits, logits, torch.tensor([0]))
    assert result[2].item() == pytest.approx(np.log(2))
    assert bool(result.isfinite().all())


def test_different_tokenizers_are_refused(tmp_path):
    first, second = opened("llama", tmp_path), opened("gpt-2", tmp_path, byte_tokenizer(merges=(("d", "e"),)))
    with pytest.raises(ModelError, match="tokenizers differ"):
        ModelPair(first, second, ModelSettings())
