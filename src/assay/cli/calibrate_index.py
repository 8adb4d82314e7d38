"""`assay index calibrate`: the meaning of a similarity in an index, measured on unrelated code."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import OBJECT, OUTPUT, At, output_file
from assay.errors import DataError

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.provenance import IndexCalibration
    from assay.reports import ColumnKind, Report

SHOWN = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Similarities whose rates are printed."""


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
        int, typer.Option(min=20, metavar="N", help="Largest number of functions to trace.", hidden=True)
    ] = 20_000,
    seed: Annotated[int, typer.Option(help="Seed of the choice and of the cuts.", hidden=True)] = 0,
    called: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Description of the unrelated code in the file.", rich_help_panel=OUTPUT),
    ] = None,
    out: Annotated[
        Path | None,
        output_file("The file (calibration.json in the index).", *OBJECT),
    ] = None,
) -> None:
    """Measure the rate at which unrelated code reaches each similarity in an index.

    The table becomes the confidence of `assay trace`: 1 - that rate. Functions that are copies by name and content are
    removed and listed; the most similar of the others are listed too.

    **Example**: `assay index calibrate --index corpus.index --unrelated our/own/code`
    """
    from assay.cli.present import show
    from assay.corpora import source_texts
    from assay.progress import progress_bar
    from assay.provenance import calibrate_index, open_for_search
    from assay.provenance.search import sampled_functions

    with open_for_search(at) as index, progress_bar("calibrating") as report:
        calibration = calibrate_index(
            index,
            sampled_functions(source_texts(unrelated), seed),
            most=functions,
            seed=seed,
            measured_on=called or ", ".join(unrelated),
            progress=report,
        )
        if not calibration.tables:
            raise DataError(
                f"{', '.join(unrelated)}: each function is too short for a fingerprint or a near-duplicate of the "
                "index, so nothing was measured or written; expected longer code from elsewhere"
            )
        if out is None:
            path = index.keep_calibration(calibration)
        else:
            calibration.save(out)
            path = str(out)
    show(describe_calibration(calibration, path))


def describe_calibration(calibration: "IndexCalibration", path: str) -> "Report":
    """Return the share of unrelated code that reaches each similarity, by language, channel and length."""
    from assay.reports import Column, Report, Row, Table, number_of

    rows = []
    for table in calibration.tables:
        for channel, bins in table.channels.items():
            for entry in bins:
                shares = map(entry.rate, SHOWN)
                rows.append(Row((table.language or "unknown", channel, entry.shortest, entry.n, *shares)))
    names = ("language", "channel", "tokens from", "n", *(f"{value:.0%}" for value in SHOWN))
    record: Mapping[str, Any] = calibration.provenance
    functions, removed = record["functions"], record["near_duplicates_removed"]
    rates: list[ColumnKind] = ["number"] * len(SHOWN)
    columns = tuple(map(Column, names, ("text", "text", "count", "count", *rates)))
    tables = (Table("rates", "Share of unrelated code that reaches a similarity", columns, rows=tuple(rows)),)
    return Report(
        "Calibration",
        f"{path}: {number_of(functions, 'function')}, {number_of(removed, 'near-duplicate')} removed",
        tables=tables if rows else (),
        data={
            "file": path,
            **calibration.provenance,
            "rates": [dict(zip(names, row.cells, strict=True)) for row in rows],
        },
    )
