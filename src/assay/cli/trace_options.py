"""Options of `assay trace`, in groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.options import further_file

SEARCH = "Search"
GATE = "Licence gate"
MODES = "Other questions"
SURE = 0.95


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How matches are searched for, and which are kept."""

    method: Annotated[
        Literal["union", "hst", "winnowing", "vector"],
        typer.Option(help="Candidates by fingerprints, by vector, or by both.", rich_help_panel=SEARCH),
    ] = "union"
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Largest number of sources for each file.", rich_help_panel=SEARCH)
    ] = 5
    by: Annotated[
        Literal["function", "file"],
        typer.Option(
            help="function: each function, the lines outside of functions and the whole file. file: the whole alone.",
            rich_help_panel=SEARCH,
        ),
    ] = "function"
    min_similarity: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Least share of the code that a match contains. With --pairs: least similarity, 0.5 unless stated.",
            rich_help_panel=SEARCH,
        ),
    ] = 0.0
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="Least confidence; 0 shows all matches.", rich_help_panel=SEARCH)
    ] = SURE
    template: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Code to ignore in every text; repeat the option for several.", rich_help_panel=SEARCH
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Licences that fail the run, and findings that do not."""

    fail_on_licence: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on-licence",
            "--fail-on-license",
            metavar="SPDX",
            help="Exit with 1 if code was copied from a source with this licence: GPL-3.0-only, GPL-*, copyleft, "
            "unknown. Repeat the option for several.",
            rich_help_panel=GATE,
        ),
    ] = None
    allow_licence: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-licence",
            "--allow-license",
            metavar="SPDX",
            help="Licence that passes although --fail-on-licence has it; alone: the only licences that pass.",
            rich_help_panel=GATE,
        ),
    ] = None
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Findings that were accepted before do not fail the run.", rich_help_panel=GATE
        ),
    ] = None
    write_baseline: Annotated[
        Path | None,
        further_file("Accept all denied findings of this run from now on.", GATE),
    ] = None
    diff: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="Judge only the lines that this unified diff adds; without FILE arguments, in all files of the diff.",
            rich_help_panel=GATE,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ModeOptions:
    """Other questions about the code than that of its sources."""

    verbatim: Annotated[
        bool,
        typer.Option("--verbatim", help="List the longest passages that occur word for word.", rich_help_panel=MODES),
    ] = False
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="Compare all files with one another, without an index.", rich_help_panel=MODES),
    ] = False
    csv: Annotated[Path | None, further_file("Write the pairs of --pairs as CSV.", MODES)] = None
    write_clean: Annotated[
        Path | None,
        further_file("With --benchmark: write it without the samples that occur in the index, as JSON lines.", MODES),
    ] = None


IndexToTrace = Annotated[
    str | None,
    typer.Option(
        "--index", metavar="DIR|URL", help="Folder of the index, or address of a Qdrant server.", show_default=False
    ),
]
Sarif = Annotated[
    Path | None,
    further_file("Write SARIF 2.1.0 to this file; - is standard output.", printable=True),
]
