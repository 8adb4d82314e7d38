"""Training of `builtin:control`: it can stop at any step and go on, and a decay leaves the constant phase as it is."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.errors import DataError
from assay.training import STATE
from assay_lab.builtin.train_control import (
    CONSTANT,
    CORPUS_FOLDER,
    STREAM,
    ControlMachine,
    ControlTraining,
    falling,
    last_step,
    load_phase,
    rows_of,
    train_constant,
    train_decay,
    warm_up,
)

RECIPE = ControlTraining(
    vocabulary_size=32,
    context=16,
    short_row=8,
    hidden_size=8,
    layers=1,
    heads=1,
    intermediate_size=8,
    step_tokens=32,
    warm_up=2,
    bfloat16=False,
)
MACHINE = ControlMachine(device="cpu", checkpoint_seconds=0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / CORPUS_FOLDER).mkdir()
    stream = np.random.default_rng(0).integers(3, 32, 500).astype(np.uint16)
    np.save(tmp_path / CORPUS_FOLDER / STREAM, stream)
    return tmp_path


def weights(out: Path, folder: Path) -> list[torch.Tensor]:
    return [p.detach().clone() for p in load_phase(out, folder, RECIPE)[0].parameters()]


def test_a_run_in_two_parts_gives_the_weights_of_an_unbroken_run(run, tmp_path_factory):
    other = tmp_path_factory.mktemp("unbroken")
    shutil.copytree(run / CORPUS_FOLDER, other / CORPUS_FOLDER)
    train_constant(run, RECIPE, MACHINE, steps=2)
    assert train_constant(run, RECIPE, MACHINE, steps=5) == 5
    train_constant(other, RECIPE, MACHINE, steps=5)
    for part, whole in zip(weights(run, run / CONSTANT), weights(other, other / CONSTANT), strict=True):
        torch.testing.assert_close(part, whole)


def test_a_decay_starts_from_the_constant_phase_and_leaves_it(run):
    train_constant(run, RECIPE, MACHINE, steps=3)
    before = (run / CONSTANT / STATE).read_bytes()
    folder = train_decay(run, RECIPE, MACHINE, steps=2)
    assert last_step(run, folder) == 5
    assert (run / CONSTANT / STATE).read_bytes() == before
    assert train_constant(run, RECIPE, MACHINE, steps=4) == 4


def test_rates_of_the_phases():
    assert [warm_up(4)(step) for step in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]
    assert [falling(10, 3)(step) for step in (10, 11, 12)] == [0.75, 0.5, 0.25]


def test_rows_predict_every_token_but_the_first_once():
    rows = rows_of(np.arange(10, dtype=np.uint16), 3)
    assert rows.tolist() == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]]


def test_a_decay_needs_a_constant_phase(run):
    with pytest.raises(DataError, match="holds no run"):
        train_decay(run, RECIPE, MACHINE, steps=2)


def test_another_corpus_is_refused(run):
    train_constant(run, RECIPE, MACHINE, steps=1)
    np.save(run / CORPUS_FOLDER / STREAM, np.zeros(500, np.uint16))
    with pytest.raises(DataError, match="trained on other texts"):
        train_constant(run, RECIPE, MACHINE, steps=2)


def test_without_a_corpus_the_line_names_the_command(tmp_path):
    with pytest.raises(DataError, match="build-control-corpus"):
        last_step(tmp_path, tmp_path)
