"""A training finds again what it needs, and refuses what is not its own."""

import pytest

from assay.errors import DataError
from assay.training.resuming import cut_log, keep_recipe, log_step, make_once, read_state, require_recipe, write_state


def test_a_recipe_is_kept_and_another_is_refused_by_what_differs(tmp_path):
    path = tmp_path / "run" / "recipe.json"
    recipe = {"seed": 1, "rate": 0.1, "epochs": (1, 3)}
    keep_recipe(path, recipe)
    keep_recipe(path, recipe)
    require_recipe(path, recipe, "train")
    for other in (keep_recipe, lambda *of: require_recipe(*of, "train")):
        with pytest.raises(DataError, match="a run of another recipe, different in epochs, more, rate; expected"):
            other(path, {"seed": 1, "rate": 0.2, "epochs": (1,), "more": 1})


def test_a_folder_without_a_recipe_names_the_command_that_makes_one(tmp_path):
    with pytest.raises(DataError, match="holds no run; expected a folder that `train` trained in"):
        require_recipe(tmp_path / "recipe.json", {}, "train")


def test_a_corpus_is_written_once_and_exists_only_when_it_is_complete(tmp_path):
    folder, calls = tmp_path / "corpus", []

    def broken(partial):
        (partial / "half").touch()
        raise OSError("disk full")

    def whole(partial):
        calls.append(partial)
        (partial / "rows").touch()

    with pytest.raises(DataError, match="corpus: cannot be written: disk full"):
        make_once(folder, {"seed": 1}, broken)
    assert not folder.exists()
    for _ in range(2):
        make_once(folder, {"seed": 1}, whole)
    assert len(calls) == 1
    assert {file.name for file in folder.iterdir()} == {"rows", "recipe.json"}
    with pytest.raises(DataError, match="a corpus of another recipe, different in seed"):
        make_once(folder, {"seed": 2}, whole)


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
