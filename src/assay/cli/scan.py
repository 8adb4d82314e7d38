"""`assay scan`: is this benchmark in my training data?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import typer

from assay.cli.completing import complete_benchmarks
from assay.cli.groups import Shown, grouped
from assay.cli.options import OUTPUT, PAGES, further_file, output_file, writable_folder
from assay.settings import COLUMNS, Setting, Settings

READING = "Reading"
UNDECIDED = 3
"""Exit code where a rule was given, nothing was found, and something was not read."""


@dataclass(frozen=True, slots=True)
class ScanColumns(Settings):
    """Columns of the corpus that are compared."""

    PANEL: ClassVar[str] = READING
    text: Annotated[
        str | None,
        Setting(
            "Columns of texts, joined by +; dots lead into nested ones (all text).",
            safe_when_found=True,
            inside=COLUMNS,
        ),
    ] = None


@grouped
def scan_command(
    corpora: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS…",
            help="Training data: JSON lines, Parquet, Arrow, CSV, archives, WebDataset, folders, hf:OWNER/NAME.",
            show_default=False,
        ),
    ],
    *,
    benchmarks: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="BENCHMARK,…",
            autocompletion=complete_benchmarks,
            help="Benchmarks that are looked for: NAME, NAME=PATH of its files, or a table of tasks.",
            show_default=False,
        ),
    ],
    words_only: Annotated[
        bool,
        typer.Option("--words-only", help="Do not look for code with other names: faster.", rich_help_panel=READING),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Files that are read at a time (all cores).", rich_help_panel=READING),
    ] = None,
    readers: Annotated[
        str,
        typer.Option(
            metavar="NAME[:ADDRESS]",
            help="What reads the files: processes of this machine, or a plug-in, such as ray:ADDRESS.",
            rich_help_panel=READING,
        ),
    ] = "processes",
    write_clean: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the corpus without the rows that hold a task or were not read; same shape and compression.",
            rich_help_panel=OUTPUT,
            callback=writable_folder,
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        Literal["found"] | None,
        typer.Option(help="Exit with 1 if a task was found, with 3 if a part was not read."),
    ] = None,
    output: Annotated[
        Path | None, output_file("Write the evidence, a row for each task and place: .parquet or .jsonl.")
    ] = None,
    page: Annotated[
        Path | None, further_file("Write the report as a page, with both texts of each place.", *PAGES)
    ] = None,
    columns: Annotated[ScanColumns, Shown("columns")],
) -> None:
    """Look for the tasks of benchmarks in training data, and say for each: found, not found, or too short to tell.

    Looks for the whole task, its prompt, its solution and its tests, word for word, reformatted, rewrapped, and code
    with other names. With -o a scan that was killed continues with the files that are missing.

    **Example**: `assay scan data/*.jsonl.zst --for humaneval=HumanEval.jsonl.gz -o evidence.parquet`
    """
    from assay.api import scan_data
    from assay.cli.present import show
    from assay.reports import write_html
    from assay.scan import check_outside

    check_outside("--page", page, corpora)
    scanned = scan_data(
        corpora,
        list(filter(None, benchmarks.split(","))),
        columns=tuple(filter(None, (columns.text or "").split("+"))),
        blind=not words_only,
        jobs=jobs,
        readers=readers,
        clean=write_clean,
        out=output,
    )
    report = scanned.describe()
    show(report, page=None if page is None else write_html(report, page), summary=True)
    if fail_on is not None:
        # a task that was found decides, whatever else was not read
        if scanned.tasks("found"):
            raise typer.Exit(1)
        if scanned.evidence.unread or scanned.tasks("too short to tell"):
            raise typer.Exit(UNDECIDED)
