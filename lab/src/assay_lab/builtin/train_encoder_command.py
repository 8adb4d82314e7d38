"""`assay lab builtin train-encoder`: the recipe of `builtin:fragments`."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli import OUTPUT, OUTPUT_NAMES
from assay.errors import DataError
from assay_lab.builtin.command_options import (
    TRAINING,
    AsJson,
    BatchPairs,
    Device,
    ExportOnly,
    Hardware,
    PackageCap,
    PairsAtOnce,
    PlanOnly,
    Steps,
    watched,
)

if TYPE_CHECKING:
    from assay_lab.builtin.export_encoder import EncoderRecord


def train_encoder_command(
    *,
    out: Annotated[
        Path,
        typer.Option(
            *OUTPUT_NAMES,
            metavar="DIR",
            help="Folder of the run: corpus, checkpoint, loss curve; encoder/ at the end.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ],
    package_cap: PackageCap = 4_000_000,
    control_corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Train on functions in eight languages too: the corpus folder of `build-control-corpus`.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    language_cap: Annotated[
        int,
        typer.Option(
            min=1, help="With --control-corpus: most characters of files in a language.", rich_help_panel=TRAINING
        ),
    ] = 16_000_000,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PACKAGE",
            help="Package to leave out, so that something can be measured on it; repeat.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    steps: Steps = 360,
    batch: BatchPairs = 2048,
    dimensions: Annotated[int, typer.Option(min=8, help="Length of a vector.", rich_help_panel=TRAINING)] = 384,
    device: Device = "auto",
    pairs_at_once: PairsAtOnce = 2048,
    hardware: Hardware = "not stated",
    plan_only: PlanOnly = False,
    export_only: ExportOnly = False,
    as_json: AsJson = False,
) -> None:
    """Train the encoder `builtin:fragments` on installed packages, with a record of every training text.

    It learns to find the whole function from a fragment of it: copied, renamed, or with statements added, removed and
    reordered. The texts are functions of installed packages under permissive licences. Building the corpus takes some
    minutes. To continue a run that was stopped, repeat the same command.

    **Example**: `assay lab builtin train-encoder --out runs/encoder`
    """
    from assay_lab.builtin.encoder_corpus import EncoderCorpusRecipe, prepare_encoder_corpus
    from assay_lab.builtin.export_encoder import export_encoder
    from assay_lab.builtin.train_encoder import CORPUS, EncoderMachine, EncoderRecipe, train_encoder

    corpus = EncoderCorpusRecipe(
        package_cap=package_cap,
        language_cap=language_cap if control_corpus else 0,
        left_out=tuple(sorted(leave_out or ())),
    )
    recipe = EncoderRecipe(corpus=corpus, steps=steps, batch=batch, dimensions=dimensions)
    try:
        if plan_only or (control_corpus is not None and not export_only):
            prepare_encoder_corpus(out / CORPUS, recipe.corpus, control_corpus)
        if plan_only:
            show_encoder_corpus(_corpus(out), as_json=as_json)
            return
        if not export_only:
            machine = EncoderMachine(device=device, pairs_at_once=pairs_at_once)
            watched(lambda progress: train_encoder(out, recipe, machine, progress=progress))
        record = export_encoder(out, out / "encoder", recipe, hardware=hardware)
        show_encoder_record(record, out / "encoder", as_json=as_json)
    except OSError as error:
        raise DataError(f"--out {out}: {error.strerror or error}; expected a folder that can be written") from error


def show_encoder_corpus(header: Mapping[str, object], *, as_json: bool) -> None:
    """Print the contents of a corpus on standard output."""
    if as_json:
        typer.echo(json.dumps(header, indent=1))
        return
    left_out = header["packages_left_out_for_their_licence"]
    per_language = header["functions_per_language"]
    assert isinstance(left_out, list)  # noqa: S101  the manifest's own format
    assert isinstance(per_language, dict)  # noqa: S101  the manifest's own format
    typer.echo(
        f"{header['functions_trained']:,} functions of {header['packages']} packages to train on "
        f"({', '.join(f'{count:,} {language}' for language, count in per_language.items())}), "
        f"{header['functions_held_out']:,} held out; found: {header['functions_found']:,}"
    )
    typer.echo(f"left out for want of a permissive licence: {', '.join(left_out) or 'none'}")


def show_encoder_record(record: "EncoderRecord", folder: Path, *, as_json: bool) -> None:
    """Print the result of a training run on standard output."""
    if as_json:
        typer.echo(json.dumps(asdict(record), indent=1))
        return
    state = "trained to the end" if record.finished else f"stopped at step {record.steps} of {record.recipe.steps}"
    typer.echo(
        f"{record.dimensions} dimensions, {record.bytes / 1e6:.1f} MB, {record.steps * record.recipe.batch:,} pairs, "
        f"{record.hours:.2f} hours, {state}"
    )
    typer.echo(
        f"loss {record.loss:.3f} nats; fragments of {record.validation_functions:,} held-out functions: "
        f"MRR {record.validation_mrr:.3f}"
    )
    typer.echo(f"Encoder: {folder}")


def _corpus(out: Path) -> Mapping[str, object]:
    from assay.ground_truth import read_manifest
    from assay_lab.builtin.encoder_corpus import MANIFEST
    from assay_lab.builtin.train_encoder import CORPUS

    return read_manifest(out / CORPUS / MANIFEST).header
