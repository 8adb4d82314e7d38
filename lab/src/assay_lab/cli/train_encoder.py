"""`assay lab train-encoder`: the encoder of HybridSourceTracker, trained on a corpus."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from assay.cli import MODEL, OUTPUT, OUTPUT_NAMES, echo
from assay.errors import DataError
from assay_lab.builtin.command_options import TRAINING, AsJson, BatchPairs, Device, PairsAtOnce, Steps, watched


def train_encoder_command(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="Encoder to begin with: folder or hub id of a model of transformers."),
    ],
    corpora: Annotated[
        list[str], typer.Argument(metavar="CORPUS …", help="Folders, git repositories, archives or tables of code.")
    ],
    *,
    out: Annotated[
        Path,
        typer.Option(
            *OUTPUT_NAMES,
            metavar="DIR",
            help="Folder of the run; its encoder/ is what `assay index build --encoder` takes.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ],
    layers: Annotated[
        int, typer.Option(min=0, help="First layers of the model that are kept; 0 for all.", rich_help_panel=MODEL)
    ] = 9,
    dimensions: Annotated[int, typer.Option(min=1, help="Of a vector.", rich_help_panel=MODEL)] = 1024,
    max_length: Annotated[
        int,
        typer.Option(min=0, help="Tokens read of a text; 0: as the model states.", rich_help_panel=MODEL),
    ] = 0,
    batch: BatchPairs = 2048,
    steps: Steps = 2000,
    rate: Annotated[float, typer.Option(min=0, help="Learning rate of AdamW.", rich_help_panel=TRAINING)] = 6e-4,
    warm_up: Annotated[
        int, typer.Option(min=0, help="Steps in which the rate rises from 0.", rich_help_panel=TRAINING)
    ] = 500,
    tokens: Annotated[int, typer.Option(min=1, help="Of a fragment.", rich_help_panel=TRAINING)] = 60,
    adapted: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of the fragments with frequent words replaced.", rich_help_panel=TRAINING
        ),
    ] = 0.5,
    seed: Annotated[int, typer.Option(help="Of every draw.", rich_help_panel=TRAINING)] = 0,
    device: Device = "auto",
    pairs_at_once: PairsAtOnce = 128,
    as_json: AsJson = False,
) -> None:
    """Train an encoder to find code from a fragment of it, as SourceTracker of HybridSourceTracker.

    The first layers of the model and a projection learn from fragments of the functions of a corpus, half of them with
    frequent words replaced; a tenth of the functions is held out. To continue a run that was stopped, repeat the same
    command. The defaults are the paper's: a GPU and a long night.

    **Example**: `assay lab train-encoder microsoft/unixcoder-base corpus/ -o runs/tracker`
    """
    from assay_lab.papers.hst.source_tracker import TrackerMachine, TrackerRecipe, snippets_of, train_tracker

    recipe = TrackerRecipe(
        model=model,
        layers=layers or None,
        dimensions=dimensions,
        batch=batch,
        steps=steps,
        rate=rate,
        warm_up=warm_up,
        tokens=tokens,
        adapted_share=adapted,
        max_length=max_length or None,
        seed=seed,
    )
    machine = TrackerMachine(device=device, pairs_at_once=pairs_at_once)
    snippets = snippets_of(corpora, tokens)
    try:
        done = watched(lambda progress: train_tracker(out, snippets, recipe, machine=machine, progress=progress))
    except OSError as error:
        raise DataError(f"--out {out}: {error.strerror or error}; expected a folder that can be written") from error
    if as_json:
        echo(json.dumps(asdict(done), indent=1))
        return
    echo(
        f"{done.trained:,} functions, {done.steps:,} steps of {recipe.batch:,}; fragments of {done.held_out:,} "
        f"held-out functions: MRR {done.mrr:.3f}, untrained {done.untrained_mrr:.3f}"
    )
    echo(f"Encoder: {done.folder}")
