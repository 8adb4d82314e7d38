"""`assay testbed train-encoder`: the recipe of `builtin:fragments`."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import OUTPUT, AsJson
from assay.cli.terminal import ERRORS
from assay.errors import DataError

if TYPE_CHECKING:
    from assay.testbed.export_encoder import EncoderRecord
    from assay.testbed.train_encoder import EncoderMachine, EncoderRecipe

CORPUS = "Corpus"
TRAINING = "Training"
COMPUTATION = "Computation"


def train_encoder_command(
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Folder of the run: corpus, checkpoint, loss curve; encoder/ at the end.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ],
    package_cap: Annotated[
        int, typer.Option(min=1, help="Most characters from one package.", rich_help_panel=CORPUS)
    ] = 4_000_000,
    steps: Annotated[int, typer.Option(min=1, help="Steps, each of one batch.", rich_help_panel=TRAINING)] = 120,
    batch: Annotated[
        int, typer.Option(min=2, help="Pairs in a step: each other's negatives.", rich_help_panel=TRAINING)
    ] = 2048,
    dimensions: Annotated[int, typer.Option(min=8, help="Length of a vector.", rich_help_panel=TRAINING)] = 384,
    device: Annotated[
        str,
        typer.Option(metavar="auto|cpu|cuda", help="auto: a GPU where there is one.", rich_help_panel=COMPUTATION),
    ] = "auto",
    pairs_at_once: Annotated[
        int,
        typer.Option(
            min=1, help="Pairs in memory at a time; the gradient stays that of the batch.", rich_help_panel=COMPUTATION
        ),
    ] = 2048,
    hardware: Annotated[
        str, typer.Option(metavar="WORDS", help="What it is trained on, for the record.", rich_help_panel=OUTPUT)
    ] = "not stated",
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Build the corpus, say what is in it, and stop.", rich_help_panel=OUTPUT)
    ] = False,
    export_only: Annotated[
        bool,
        typer.Option("--export-only", help="Export the last checkpoint as it is.", rich_help_panel=OUTPUT),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train the encoder `builtin:fragments` on what is installed, every training text on record.

    It learns to find the whole function from a fragment of it: copied, renamed, or with statements added, removed and
    reordered. The texts are functions of installed packages under permissive licences. The first minutes go into the
    corpus. A run that was stopped goes on where it was: give the same command again.

    **Example**: `assay testbed train-encoder --out runs/encoder`
    """
    from assay.testbed.encoder_corpus import EncoderCorpusRecipe
    from assay.testbed.train_encoder import EncoderMachine, EncoderRecipe

    corpus = EncoderCorpusRecipe(package_cap=package_cap)
    recipe = EncoderRecipe(corpus=corpus, steps=steps, batch=batch, dimensions=dimensions)
    try:
        if plan_only:
            show_encoder_corpus(_corpus(out, recipe), as_json=as_json)
            return
        if not export_only:
            _train(out, recipe, EncoderMachine(device=device, pairs_at_once=pairs_at_once))
        show_encoder_record(_export(out, recipe, hardware), out / "encoder", as_json=as_json)
    except OSError as error:
        raise DataError(f"--out {out}: {error.strerror or error}; expected a folder that can be written") from error


def show_encoder_corpus(header: Mapping[str, object], *, as_json: bool) -> None:
    """What a corpus consists of, on standard output."""
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
    """What a training run came to, on standard output."""
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


def _corpus(out: Path, recipe: "EncoderRecipe") -> Mapping[str, object]:
    from assay.testbed.encoder_corpus import MANIFEST, prepare_encoder_corpus
    from assay.testbed.manifest import read_manifest
    from assay.testbed.train_encoder import CORPUS as FOLDER

    prepare_encoder_corpus(out / FOLDER, recipe.corpus)
    return read_manifest(out / FOLDER / MANIFEST).header


def _train(out: Path, recipe: "EncoderRecipe", machine: "EncoderMachine") -> None:
    from assay.cli.testbed import show_step
    from assay.testbed.train_encoder import train_encoder

    if not ERRORS.is_terminal:
        train_encoder(out, recipe, machine)
        return
    ERRORS.print("building the corpus, then training; after Ctrl-C the same command goes on", highlight=False)
    train_encoder(out, recipe, machine, show_step)


def _export(out: Path, recipe: "EncoderRecipe", hardware: str) -> "EncoderRecord":
    from assay.testbed.export_encoder import export_encoder

    return export_encoder(out, out / "encoder", recipe, hardware=hardware)
