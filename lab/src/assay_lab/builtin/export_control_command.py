"""`assay lab builtin export-control`: the folder that ships as `builtin:control`."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli import OUTPUT, OUTPUT_NAMES
from assay_lab.builtin.command_options import TRAINING, Hardware


def export_control_command(
    *,
    out: Annotated[Path, typer.Option(*OUTPUT_NAMES, metavar="DIR", help="Folder of the run.", rich_help_panel=OUTPUT)],
    phase: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Exported phase: constant, or the folder of a decay.", rich_help_panel=TRAINING
        ),
    ] = "constant",
    hardware: Hardware = "not stated",
) -> None:
    """Write model, manifest and record of a phase to model/ in the folder of the run; print how well it predicts."""
    from assay_lab.builtin.export_control import export_control, is_of_use
    from assay_lab.builtin.train_control import ControlTraining

    record = export_control(out, phase=out / phase, folder=out / "model", recipe=ControlTraining(), hardware=hardware)
    typer.echo("language     bits per byte   builtin:small")
    for language, bits in record.bits_per_byte.items():
        typer.echo(f"{language:<12} {bits:>13.3f}   {record.bits_per_byte_of_small[language]:>13.3f}")
    for positions, loss in record.loss_by_position.items():
        typer.echo(f"loss at positions {positions}: {loss:.3f}")
    typer.echo("of use as a control" if is_of_use(record) else "not of use yet: train longer")
