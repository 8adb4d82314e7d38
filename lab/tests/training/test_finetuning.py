"""Continued pre-training: it learns what it is shown, and a killed run ends as one that was not."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from assay.errors import DataError
from assay.models import open_model
from assay.training import STATE
from assay.training.resuming import LOG
from assay.training.settings import TrainingSettings
from assay_lab.training.finetuning import Task, checkpoint_folder, finetune
from support.architectures import ARCHITECTURES, saved

FULL = TrainingSettings(method="full", rate=1e-2, batch=4, epochs=2, checkpoints=(1, 2), device="cpu", warm_up=1)
LORA = replace(FULL, method="lora", rank=4, dropout=0.1)


def rows(seed, count=10):
    random = np.random.default_rng(seed)
    return [np.array([0, *random.integers(3, 4000, int(random.integers(4, 30))), 1]) for _ in range(count)]


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    return {name: str(saved(name, tmp_path_factory.mktemp("base"))) for name in ARCHITECTURES}


@pytest.fixture
def task(bases):
    return Task(bases["Qwen2.5"], None, rows(1), rows(2, 3), FULL, seed=5)


def weights(folder):
    from safetensors.torch import load_file

    found = {}
    for file in sorted(folder.glob("*.safetensors")):
        found |= load_file(file)
    return found


def same(first, second):
    assert first.keys() == second.keys()
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
@pytest.mark.parametrize("training", [FULL, LORA], ids=["full", "lora"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_both_architectures_of_the_paper_learn_both_ways(name, training, bases, tmp_path):
    steep = replace(training, epochs=6, checkpoints=(6,), rate=2e-2)
    assert finetune(tmp_path, Task(bases[name], None, rows(1, 6), [], steep, seed=0))
    losses = [json.loads(line)["loss"] for line in (tmp_path / LOG).read_text().splitlines()]
    assert len(losses) == 12
    assert sum(losses[-2:]) < sum(losses[:2])
    how = {"adapter": str(checkpoint_folder(tmp_path, 6))} if training.method == "lora" else {}
    model = open_model(bases[name] if how else str(checkpoint_folder(tmp_path, 6)), device="cpu", **how)
    (statistics,) = model.token_statistics(["def f(x):\n    return x\n"])
    assert np.isfinite(statistics.log_probs).all()


def test_a_folder_is_trained_in_by_one_process_at_a_time(task, tmp_path):
    """A process that is killed lets the next one in."""
    code = (
        "import sys, time; from pathlib import Path; from assay.files import LOCK, sole_process\n"
        "with sole_process(Path(sys.argv[1]) / LOCK, ValueError()): print('in', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "in\n"
            with pytest.raises(DataError, match="another process is training there"):
                finetune(tmp_path, task)
            assert not (tmp_path / LOG).exists()
        finally:
            other.kill()
    assert finetune(tmp_path, task)


@pytest.mark.parametrize("training", [FULL, LORA], ids=["full", "lora"])
def test_a_killed_run_ends_with_the_weights_of_one_that_was_not(training, task, tmp_path):
    """Dropout included: random numbers follow from the step."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    asked = replace(task, training=training)
    assert finetune(whole, asked)
    while not finetune(broken, asked, stop_after=3):
        pass
    for epoch in (1, 2):
        assert same(weights(checkpoint_folder(whole, epoch)), weights(checkpoint_folder(broken, epoch)))
    losses = [[json.loads(x)["loss"] for x in (out / LOG).read_text().splitlines()] for out in (whole, broken)]
    assert losses[0] == losses[1]
    assert len(losses[0]) == asked.batches.per_epoch * 2


def test_a_checkpoint_is_what_a_shorter_run_gives(task, tmp_path):
    """The rate is constant, so epoch 1 of two is epoch 1 of one."""
    finetune(tmp_path / "long", task)
    finetune(tmp_path / "short", replace(task, training=replace(FULL, epochs=1, checkpoints=(1,))))
    assert same(weights(checkpoint_folder(tmp_path / "long", 1)), weights(checkpoint_folder(tmp_path / "short", 1)))


