"""`assay testbed run provenance`: how well a search finds where altered fragments came from."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from assay.cli.terminal import progress_bar
from assay.errors import DataError

if TYPE_CHECKING:
    from assay.testbed.tracing.trial import Scale, TracingTrial

NAME = "provenance"
SOURCE = "HybridSourceTracker (Gurioli et al.), evaluation"
SUMMARY = "Fragments of known origin, altered, searched for in every way."


def run_tracing(scale: str, folder: Path, seeds: tuple[int, ...], *, as_json: bool) -> None:
    """Make the trial for each seed, write its tables and figures, and show those of the largest search space.

    Raises:
        DataError: no such scale.
    """
    from rich.console import Console

    from assay.reports.experiment import finding_table, write_finding
    from assay.reports.tables import markdown_of
    from assay.testbed.tracing.findings import trial_findings
    from assay.testbed.tracing.trial import SIZES

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
                typer.echo(markdown_of(finding_table(one), head=one.head) + "\n")
        Console().print(f"Pages: {len(pages)} in {here}; of {len(SIZES[size].spaces)} search spaces")


def trial(scale: "Scale", folder: Path, seed: int) -> "TracingTrial":
    """The trial of one seed."""
    from itertools import islice

    from assay.retrieval.encoding import open_encoder
    from assay.testbed.tracing.corpus import installed_functions, search_space
    from assay.testbed.tracing.trial import SIZES, run_trial

    size = SIZES[scale]
    documents = list(islice(installed_functions(), size.corpus))
    space = search_space(documents, smallest=size.spaces[0], targets=size.targets, long=max(size.windows), seed=seed)
    with progress_bar("searching") as report:
        return run_trial(space, size, open_encoder(), folder, seed=seed, progress=report)
