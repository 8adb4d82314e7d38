"""`assay testbed`: ground truth made on purpose."""

import json
from pathlib import Path
from typing import Annotated

import typer

testbed_app = typer.Typer(name="testbed", help="Ground truth made on purpose.", no_args_is_help=True)


@testbed_app.callback()
def testbed() -> None:
    """Ground truth made on purpose: train models of which every training text is known."""


@testbed_app.command("train-base")
def train_base_command(  # one option each is the interface
    out: Annotated[
        Path, typer.Option(help="Folder of the run: corpus, checkpoint, loss curve, and model/ at the end.")
    ],
    tokens: Annotated[int, typer.Option(help="Training tokens.", min=1)] = 8_000_000,
    never_seen: Annotated[int, typer.Option(help="Functions that are never trained on.", min=1)] = 700,
    per_dose: Annotated[int, typer.Option(help="Functions of each dose (1, 2, 4, 8, 16, 32).", min=1)] = 120,
    package_cap: Annotated[int, typer.Option(help="Most characters from one package.", min=1)] = 4_000_000,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    processes: Annotated[int, typer.Option(help="Data-parallel processes on a CPU, one thread each.", min=1)] = 1,
    compile_model: Annotated[bool, typer.Option("--compile", help="Use torch.compile.")] = False,
    hardware: Annotated[str, typer.Option(help="What it is trained on, for the record.")] = "not stated",
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Build corpus and manifest, print counts.")] = False,
    export_only: Annotated[bool, typer.Option("--export-only", help="Export the last checkpoint.")] = False,
) -> None:
    """Train `builtin:small` from scratch on what is installed, every training text on record.

    A run that was stopped goes on where it was: give the same command again.

    Example: assay testbed train-base --out runs/base --processes 2 --compile
    """
    from assay.testbed.base_corpus import CorpusRecipe
    from assay.testbed.export_base import export_base
    from assay.testbed.manifest import read_manifest
    from assay.testbed.prepared import MANIFEST, prepare_corpus
    from assay.testbed.train_base import CORPUS, Machine, TrainingRecipe, train_base

    corpus = CorpusRecipe(tokens=tokens, never_seen=never_seen, per_dose=per_dose, package_cap=package_cap)
    recipe = TrainingRecipe(corpus=corpus)
    if plan_only:
        prepare_corpus(out / CORPUS, corpus)
        header = dict(read_manifest(out / CORPUS / MANIFEST).header)
        del header["validation_sha256"]
        typer.echo(json.dumps(header, indent=1))
        return
    if not export_only:
        machine = Machine(device=device, processes=processes, compile=compile_model)
        train_base(out, recipe, machine)
    typer.echo(json.dumps(export_base(out, out / "model", recipe, hardware=hardware), indent=1))
