"""A training finds again what it needs, and refuses what is not its own."""

import pytest

from assay.errors import DataError
from assay.training import read_state
from assay.training.resuming import cut_log, log_step, write_state


def test_the_last_state_is_whole_or_the_one_before(tmp_path):
    path = tmp_path / "state"
    state = {"step": 1, "seconds": 2.0, "inputs": "a", "parameters": {}, "optimisers": []}
    write_state(path, state)
    with pytest.raises(AttributeError):
        write_state(path, {"step": lambda: 2})  # cannot be pickled
    assert read_state(path, "train", "a") == state
    with pytest.raises(DataError, match="was trained on other texts"):
        read_state(path, "train", "b")
    write_state(path, {"step": 1, "seconds": 2.0, "trained": {}, "optimiser": {}})
    with pytest.raises(DataError, match="expected a state of `train`"):
        read_state(path, "train", "a")
    path.write_bytes(b"x")
    with pytest.raises(DataError, match="expected a state of `train`"):
        read_state(path, "train", "a")


def test_steps_behind_the_last_state_leave_the_log(tmp_path):
    log = tmp_path / "loss.jsonl"
    cut_log(log, 3)
    for step in range(5):
        log_step(log, {"step": step})
    with log.open("a") as file:
        file.write('{"st')
    cut_log(log, 2)
    assert log.read_text() == '{"step": 0}\n{"step": 1}\n'
