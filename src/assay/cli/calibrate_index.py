"""`assay index calibrate`: the meaning of a similarity in an index, measured on unrelated code."""

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
            help="Code that shares no origin with the index; repeat the option for several.",
            show_default=False,
        ),
    ],
    functions: Annotated[
        int, typer.Option(min=20, metavar="N", help="Largest number of functions to trace.", rich_help_panel=SCORES)
    ] = 20_000,
    seed: Annotated[int, typer.Option(help="Seed of the choice and of the cuts.", rich_help_panel=SCORES)] = 0,
    called: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Description of the unrelated code in the file.", rich_help_panel=OUTPUT),
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
    removed and listed; the most similar of the others are listed too.

    **Example**: `assay index calibrate --index corpus.index --unrelated our/own/code`
    """
    from assay.api import open_index, progress_bar, warn
    from assay.cli.terminal import echo
    from assay.provenance import calibrate_index, sampled_functions, source_texts

    with open_index(at) as index, progress_bar("calibrating") as report:
        calibration = calibrate_index(
            index,
            sampled_functions(source_texts(unrelated), seed),
            most=functions,
            seed=seed,
            measured_on=called or ", ".join(unrelated),
            progress=report,
        )
        if out is None:
            path = index.keep_calibration(calibration)
        else:
            calibration.save(out)
            path = str(out)
    removed = calibration.provenance["near_duplicates_removed"]
    echo(f"{path}: {calibration.provenance['functions']} functions, {removed} near-duplicates removed")
    for table in calibration.tables:
        for channel, bins in table.channels.items():
            for entry in bins:
                shares = "  ".join(f"{value:.0%}: {entry.rate(value):.4f}" for value in (0.1, 0.25, 0.5, 0.75, 1.0))
                measured = f"{table.language or 'unknown':10}  {channel:10}  from {entry.shortest:4}"
                echo(f"{measured}  n = {entry.n:6}  {shares}")
    if not calibration.tables:
        warn("no unrelated function is long enough for a fingerprint: nothing was measured")
