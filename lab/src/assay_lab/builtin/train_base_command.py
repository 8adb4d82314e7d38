"""`assay lab builtin train-base`: the recipe of `builtin:small`."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from assay.cli import OUTPUT, OUTPUT_NAMES, Terminal
from assay.errors import DataError
from assay_lab.builtin.command_options import (
    COMPUTATION,
    CORPUS,
    AsJson,
    Device,
    ExportOnly,
    Hardware,
    PackageCap,
    PlanOnly,
    watched,
)

if TYPE_CHECKING:
    from assay_lab.builtin.export_base import TrainingRecord
    from assay_lab.builtin.train_base import TrainingRecipe


def train_base_command(
    *,
    out: Annotated[
        Path,
        typer.Option(
            *OUTPUT_NAMES,
            metavar="DIR",
            help="Folder of the run: corpus, checkpoint, loss curve; model/ at the end.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ],
    tokens: Annotated[int, typer.Option(min=1, help="Training tokens.", rich_help_panel=CORPUS)] = 8_000_000,
    never_seen: Annotated[
        int, typer.Option(min=1, help="Library functions that are never trained on.", rich_help_panel=CORPUS)
    ] = 700,
    per_dose: Annotated[
        int, typer.Option(min=1, help="Library functions of each dose: 1, 2, 4, 8, 16, 32.", rich_help_panel=CORPUS)
    ] = 120,
    package_cap: PackageCap = 4_000_000,
    device: Device = "auto",
    processes: Annotated[
        int, typer.Option(min=1, help="Data-parallel processes on a CPU, one thread each.", rich_help_panel=COMPUTATION)
    ] = 1,
    compile_model: Annotated[
        bool, typer.Option("--compile", help="Use torch.compile; on a CPU: C++ compiler.", rich_help_panel=COMPUTATION)
    ] = False,
    hardware: Hardware = "not stated",
    plan_only: PlanOnly = False,
    export_only: ExportOnly = False,
    as_json: AsJson = False,
) -> None:
    """Train `builtin:small` from scratch on installed packages, with a record of every training text.

    The texts are sources of installed packages under permissive licences, and functions of this Python's standard
    library, each seen a known number of times. Building the corpus takes a minute or two. To
    continue a run that was stopped, repeat the same command.

    **Example**: `assay lab builtin train-base --out runs/base --processes 2 --compile`
    """
    from assay_lab.builtin.base_corpus import CorpusRecipe
    from assay_lab.builtin.export_base import export_base
    from assay_lab.builtin.train_base import Machine, TrainingRecipe, train_base

    corpus = CorpusRecipe(tokens=tokens, never_seen=never_seen, per_dose=per_dose, package_cap=package_cap)
    recipe = TrainingRecipe(corpus=corpus)
    try:
        if plan_only:
            show_corpus(_corpus(out, recipe), as_json=as_json)
            return
        if not export_only:
            machine = Machine(device=device, processes=processes, compile=compile_model)
            watched(lambda progress: train_base(out, recipe, machine, progress=progress))
        show_record(export_base(out, out / "model", recipe, hardware=hardware), out / "model", as_json=as_json)
    except OSError as error:
        raise DataError(f"--out {out}: {error.strerror or error}; expected a folder that can be written") from error


def show_corpus(header: Mapping[str, object], *, as_json: bool) -> None:
    """Print the contents of a corpus on standard output."""
    if as_json:
        typer.echo(json.dumps(header, indent=1))
        return
    left_out = header["packages_left_out_for_their_licence"]
    assert isinstance(left_out, list)  # noqa: S101  the manifest's own format
    typer.echo(
        f"{header['package_files']:,} files of {header['packages']} packages, {header['package_tokens']:,} tokens; "
        f"left out because no permissive licence is stated: {', '.join(left_out) or 'none'}"
    )
    typer.echo(
        f"{header['functions_found']:,} functions in the standard library of Python {header['python']}, "
        f"{header['functions_of_suitable_length']:,} of suitable length"
    )
    doses = header["functions_per_dose"]
    assert isinstance(doses, dict)  # noqa: S101  the manifest's own format
    table = Table("dose", "functions", title="Library functions", title_justify="left")
    for dose, functions in sorted(doses.items(), key=lambda pair: int(pair[0])):
        table.add_row(dose, str(functions))
    Terminal().print(table)
    typer.echo(f"{header['tokens_trained']:,} tokens to train on")


def show_record(record: "TrainingRecord", folder: Path, *, as_json: bool) -> None:
    """Print the result of a training run on standard output."""
    if as_json:
        typer.echo(json.dumps(asdict(record), indent=1))
        return
    state = "trained to the end" if record.finished else f"stopped at step {record.steps} of {record.steps_planned}"
    typer.echo(f"{record.parameters:,} parameters, {record.tokens:,} tokens, {record.hours:.2f} hours, {state}")
    typer.echo(f"loss in nats a token: {record.train_loss:.3f} in training, {record.validation_loss:.3f} held out")
    table = Table(title="Functions by dose", title_justify="left")
    for head in ("dose", "functions", "mean NLL", "AUROC"):
        table.add_column(head, justify="right")
    for row in record.dose_response:
        shown = f"{row.auroc:.3f}" if row.dose else "-"
        table.add_row(str(row.dose), str(row.functions), f"{row.mean_nll:.3f}", shown)
    Terminal().print(table)
    typer.echo(f"Model: {folder}")


def _corpus(out: Path, recipe: "TrainingRecipe") -> Mapping[str, object]:
    from assay.ground_truth import read_manifest
    from assay_lab.builtin.prepared import MANIFEST, prepare_corpus
    from assay_lab.builtin.train_base import CORPUS as FOLDER

    prepare_corpus(out / FOLDER, recipe.corpus)
    header = dict(read_manifest(out / FOLDER / MANIFEST).header)
    del header["validation_sha256"]
    return header
