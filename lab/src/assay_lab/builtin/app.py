"""`assay lab builtin COMMAND`: make the models that ship with assay."""

import typer

from assay_lab.builtin.build_control_command import build_control_corpus_command
from assay_lab.builtin.export_control_command import export_control_command
from assay_lab.builtin.train_base_command import train_base_command
from assay_lab.builtin.train_control_command import train_control_command
from assay_lab.builtin.train_encoder_command import train_encoder_command

builtin_app = typer.Typer(name="builtin", help="Make the built-in models again.", no_args_is_help=True)
builtin_app.command("train-base")(train_base_command)
builtin_app.command("build-control-corpus")(build_control_corpus_command)
builtin_app.command("train-control")(train_control_command)
builtin_app.command("export-control")(export_control_command)
builtin_app.command("train-encoder")(train_encoder_command)
