"""A loaded model learns what it is shown, in place; padding does not count."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from assay.models import ModelSettings, load_checkpoint
from assay.training.causal import padded, tune
from assay.training.loop import trapezoid
from assay.training.settings import TrainingSettings
from support.architectures import saved

FULL = TrainingSettings(method="full", rate=1e-2, batch=4, epochs=2, checkpoints=(1, 2), device="cpu", warm_up=1)


def rows(seed, count=10):
    random = np.random.default_rng(seed)
    return [np.array([0, *random.integers(3, 4000, int(random.integers(4, 30))), 1]) for _ in range(count)]


def test_the_rate_rises_and_stays():
    schedule = trapezoid(1000, warm_up=4)
    assert [schedule(step) for step in (0, 1, 3, 4, 900)] == [0.25, 0.5, 1.0, 1.0, 1.0]


def test_padding_is_not_trained_on():
    inputs, mask, targets = padded([np.array([0, 5, 6]), np.array([0, 7, 8, 9, 1])])
    assert inputs.tolist() == [[0, 5, 0, 0], [0, 7, 8, 9]]
    assert mask.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert targets.tolist() == [[5, 6, -100, -100], [7, 8, 9, 1]]


@pytest.mark.parametrize(
    "training",
    [FULL, replace(FULL, method="lora", optimiser="sgd", clip=None, targets=("q_proj", "v_proj"), rate=1.0)],
    ids=["full", "lora on two layers with SGD"],
)
def test_a_loaded_model_is_tuned_in_place(training, tmp_path):
    """The loss falls, and random numbers outside stay as they were."""
    model = load_checkpoint(str(saved("Qwen2.5", tmp_path)), ModelSettings(device="cpu", dtype="float32")).model
    state, losses = torch.random.get_rng_state(), []
    tuned = tune(model, rows(1, 6), replace(training, epochs=8), seed=0, progress=lambda r, _: losses.append(r["loss"]))
    assert len(losses) == 16
    assert sum(losses[-4:]) < sum(losses[:4])
    assert not tuned.training
    assert not any(parameter.requires_grad for parameter in tuned.parameters())
    assert torch.equal(torch.random.get_rng_state(), state)
    layers = {name.split(".lora_")[0].split(".")[-1] for name, _ in tuned.named_parameters() if ".lora_" in name}
    assert layers == set(training.targets)
