"""`assay testbed run provenance`: how well a search finds where altered fragments came from."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from assay.api import progress_bar
from assay.errors import DataError

if TYPE_CHECKING:
    from assay.experiments import Scale, TracingTrial

NAME = "provenance"
SOURCE = "HybridSourceTracker (Gurioli et al.), evaluation"
SUMMARY = "Fragments of known origin, altered, searched for in every way."


def run_tracing(scale: str, folder: Path, seeds: tuple[int, ...], *, as_json: bool) -> None:
    """Make the trial for each seed, write its tables and figures, and show those of the largest search space.

    Raises:
        DataError: no such scale.
    """
    from rich.console import Console

    from assay.experiments import SIZES, finding_table, trial_findings, write_finding
    from assay.reports import markdown_table

    size = next((one for one in SIZES if one == scale), None)
    if size is None:
        raise DataError(f"--scale {scale!r}: expected one of {', '.join(SIZES)} for {NAME}")
    for seed in seeds:
        here = folder if len(seeds) == 1 else folder / f"seed-{seed}"
        found = trial(size, here, seed)
        (here / "trial.json").write_text(found.as_json(), "utf-8")
        pages = {one.name: write_finding(here / one.name, one, {}) for one in trial_findings(found)}
        if as_json:
            typer.echo(found.as_json(), nl=False)
            continue
        largest = max(cell.space for cell in found.cells)
        for one in trial_findings(found):
            if f"-{largest}-" in one.name or one.name.endswith("cost"):
                typer.echo(markdown_table(finding_table(one)) + "\n")
        Console().print(f"Pages: {len(pages)} in {here}; of {len(SIZES[size].spaces)} search spaces")


def trial(scale: "Scale", folder: Path, seed: int) -> "TracingTrial":
    """The trial of one seed."""
    from itertools import islice

    from assay.experiments import SIZES, installed_functions, run_trial, search_space
    from assay.retrieval import open_encoder

    size = SIZES[scale]
    documents = list(islice(installed_functions(), size.corpus))
    space = search_space(documents, smallest=size.spaces[0], targets=size.targets, long=max(size.windows), seed=seed)
    with progress_bar("searching") as report:
        return run_trial(space, size, open_encoder(), folder, seed=seed, progress=report)
