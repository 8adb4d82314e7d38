"""`assay lab builtin train-control`: the recipe of `builtin:control`."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import OUTPUT, OUTPUT_NAMES
from assay.errors import DataError
from assay_lab.builtin.command_options import COMPUTATION, TRAINING, Device, watched


def train_control_command(
    *,
    out: Annotated[
        Path,
        typer.Option(
            *OUTPUT_NAMES,
            metavar="DIR",
            help="Folder of the run, with the corpus of build-control-corpus.",
            rich_help_panel=OUTPUT,
        ),
    ],
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Steps of the constant phase in all; without it, the phase goes on until Ctrl-C.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    decay: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Steps of a decay from the last state of the constant phase, which stays as it is.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    compile: Annotated[  # noqa: A002  the option's name
        bool, typer.Option("--compile", help="Use torch.compile.", rich_help_panel=COMPUTATION)
    ] = False,
    pass_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens in one forward pass; by default by device.", rich_help_panel=COMPUTATION),
    ] = None,
    device: Device = "auto",
) -> None:
    """Train the constant phase, or a decay from it. A run that was stopped continues with the same command."""
    from assay_lab.builtin.train_control import ControlMachine, ControlTraining, train_constant, train_decay

    if steps is not None and decay is not None:
        raise DataError("--steps is of the constant phase and --decay of the decay; expected only one of them")
    machine = ControlMachine(device=device, compile=compile, pass_tokens=pass_tokens)
    recipe = ControlTraining()
    if decay is None:
        watched(lambda progress: train_constant(out, recipe, machine, steps=steps, progress=progress))
    else:
        watched(lambda progress: train_decay(out, recipe, machine, steps=decay, progress=progress))
