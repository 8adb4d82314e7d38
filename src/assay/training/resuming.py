"""Files of a training that can be resumed: recipe, corpus, last state and loss curve."""

import io
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from assay.errors import DataError
from assay.files import atomic_folder, durable_file, parse_json, write_json, write_text

LOG = "loss.jsonl"
STATE = "state.pt"
RECIPE = "training.json"
CORPUS_RECIPE = "recipe.json"

Recipe = Mapping[str, object]
"""All that determines the weights, as JSON."""
Record = dict[str, float]
"""A line of the loss curve."""
TrainingProgress = Callable[[Record, int], None]
"""Called after each step with its line of the loss curve and the number of steps."""


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


def require_recipe(path: Path, recipe: Recipe, command: str) -> None:
    """Make sure that there is a run of this recipe.

    Raises:
        DataError: there is no run, or it is of another recipe.
    """
    if not path.is_file():
        raise DataError(f"{path.parent} holds no run; expected a folder that `{command}` trained in")
    check_recipe(path, recipe, "a run")


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
        stored, expected = parse_json(path.read_text("utf-8")), json.loads(json.dumps(recipe))  # JSON knows no tuples
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: expected the recipe of {content}; remove {path.parent} to begin again") from error
    different = sorted(key for key in {*stored, *expected} if stored.get(key) != expected.get(key))
    if different:
        raise DataError(
            f"{path.parent} holds {content} of another recipe, different in {', '.join(different)}; "
            "expected the same one, or another folder"
        )


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


def write_state(path: Path, state: Mapping[str, object]) -> None:
    """Replace the last state; a process that is killed meanwhile leaves the previous state.

    Raises:
        OSError: the file cannot be written.
    """
    content = io.BytesIO()
    torch.save(state, content)  # writing to a file itself, torch hides the cause of a full disk
    with durable_file(path) as file:
        file.write(content.getbuffer())


def read_state(path: Path, command: str, inputs: str) -> dict[str, Any]:
    """Return the last state.

    Args:
        path: of the file.
        command: the command that wrote it, for error messages.
        inputs: digest of the texts and files of the training.

    Raises:
        DataError: the state is missing, cannot be read, or is of other inputs.
    """
    try:
        state: dict[str, Any] = dict(torch.load(path, map_location="cpu", weights_only=True))
    except (OSError, EOFError, RuntimeError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise _bad_state(path, command) from error
    if not {"step", "seconds", "inputs", "parameters", "optimisers"} <= state.keys():
        raise _bad_state(path, command)
    if state["inputs"] != inputs:
        raise DataError(f"{path} was trained on other texts or files than those here; remove it to begin again")
    return state


def restore_parameters(path: Path, state: Mapping[str, Any], parameters: Mapping[str, torch.Tensor]) -> None:
    """Copy the parameters of a state, read from `path`, into those of a model.

    Raises:
        DataError: the state is of other parameters.
    """
    stored: Mapping[str, torch.Tensor] = state["parameters"]
    if {name: each.shape for name, each in stored.items()} != {name: each.shape for name, each in parameters.items()}:
        raise DataError(f"{path}: expected the state of a model with these parameters; remove it to begin again")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(stored[name])


def restore_optimisers(path: Path, state: Mapping[str, Any], optimisers: Sequence[torch.optim.Optimizer]) -> None:
    """Load the optimisers' part of a state, read from `path`.

    Raises:
        DataError: the state is of other optimisers.
    """
    try:
        for optimiser, stored in zip(optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(stored)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: expected the state of these optimisers; remove it to begin again") from error


def log_step(log: Path, record: Record) -> None:
    """Add a line to the loss curve."""
    with log.open("a") as file:
        file.write(json.dumps(record) + "\n")


def cut_log(log: Path, step: int) -> None:
    """Drop the lines after the last state, because those steps are repeated.

    Raises:
        DataError: the log cannot be written.
    """
    if log.exists():
        lines = log.read_text().splitlines()[:step]  # one line a step; a line cut short by a full disk comes last
        write_text(log, "".join(line + "\n" for line in lines))


def _bad_state(path: Path, command: str) -> DataError:
    return DataError(f"{path}: expected a state of `{command}` that can be read; remove {path} to begin again")
