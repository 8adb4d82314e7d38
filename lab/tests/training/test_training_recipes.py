"""A folder holds what one recipe made, and nothing else."""

import pytest

from assay.errors import DataError
from assay_lab.training.recipes import keep_recipe, make_once, require_recipe


def test_a_recipe_is_kept_and_another_is_refused_by_what_differs(tmp_path):
    path = tmp_path / "run" / "recipe.json"
    recipe = {"seed": 1, "rate": 0.1, "epochs": (1, 3)}
    keep_recipe(path, recipe)
    keep_recipe(path, recipe)
    with pytest.raises(DataError, match="a run of another recipe, different in epochs, more, rate; expected"):
        keep_recipe(path, {"seed": 1, "rate": 0.2, "epochs": (1,), "more": 1})


def test_a_run_of_the_recipe_is_required_and_another_is_refused(tmp_path):
    keep_recipe(tmp_path / "recipe.json", {"seed": 1})
    require_recipe(tmp_path / "recipe.json", {"seed": 1}, "train")
    with pytest.raises(DataError, match="a run of another recipe, different in seed; expected"):
        require_recipe(tmp_path / "recipe.json", {"seed": 2}, "train")


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
