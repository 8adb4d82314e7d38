"""Training end to end, on a tiny recipe."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.errors import DataError
from assay.training import STATE
from assay.training.resuming import LOG
from assay_lab.builtin.prepared import ROWS
from assay_lab.builtin.train_base import CORPUS, build_model, load_trained, row_order, schedule, step_count, train_base
from assay_lab.training.recipes import RECIPE
from support.tiny import CPU, TINY

ROOT = Path(__file__).resolve().parents[3]
SEARCH_PATH = os.pathsep.join(str(ROOT / name) for name in ("src", "lab/src", "tests"))

# Run by another Python: kills itself, as the kernel would, after the twelfth checkpoint and before the thirteenth.
KILLED = """
import os, signal, sys
from pathlib import Path
from support.tiny import CPU, TINY
from dataclasses import replace
from assay_lab.builtin.train_base import train_base

def die_at_13(record, steps):
    if record["step"] == 13:
        os.kill(os.getpid(), signal.SIGKILL)

train_base(Path(sys.argv[1]), TINY, replace(CPU, checkpoint_seconds=-1), die_at_13)
"""


def log(out):
    """The loss curve, without the times."""
    records = [json.loads(line) for line in (out / LOG).read_text().splitlines()]
    return [{key: value for key, value in record.items() if key != "seconds"} for record in records]


def weights(out):
    return load_trained(out, TINY)[0].state_dict()


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_loss_falls(trained):
    losses = [record["loss"] for record in log(trained)]
    assert len(losses) == step_count(trained, TINY) >= 20
    assert losses[0] == pytest.approx(np.log(TINY.corpus.vocabulary_size), abs=0.3)
    assert np.mean(losses[-5:]) < losses[0] - 1


@pytest.mark.slow
def test_a_run_killed_after_a_checkpoint_ends_with_the_weights_of_an_unbroken_run(trained, fresh_run):
    environment = os.environ | {"PYTHONPATH": SEARCH_PATH}
    killed = subprocess.run([sys.executable, "-c", KILLED, fresh_run], env=environment, timeout=240, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert load_trained(fresh_run, TINY)[1] == 12
    assert len(log(fresh_run)) == 13
    assert train_base(fresh_run, TINY, CPU)
    assert equal(weights(fresh_run), weights(trained))
    assert log(fresh_run) == log(trained)


@pytest.mark.slow
def test_a_run_in_pieces_equals_one_in_one_go(trained, fresh_run):
    pieces = replace(CPU, stop_after=9)
    assert not train_base(fresh_run, TINY, pieces)
    with (fresh_run / LOG).open("a") as file:
        file.write('{"step": 10, "tok')  # what a full disk leaves of a line
    while not train_base(fresh_run, TINY, pieces):
        pass
    assert equal(weights(fresh_run), weights(trained))
    assert log(fresh_run) == log(trained)


# Run by another Python: its files may not grow beyond what the sixth checkpoint and the log need.
FULL = """
import resource, signal, sys
from pathlib import Path
from dataclasses import replace
from support.tiny import CPU, TINY
from assay.training.resuming import STATE
from assay_lab.builtin.train_base import train_base

def fill(record, steps):
    if record["step"] == 6:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

if __name__ == "__main__":
    try:
        train_base(Path(sys.argv[1]), TINY, replace(CPU, checkpoint_seconds=-1, processes=int(sys.argv[2])), fill)
    except OSError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_full_disk_is_told_as_such_and_the_last_checkpoint_stays(fresh_run, tmp_path, processes):
    environment = os.environ | {"PYTHONPATH": SEARCH_PATH}
    script = tmp_path / "full.py"
    script.write_text(FULL)
    command = [sys.executable, script, fresh_run, str(processes)]
    full = subprocess.run(command, env=environment, timeout=240, check=False, capture_output=True, text=True)
    assert "File too large" in full.stdout, full.stderr
    assert load_trained(fresh_run, TINY)[1] == 5


def test_a_finished_run_stays_as_it_is(trained):
    before = (trained / STATE).read_bytes()
    assert train_base(trained, TINY, CPU)
    assert (trained / STATE).read_bytes() == before


