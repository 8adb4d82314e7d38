"""`assay detect`: declared signals, scores, and their place among the user's own human code."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from assay.authorship import CodeSelection, DetectorSettings
from assay.cli.groups import Shown, grouped
from assay.cli.options import LOG, OUTPUT, PAGES, STANDARD_OUTPUT, further_file, output_file
from assay.cli.unused import refuse_format, refuse_unused
from assay.errors import DataError
from assay.files import write_json
from assay.settings import declared

if TYPE_CHECKING:  # these import numpy and more; --help does not wait for them
    from assay.reports import Report


@grouped
def detect_command(
    context: typer.Context,
    code: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|FOLDER|TABLE|- …",
            help="Code; of a table of texts (JSON lines, Parquet) every row; - is standard input.",
            show_default=False,
        ),
    ],
    *,
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Human code to compare with, of `assay authorship calibrate`. Without it there is no verdict.",
        ),
    ] = None,
    by: Annotated[
        Literal["file", "function", "line"],
        typer.Option(help="Unit of code. line: who wrote the lines at HEAD by the records of tools; no scores."),
    ] = "file",
    lines: Annotated[str | None, typer.Option(metavar="FIRST-LAST", help="Lines of one file.")] = None,
    patch: Annotated[
        bool, typer.Option("--patch", help="The input is a unified diff; added lines are scored.")
    ] = False,
    which: Annotated[CodeSelection, Shown("language", "columns")],
    detector: DetectorSettings,
    page: Annotated[
        Path | None,
        output_file("Write the HTML report.", *PAGES),
    ] = None,
    sarif: Annotated[
        Path | None,
        further_file(
            "Write declared signals and shares of folders as SARIF 2.1.0; - is standard output.",
            *LOG,
            printable=True,
        ),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option("--redact", help="Write paths, digests and values, but no code.", rich_help_panel=OUTPUT),
    ] = False,
) -> None:
    """Look for declared signals of generators in code, and score its style.

    A score is no proof of misconduct. With --reference, a piece is called unusual if at most 5 % of the user's own
    human code scores as high, and every abstention has a reason. Without it only declared signals are looked for;
    scores that you name by --scores, --model or --classifier are a description.

    **Example**: `assay detect src/ --reference past.json -o report.html`
    """
    from assay.authorship import DetectorChoice, detect, detection_sarif, recorded_lines, recorded_sarif
    from assay.languages import checked_language
    from assay.reports import describe

    refuse_format(context, sarif)
    if patch and lines is not None:
        raise DataError("both --patch and --lines were given; expected one of them")
    if by == "line":
        unused = (*(entry.name for entry in declared(DetectorSettings)), "reference", "lines", "patch", "redact")
        reason = "--by line reads records, and scores nothing"
        refuse_unused(context, dict.fromkeys((*unused, "language", "text"), reason))
        recorded = recorded_lines(code)
        _finish(describe(recorded), log=recorded_sarif(recorded), page=page, sarif=sarif)
        return
    useless = dict(DetectorChoice(detector).unused())
    if patch or lines is not None:
        useless["by"] = f"{'--patch' if patch else '--lines'} names the code itself"
    refuse_unused(context, useless)
    detection = detect(
        code,
        detector=detector,
        reference=reference,
        by=by,
        lines=lines,
        patch=patch,
        language=which.language and checked_language(which.language),
        text=which.text,
    )
    # last, because the code is needed until a piece is judged
    if redact:
        detection = detection.redacted()
    _finish(detection.describe(), log=detection_sarif(detection), page=page, sarif=sarif)


def _finish(report: "Report", log: Mapping[str, Any], page: Path | None, sarif: Path | None) -> None:
    """Write the page and the SARIF log that were asked for, and print the report or the log."""
    from assay.cli.present import chosen_format, show
    from assay.cli.terminal import echo_json
    from assay.reports import write_html

    form = chosen_format()
    written = write_html(report, page) if page is not None else None
    if sarif == STANDARD_OUTPUT:
        echo_json(log)
        return
    if sarif is not None:
        write_json(sarif, log)
    show(report, form, written)
