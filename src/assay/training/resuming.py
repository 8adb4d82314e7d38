"""Files of a training that can be resumed: last state and loss curve."""

import io
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from assay.errors import DataError
from assay.files import durable_file, write_text

LOG = "loss.jsonl"
STATE = "state.pt"

Record = dict[str, float]
"""A line of the loss curve."""
TrainingProgress = Callable[[Record, int], None]
"""Called after each step with its line of the loss curve and the number of steps."""


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
        # a pickle of tensors alone (weights_only) runs no code, so a forged state can only be refused
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
    # names and shapes are compared before anything is copied: a refused state leaves the model as it was
    stored: Mapping[str, torch.Tensor] = state["parameters"]
    if {name: each.shape for name, each in stored.items()} != {name: each.shape for name, each in parameters.items()}:
        raise DataError(f"{path}: expected the state of a model with these parameters; remove it to begin again")
    # in place, because the optimisers hold these tensors
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
        write_text(log, "\n".join([*lines, ""]))


def _bad_state(path: Path, command: str) -> DataError:
    return DataError(f"{path}: expected a state of `{command}` that can be read; remove {path} to begin again")
