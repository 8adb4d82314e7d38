"""`assay lab study`: questions about a kind of benchmark that need more than one audit."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli import ModelName, complete_benchmarks, complete_models, grouped, output_file
from assay.errors import DataError
from assay.models import ModelSettings

study_app = typer.Typer(name="study", help="Studies of a kind of benchmark.", no_args_is_help=True)

COMPARED = "Compared with"


@study_app.command("bugs")
@grouped
def study_bugs_command(
    model: ModelName,
    benchmarks: Annotated[
        list[str],
        typer.Argument(
            metavar="BENCHMARK…",
            autocompletion=complete_benchmarks,
            help="Bug benchmarks, or tables with the columns fixed and buggy.",
            show_default=False,
        ),
    ],
    *,
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]PATH",
            help="Where a benchmark lies. With several benchmarks give the option once for each, with its name.",
        ),
    ] = None,
    source_root: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Checkouts of the projects: study whole files at the commit of each bug, not hunks."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most bugs of a benchmark, drawn with a fixed seed.")] = None,
    probes: Annotated[
        bool, typer.Option("--probes", help="Also ask the model to repeat paths, functions and patches. Slow.")
    ] = False,
    variants: Annotated[
        int,
        typer.Option(
            min=0, help="Verified rewritings of both sides of a bug: is the preference for the fix memory of its text?"
        ),
    ] = 0,
    starts: Annotated[
        Literal["all", "paper"],
        typer.Option(help="Where 5-gram accuracy is measured: at all positions, or at five in 512 tokens."),
    ] = "all",
    control: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PATH",
            help="Texts to compare with, such as files that are newer than the model.",
            rich_help_panel=COMPARED,
        ),
    ] = None,
    later_commits: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Checkouts of the projects: commits to the same files since --cutoff are a control.",
            rich_help_panel=COMPARED,
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            autocompletion=complete_models,
            help="Model whose preference for the fix is subtracted.",
            rich_help_panel=COMPARED,
        ),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Index of a corpus: it shows which side of a bug it has.", rich_help_panel=COMPARED
        ),
    ] = None,
    repositories: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Repositories of a corpus, one owner/name a line.", rich_help_panel=COMPARED),
    ] = None,
    cutoff: Annotated[
        str | None,
        typer.Option(
            metavar="DAY", help="First day that the model cannot have seen: 2024-03-01.", rich_help_panel=COMPARED
        ),
    ] = None,
    out: Annotated[Path | None, output_file("Write the report here: .html, .md, .tex or .json.")] = None,
    settings: ModelSettings,
) -> None:
    """Measure what a model remembers of bugs, fixes and issue texts.

    The study describes and gives no verdict. It prints the mean NLL and the 5-gram accuracy of every set, and how often
    the model finds the fix likelier than the bug. With --index it also prints which sides of a bug the corpus has.

    **Example**: `assay lab study bugs builtin:small quixbugs --data QuixBugs/`
    """
    from assay.cli import chosen_format, show
    from assay.reports import check_report_path
    from assay_lab.bugs import study_bugs

    form = chosen_format()
    if out is not None:
        check_report_path(out)
    study = study_bugs(
        model,
        benchmarks,
        data=_data_paths(data, benchmarks),
        source_root=source_root,
        later_commits_in=later_commits,
        controls=_named_paths(control, "--control"),
        reference=reference,
        index=index,
        repositories=repositories,
        cutoff=cutoff,
        limit=limit,
        probes=probes,
        variants=variants,
        starts=starts,
        settings=settings,
    )
    path = None if out is None else study.report(out)
    show(study.describe(), form, path)


def _data_paths(texts: list[str] | None, benchmarks: list[str]) -> dict[str, Path | str]:
    """Return benchmark → path; of a single benchmark the path alone is enough."""
    if len(benchmarks) == 1 and texts and len(texts) == 1 and not texts[0].startswith(f"{benchmarks[0]}="):
        name, separator, _ = texts[0].partition("=")
        # a path may hold "=" itself: such a file exists, or a slash stands before the sign
        if not separator or Path(texts[0]).exists() or "/" in name:
            return {benchmarks[0]: texts[0]}
    return _named_paths(texts, "--data")


def _named_paths(texts: list[str] | None, option: str) -> dict[str, Path | str]:
    """Return name → path.

    Raises:
        DataError: a text has no name before "=", or no path after it, or a name stands twice.
    """
    named: dict[str, Path | str] = {}
    for text in texts or ():
        name, separator, path = text.partition("=")
        if not (name and separator and path):
            raise DataError(f"received {option} {text!r}, expected NAME=PATH")
        if name in named:
            raise DataError(f"{option} {name} is given twice: {named[name]} and {path}; expected one path")
        named[name] = path
    return named
