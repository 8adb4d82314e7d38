"""`assay authorship`: calibration on older code."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.authorship import DetectorSettings
from assay.cli.groups import grouped
from assay.cli.options import OBJECT, output_file
from assay.cli.unused import options_of_command_line, refuse_unused
from assay.errors import DataError
from assay.settings import day_named

authorship_app = typer.Typer(
    name="authorship", help="Prepare code of people, which `detect` compares with.", no_args_is_help=True
)


@authorship_app.callback()
def authorship() -> None:
    """Code of people, such as your own past, for `assay detect` to compare with."""


@authorship_app.command("calibrate")
@grouped
def calibrate_authorship_command(
    context: typer.Context,
    past: Annotated[
        list[str],
        typer.Argument(
            metavar="REPOSITORY…", help="Git repositories; with --undated, any folders.", show_default=False
        ),
    ],
    *,
    before: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="Take the files as they were before this day, for example 2021-01-01."),
    ] = None,
    undated: Annotated[
        bool, typer.Option("--undated", help="Folders without a history, which people certainly wrote.")
    ] = False,
    by: Annotated[
        Literal["file", "function", "patch"],
        typer.Option(help="Unit of code, as with `detect`; patch: added lines of older commits, for `detect --patch`."),
    ] = "file",
    most: Annotated[
        int, typer.Option(min=45, help="Most pieces of one language and length class, drawn at random.")
    ] = 500,
    output: Annotated[Path, output_file("The reference to write.", *OBJECT)],
    detector: DetectorSettings,
) -> None:
    """Score code that no generator can have written, for `assay detect --reference`. The file holds no text.

    `assay detect` needs the same options of the detector later. A score is no proof of misconduct.

    **Example**: `assay authorship calibrate . --before 2021-01-01 -o past.json`
    """
    if (before is None) != undated:
        received = "both --before and --undated" if undated else "neither --before nor --undated"
        raise DataError(
            f"{received}: expected --before YYYY-MM-DD for git repositories, or --undated for folders that people wrote"
        )
    from assay.authorship import DetectorChoice, calibrate_authorship
    from assay.cli.present import show
    from assay.reports import describe

    refuse_unused(context, DetectorChoice(detector).unused())
    reference, left_out = calibrate_authorship(
        past, output, before=day_named(before, "--before"), detector=detector, by=by, most=most
    )
    report = describe(reference, left_out=left_out)
    show(replace(report, notes=(f"next: assay detect CODE --reference {output}{_same(context, by)}", *report.notes)))


def _same(context: typer.Context, by: str) -> str:
    """Return the options that `assay detect` needs as well."""
    words = {"file": "", "function": " --by function", "patch": " --patch"}[by]
    for name, option in options_of_command_line(context).items():
        value = context.params.get(name)
        if name in {"classifier", "model", "scores", "score_model"}:
            words += "".join(f" {option} {entry}" for entry in (value if isinstance(value, list) else [value]))
    return words
