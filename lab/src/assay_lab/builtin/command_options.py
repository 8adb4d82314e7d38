"""Options and progress line of the commands that train a built-in model."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from assay.cli import OUTPUT
from assay.progress import ERRORS

if TYPE_CHECKING:
    from assay.training import TrainingProgress

CORPUS = "Corpus"
TRAINING = "Training"
COMPUTATION = "Computation"

PackageCap = Annotated[int, typer.Option(min=1, help="Most characters from one package.", rich_help_panel=CORPUS)]
Device = Annotated[
    str, typer.Option(metavar="auto|cpu|cuda", help="auto: a GPU where there is one.", rich_help_panel=COMPUTATION)
]
Steps = Annotated[int, typer.Option(min=1, help="Steps, each of one batch.", rich_help_panel=TRAINING)]
BatchPairs = Annotated[
    int, typer.Option(min=2, help="Pairs in a step: each other's negatives.", rich_help_panel=TRAINING)
]
PairsAtOnce = Annotated[
    int,
    typer.Option(
        min=1, help="Pairs in memory at a time; the gradient stays that of the batch.", rich_help_panel=COMPUTATION
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON.", rich_help_panel=OUTPUT)]
Hardware = Annotated[
    str, typer.Option(metavar="WORDS", help="Description of the machine, for the record.", rich_help_panel=OUTPUT)
]
PlanOnly = Annotated[
    bool, typer.Option("--plan-only", help="Build the corpus, print its contents, and stop.", rich_help_panel=OUTPUT)
]
ExportOnly = Annotated[
    bool, typer.Option("--export-only", help="Export the last checkpoint as it is.", rich_help_panel=OUTPUT)
]


Outcome = TypeVar("Outcome")


def watched(train: Callable[["TrainingProgress | None"], Outcome]) -> Outcome:
    """Train and return the outcome; on a terminal, show a line that is updated at each step."""
    if ERRORS.is_terminal:
        ERRORS.print("building the corpus, then training; after Ctrl-C the same command continues", highlight=False)
    return train(show_step if ERRORS.is_terminal else None)


def show_step(record: Mapping[str, float], steps: int) -> None:
    """Update the progress line on the terminal."""
    done = record["step"]
    left = record["seconds"] / done * (steps - done) / 60
    line = f"step {done} of {steps}, loss {record['loss']:.3f}, about {left:.0f} minutes left"
    ERRORS.print(line, end="\r" if done < steps else "\n", markup=False, highlight=False)
