"""Recipes of runs and of corpora: a folder holds what one recipe made, and nothing else."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.errors import DataError
from assay.files import atomic_folder, parse_json, write_json

RECIPE = "training.json"
CORPUS_RECIPE = "recipe.json"

Recipe = Mapping[str, object]
"""All that determines the weights, as JSON."""


def keep_recipe(path: Path, recipe: Recipe) -> None:
    """Write the recipe of a run, or make sure that the run there is of this recipe.

    Raises:
        DataError: the run is of another recipe, or the file cannot be written.
    """
    if path.exists():
        check_recipe(path, recipe, "a run")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, recipe)


def check_recipe(path: Path, recipe: Recipe, content: str) -> None:
    """Make sure that a stored recipe equals this one.

    Args:
        path: of the stored recipe.
        recipe: the expected one.
        content: kind of content of the folder, for the error message.

    Raises:
        DataError: it differs; the message names the keys that do.
    """
    try:
        # JSON knows no tuples
        stored, expected = parse_json(path.read_text("utf-8")), json.loads(json.dumps(recipe))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: expected the recipe of {content}; remove {path.parent} to begin again") from error
    different = sorted(key for key in {*stored, *expected} if stored.get(key) != expected.get(key))
    if different:
        raise DataError(
            f"{path.parent} holds {content} of another recipe, different in {', '.join(different)}; "
            "expected the same one, or another folder"
        )


def require_recipe(path: Path, recipe: Recipe, command: str) -> None:
    """Make sure that there is a run of this recipe.

    Raises:
        DataError: there is no run, or it is of another recipe.
    """
    if not path.is_file():
        raise DataError(f"{path.parent} holds no run; expected a folder that `{command}` trained in")
    check_recipe(path, recipe, "a run")


def make_once(folder: Path, recipe: Recipe, write: Callable[[Path], None]) -> None:
    """Write a corpus to a folder, which exists only when it is complete; do nothing if it exists.

    Raises:
        DataError: the folder holds a corpus of another recipe, or cannot be written.
    """
    if folder.exists():
        check_recipe(folder / CORPUS_RECIPE, recipe, "a corpus")
        return
    with atomic_folder(folder) as unfinished:
        write(unfinished)
        write_json(unfinished / CORPUS_RECIPE, recipe)
