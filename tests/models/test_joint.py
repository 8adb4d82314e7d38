"""Statistics and hidden states from one pass, with LoRA and without, on every architecture."""

import numpy as np
import pytest
import torch

from assay.errors import DataError, ModelError
from assay.evaluation import MeanGradient, clearly_smaller
from assay.models import ModelSettings, ModelStore, StatisticsCache, TransformersModel, measured
from assay.models.loading import Checkpoint
from assay.training import KERNEL_DIVERGENCE, TrainingSettings, TunedModel, mean_gradient
from assay.training.tuned_model import query_value_projections
from support.tiny_models import FAMILIES, TEXTS, byte_tokenizer, tiny

LONG = [text for text in TEXTS if text]
SHORT = TrainingSettings(
    method="lora", optimiser="sgd", rate=0.5, warm_up=0, batch=4, epochs=1, checkpoints=(1,), clip=None, rank=2, alpha=4
)


def opened(family: str) -> TransformersModel:
    return TransformersModel(
        Checkpoint(family, tiny(family), byte_tokenizer(), ()), ModelSettings(max_length=24, batch_tokens=64)
    )


@pytest.fixture(params=list(FAMILIES))
def model(request):
    return opened(request.param)


@pytest.fixture
def llama():
    return opened("llama")


def state(model: TransformersModel) -> dict[str, torch.Tensor]:
    return {key: value.clone() for key, value in model.checkpoint.model.state_dict().items()}


@pytest.mark.parametrize("layer", [0, -1])
def test_one_pass_gives_what_two_passes_give(model, layer):
    both = measured(model, LONG, layer=layer)
    np.testing.assert_allclose(both.vectors, model.hidden_states(LONG, layer=layer), atol=2e-5)
    for mine, own in zip(both.statistics, model.token_statistics(LONG), strict=True):
        np.testing.assert_allclose(mine.log_probs, own.log_probs, atol=2e-5)
        np.testing.assert_array_equal(mine.ranks, own.ranks)
        np.testing.assert_array_equal(mine.offsets, own.offsets)


def test_what_the_cache_has_is_not_run_again(llama, tmp_path, monkeypatch):
    with StatisticsCache(tmp_path / "cache.db") as cache:
        first = measured(llama, LONG, store=ModelStore(cache, "0" * 64, "x"))
        monkeypatch.setattr(llama.forward, "with_states", None)
        monkeypatch.setattr(llama.forward, "statistics", None)
        again = measured(llama, LONG, store=ModelStore(cache, "0" * 64, "x"))
    np.testing.assert_array_equal(again.vectors, first.vectors)


def test_a_layer_that_is_not_there_and_a_text_without_a_token_are_refused(llama):
    with pytest.raises(ModelError, match="layer 9: expected -3 to 2"):
        measured(llama, ["a b"], layer=9)
    with pytest.raises(ModelError, match="text 0 has no token"):
        measured(llama, [""])


def test_fine_tuning_changes_what_is_measured_and_leaves_the_model_as_it_was(model):
    before, weights = measured(model, LONG), state(model)
    tuned = TunedModel(model, LONG, SHORT, seed=0)
    after = tuned.measure(LONG)
    assert np.abs(after.vectors - before.vectors).max() > 1e-4
    again = measured(model, LONG)
    np.testing.assert_array_equal(again.vectors, before.vectors)
    left = state(model)
    assert left.keys() == weights.keys()
    assert all(torch.equal(left[key], value) for key, value in weights.items())


def test_a_second_measurement_uses_the_same_weights_without_training_again(llama):
    steps = []
    tuned = TunedModel(llama, LONG, SHORT, seed=0, progress=lambda record, _: steps.append(record["step"]))
    first, second = tuned.measure(LONG[:2]), tuned.measure(LONG)
    assert len(steps) == tuned.steps
    np.testing.assert_allclose(second.vectors[:2], first.vectors, atol=1e-6)


def test_measurements_in_the_cache_need_no_training(llama, tmp_path):
    steps = []

    def tuned(cache):
        return TunedModel(llama, LONG, SHORT, seed=0, cache=cache, progress=lambda record, _: steps.append(record))

    with StatisticsCache(tmp_path / "cache.db") as cache:
        first = tuned(cache).measure(LONG)
        trained = len(steps)
        second = tuned(cache).measure(LONG)
    assert len(steps) == trained
    np.testing.assert_array_equal(second.vectors, first.vectors)


def test_a_killed_fine_tuning_continues_from_its_folder(llama, tmp_path):
    class KilledError(Exception):
        pass

    def kill(record, _):
        if record["step"] == 2:
            raise KilledError

    whole = TunedModel(llama, LONG, SHORT, seed=0).measure(LONG)
    steps = []
    first = TunedModel(llama, LONG, SHORT, seed=0, folder=tmp_path, progress=kill)
    with pytest.raises(KilledError):
        first.measure(LONG)
    second = TunedModel(
        opened("llama"), LONG, SHORT, seed=0, folder=tmp_path, progress=lambda record, _: steps.append(record["step"])
    )
    np.testing.assert_allclose(second.measure(LONG).vectors, whole.vectors, atol=1e-6)


def test_the_digest_names_texts_settings_and_seed(llama):
    digests = {
        TunedModel(llama, texts, settings, seed=seed).digest
        for texts, settings, seed in (
            (LONG, SHORT, 0),
            (LONG[:3], SHORT, 0),
            (LONG, KERNEL_DIVERGENCE, 0),
            (LONG, SHORT, 1),
        )
    }
    assert len(digests) == 4


def test_a_model_without_query_and_value_projections_is_refused():
    with pytest.raises(ModelError, match="odd has no query and value projections"):
        query_value_projections(torch.nn.Linear(2, 2), "odd")


def test_texts_of_one_token_cannot_be_trained_on(llama, monkeypatch):
    monkeypatch.setattr("assay.training.tuned_model.member_rows", lambda *_, **__: [])
    with pytest.raises(DataError, match="none of 2 texts has two tokens"):
        TunedModel(llama, ["a", "b"], SHORT, seed=0)


def test_the_mean_gradient_of_noise_is_zero_and_that_of_a_common_direction_is_not():
    random = np.random.default_rng(0)
    noise = random.normal(size=(16, 200))
    shifted = noise + 1.0
    free, common = MeanGradient.from_products(noise @ noise.T), MeanGradient.from_products(shifted @ shifted.T)
    assert abs(free.squared) < 3 * free.error
    assert common.squared == pytest.approx(200, rel=0.1)
    assert clearly_smaller(free, common)
    assert not clearly_smaller(common, free)
    assert not clearly_smaller(free, free)
    assert MeanGradient(-1.0, 1.0, 4).norm == 0


def test_the_mean_gradient_of_a_model_leaves_it_as_it_was(llama):
    weights = state(llama)
    gradient = mean_gradient(llama, LONG, SHORT, seed=0)
    assert gradient.folds >= 4
    assert gradient.error > 0
    assert all(torch.equal(state(llama)[key], value) for key, value in weights.items())
    with pytest.raises(DataError, match="needs at least 4"):
        mean_gradient(llama, LONG[:1], SHORT, seed=0)
