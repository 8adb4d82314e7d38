"""What a training finds again after it was killed: recipe, corpus, last state and loss curve in its folder."""

import io
import json
import pickle
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from assay.errors import DataError

LOG = "loss.jsonl"
CHECKPOINT = "checkpoint.pt"
RECIPE = "training_recipe.json"

Recipe = Mapping[str, object]
"""All that decides the weights, as a dataclass is a dictionary."""
Record = dict[str, float]
"""A line of the loss curve."""
Progress = Callable[[Record, int], None]
"""Told after each step: its line of the loss curve, and the number of steps."""


def keep_recipe(path: Path, recipe: Recipe) -> None:
    """Write the recipe of a run, or make sure that the run there is one of this recipe.

    Raises:
        DataError: it is of another.
    """
    if path.exists():
        check_recipe(path, recipe, "a run")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(recipe, indent=1) + "\n", "utf-8")


def require_recipe(path: Path, recipe: Recipe, command: str) -> None:
    """Make sure that there is a run, and one of this recipe.

    Raises:
        DataError: there is none, or it is of another.
    """
    if not path.is_file():
        raise DataError(f"{path.parent} holds no run; expected a folder that `{command}` trained in")
    check_recipe(path, recipe, "a run")


def check_recipe(path: Path, recipe: Recipe, what: str) -> None:
    """Make sure that what was kept is this recipe.

    Raises:
        DataError: it is another; the line names what differs.
    """
    found, wanted = json.loads(path.read_text("utf-8")), json.loads(json.dumps(recipe))  # JSON knows no tuples
    different = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
    if different:
        raise DataError(
            f"{path.parent} holds {what} of another recipe, different in {', '.join(different)}; "
            "expected the same one, or another folder"
        )


def make_once(folder: Path, recipe: Recipe, write: Callable[[Path], None]) -> None:
    """Have a corpus written to a folder, which is there only when it is whole; nothing is done where it is there.

    Raises:
        DataError: the folder holds a corpus of another recipe.
    """
    kept = "recipe.json"
    if folder.exists():
        check_recipe(folder / kept, recipe, "a corpus")
        return
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    write(partial)
    (partial / kept).write_text(json.dumps(recipe, indent=1) + "\n", "utf-8")
    partial.rename(folder)


def write_state(path: Path, state: Mapping[str, object]) -> None:
    """Replace the last state; a process that is killed meanwhile leaves the one before."""
    content = io.BytesIO()
    torch.save(state, content)  # to a file, it would tell of a full disk in words of its own
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content.getbuffer())
    partial.replace(path)


def read_state(path: Path, command: str) -> dict[str, Any]:
    """The last state.

    Raises:
        DataError: there is none, or it cannot be read.
    """
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, pickle.UnpicklingError) as error:
        raise DataError(f"{path}: expected a checkpoint of `{command}` ({error})") from error
    return state


def log_step(log: Path, record: Record) -> None:
    """Add a line to the loss curve."""
    with log.open("a") as file:
        file.write(json.dumps(record) + "\n")


def cut_log(log: Path, step: int) -> None:
    """Drop what was logged after the last state: those steps are done again."""
    if log.exists():
        lines = log.read_text().splitlines()[:step]  # one line a step; a line cut short by a full disk comes last
        log.write_text("".join(line + "\n" for line in lines))
