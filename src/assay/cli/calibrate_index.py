"""`assay index calibrate`: how much a similarity means in an index, measured on code that has nothing to do with it."""

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import OUTPUT, SCORES, At


def calibrate_index_command(
    *,
    at: At,
    unrelated: Annotated[
        list[str],
        typer.Option(
            metavar="CORPUS",
            help="Code that did not come from the index, nor the index from it; may be given several times.",
            show_default=False,
        ),
    ],
    functions: Annotated[
        int, typer.Option(min=20, metavar="N", help="Functions to trace at most.", rich_help_panel=SCORES)
    ] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the choice and the cuts.", rich_help_panel=SCORES)] = 0,
    called: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What the file says of the unrelated code.", rich_help_panel=OUTPUT),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="The file (calibration.json in the index).", rich_help_panel=OUTPUT
        ),
    ] = None,
) -> None:
    """Measure the rate at which unrelated code reaches each similarity in an index.

    The table becomes the confidence of `assay trace`: 1 - that rate. Functions that are copies by name and content are
    taken out and listed, and so are the nearest ones that stayed.

    **Example**: `assay index calibrate --index corpus.index --unrelated our/own/code`
    """
    from assay.api import open_index, progress_bar, warn
    from assay.cli.terminal import echo
    from assay.provenance import calibrate_index, sampled_functions, source_texts

    with open_index(at) as index, progress_bar("calibrating") as report:
        found = calibrate_index(
            index,
            sampled_functions(source_texts(unrelated), seed),
            most=functions,
            seed=seed,
            measured_on=called or ", ".join(unrelated),
            progress=report,
        )
        if out is None:
            path = index.keep_calibration(found)
        else:
            found.save(out)
            path = str(out)
    removed = found.provenance["near_duplicates_removed"]
    echo(f"{path}: {found.provenance['functions']} functions, {removed} near-duplicates taken out")
    for channel, bins in found.channels.items():
        for one in bins:
            shares = "  ".join(f"{value:.0%}: {one.rate(value):.4f}" for value in (0.1, 0.25, 0.5, 0.75, 1.0))
            echo(f"{channel:10}  from {one.shortest:4}  n = {one.n:6}  {shares}")
    if not found.channels:
        warn("no unrelated function is long enough for a fingerprint: nothing was measured")