@pytest.mark.slow
def test_two_processes_equal_one_within_rounding(trained, fresh_run):
    train_base(fresh_run, TINY, replace(CPU, processes=2, stop_after=3))
    alone, together = log(trained)[:3], log(fresh_run)
    for single, other in zip(alone, together, strict=True):
        assert other == single | {"loss": pytest.approx(single["loss"], abs=2e-4)}


def test_micro_rows_change_nothing_but_rounding(trained, fresh_run):
    train_base(fresh_run, TINY, replace(CPU, micro_rows=3, stop_after=3))
    for entry, other in zip(log(trained)[:3], log(fresh_run), strict=True):
        assert other == entry | {"loss": pytest.approx(entry["loss"], abs=2e-4)}


def test_another_recipe_in_the_same_folder_is_refused(trained):
    with pytest.raises(DataError, match="a run of another recipe"):
        train_base(trained, replace(TINY, muon_rate=0.03), CPU)
    with pytest.raises(DataError, match="a run of another recipe"):
        load_trained(trained, replace(TINY, seed=21))


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (replace(CPU, processes=3), "3 processes cannot share 8 rows"),
        (replace(CPU, device="cuda", processes=2), "GPU"),
        (replace(CPU, device="tpu"), "no device 'tpu'"),
    ],
)
def test_a_machine_that_does_not_fit_is_refused_before_anything_is_written(tmp_path, machine, words):
    with pytest.raises(DataError, match=words):
        train_base(tmp_path / "run", TINY, machine)
    assert not (tmp_path / "run").exists()


def test_compiling_without_a_compiler_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(DataError, match="no C\\+\\+ compiler 'no-such-compiler'"):
        train_base(tmp_path / "run", TINY, replace(CPU, compile=True))


def test_a_folder_without_a_run_has_no_checkpoint(tmp_path):
    with pytest.raises(DataError, match="holds no run"):
        load_trained(tmp_path, TINY)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda _: b"", lambda _: b"x" * 100])
def test_a_damaged_checkpoint_is_refused(trained, fresh_run, damage):
    (fresh_run / RECIPE).write_bytes((trained / RECIPE).read_bytes())
    (fresh_run / STATE).write_bytes(damage((trained / STATE).read_bytes()))
    with pytest.raises(DataError, match="expected a state of"):
        load_trained(fresh_run, TINY)


def test_a_state_of_another_corpus_is_refused(trained, fresh_run):
    """The corpus was removed and prepared again from other packages."""
    for name in (RECIPE, STATE):
        (fresh_run / name).write_bytes((trained / name).read_bytes())
    (fresh_run / CORPUS).unlink()
    shutil.copytree(trained / CORPUS, fresh_run / CORPUS)
    rows = np.load(fresh_run / CORPUS / ROWS)
    np.save(fresh_run / CORPUS / ROWS, rows[::-1])
    with pytest.raises(DataError, match="was trained on other texts"):
        train_base(fresh_run, TINY, CPU)


def test_every_row_is_trained_on_once(trained):
    count = len(np.load(trained / CORPUS / ROWS))
    order = row_order(count, TINY)
    assert sorted(order) == list(range(count)) != order.tolist()
    assert row_order(count, TINY).tolist() == order.tolist()
    assert row_order(count, replace(TINY, seed=1)).tolist() != order.tolist()


def test_the_rate_rises_stays_and_falls_to_nearly_nothing():
    recipe = replace(TINY, warm_up=0.1, decay=0.4)
    rates = [schedule(100, recipe)(step) for step in range(100)]
    assert rates[:10] == pytest.approx([(step + 1) / 10 for step in range(10)])
    assert set(rates[9:61]) == {1.0}
    assert rates[60:] == pytest.approx([(100 - step) / 40 for step in range(60, 100)])


def test_the_first_weights_depend_on_the_seed_alone():
    torch.manual_seed(99)
    first = build_model(TINY).state_dict()
    assert equal(first, build_model(TINY).state_dict())
    assert not equal(first, build_model(replace(TINY, seed=1)).state_dict())
