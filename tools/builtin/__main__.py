"""`python -m builtin COMMAND`, with `tools` on PYTHONPATH: make the models that ship with assay."""

import sys

import typer

from assay.errors import AssayError
from builtin.build_control_command import build_control_corpus_command
from builtin.export_control_command import export_control_command
from builtin.train_base_command import train_base_command
from builtin.train_control_command import train_control_command
from builtin.train_encoder_command import train_encoder_command

app = typer.Typer(name="builtin", help="Make the built-in models again.", no_args_is_help=True)
app.command("train-base")(train_base_command)
app.command("build-control-corpus")(build_control_corpus_command)
app.command("train-control")(train_control_command)
app.command("export-control")(export_control_command)
app.command("train-encoder")(train_encoder_command)


def main() -> None:
    """Run the command line: exit code 0, or 2 with one line on bad input."""
    try:
        app(prog_name="python -m builtin")
    except AssayError as error:
        sys.stderr.write(f"builtin: error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