def test_the_rows_of_one_forward_pass_do_not_change_the_step(task, tmp_path):
    for micro in (1, 4):
        finetune(tmp_path / str(micro), replace(task, training=replace(FULL, micro=micro)))
    first, second = (weights(checkpoint_folder(tmp_path / name, 1)) for name in ("1", "4"))
    for name in first:
        torch.testing.assert_close(first[name], second[name], rtol=1e-3, atol=1e-4)


def test_gradient_checkpointing_changes_memory_and_nothing_else(task, tmp_path):
    finetune(tmp_path / "plain", task)
    finetune(tmp_path / "spare", replace(task, training=replace(FULL, gradient_checkpointing=True)))
    first, second = (weights(checkpoint_folder(tmp_path / name, 2)) for name in ("plain", "spare"))
    for name in first:
        torch.testing.assert_close(first[name], second[name], rtol=1e-3, atol=1e-4)


def test_every_epoch_shows_every_row_once(task):
    orders = [task.batches.order(epoch).tolist() for epoch in range(3)]
    assert all(sorted(order) == list(range(13)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


def test_a_folder_that_holds_another_training_is_refused(task, tmp_path):
    finetune(tmp_path, task, stop_after=1)
    with pytest.raises(DataError, match="different in seed"):
        finetune(tmp_path, replace(task, seed=6))


def test_other_rows_or_another_base_model_in_the_same_folder_are_refused(task, bases, tmp_path):
    """As many rows of as many tokens, and a folder of the same name."""
    finetune(tmp_path / "out", task, stop_after=1)
    swapped = [row[::-1].copy() for row in task.members]
    with pytest.raises(DataError, match="different in rows_sha256"):
        finetune(tmp_path / "out", replace(task, members=swapped))
    shutil.copytree(task.model, tmp_path / "base")
    other = replace(task, model=str(tmp_path / "base"))
    finetune(tmp_path / "moved", other, stop_after=1)
    shutil.copyfile(checkpoint_model(tmp_path / "moved", other), tmp_path / "base" / "model.safetensors")
    with pytest.raises(DataError, match="different in base_sha256"):
        finetune(tmp_path / "moved", other)


def checkpoint_model(out, task):
    """The weights file of another model of the same shape."""
    finetune(out.with_name("elsewhere"), replace(task, training=replace(FULL, epochs=1, checkpoints=(1,))))
    return checkpoint_folder(out.with_name("elsewhere"), 1) / "model.safetensors"


def test_a_state_cut_short_is_refused_in_one_line(task, tmp_path):
    finetune(tmp_path, task, stop_after=1)
    (tmp_path / STATE).write_bytes((tmp_path / STATE).read_bytes()[:100])
    with pytest.raises(DataError, match="expected a state of `assay lab testbed train`"):
        finetune(tmp_path, task)


def test_nothing_to_train_on_is_refused(task, tmp_path):
    with pytest.raises(DataError, match="no text of two tokens"):
        finetune(tmp_path, replace(task, members=[]))


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(task, tmp_path):
    """Started by accelerate; each takes half of every batch."""
    script = tmp_path / "train.py"
    script.write_text(
        "import pickle, sys\nfrom pathlib import Path\n"
        "from assay_lab.training.finetuning import finetune\n"
        "finetune(Path(sys.argv[2]), pickle.loads(Path(sys.argv[1]).read_bytes()))\n"
    )
    import pickle

    short = replace(task, training=replace(FULL, epochs=1, checkpoints=(1,)))
    (tmp_path / "task").write_bytes(pickle.dumps(short))
    finetune(tmp_path / "one", short)
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2", str(script)]
    done = subprocess.run(
        [*launch, str(tmp_path / "task"), str(tmp_path / "two")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = (weights(checkpoint_folder(tmp_path / name, 1)) for name in ("one", "two"))
    for name in first:
        torch.testing.assert_close(first[name], second[name], rtol=1e-3, atol=1e-4)
