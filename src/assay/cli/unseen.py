"""`assay unseen`: text that a model has certainly not seen."""

from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.completing import complete_benchmarks
from assay.cli.groups import Shown, grouped
from assay.cli.options import LINES, STANDARD_OUTPUT, output_file
from assay.cli.unused import refuse_unused
from assay.datasets import MOST_UNSEEN, DataSelection
from assay.settings import declared

unseen_app = typer.Typer(
    name="unseen", help="Collect text that a model has certainly not seen, for `audit --unseen`.", no_args_is_help=True
)


@unseen_app.callback()
def unseen() -> None:
    """Text that a model has certainly not seen, for `--unseen`."""


@unseen_app.command("build")
@grouped
def build_command(
    context: typer.Context,
    corpora: Annotated[
        list[str],
        typer.Argument(
            metavar="CORPUS…",
            help="Git repositories, archives and folders; with --download also names of packages and files that list "
            "them.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        Path,
        output_file(
            "File of JSON lines; - is standard output, the summary then goes to standard error.",
            *LINES,
            printable=True,
        ),
    ],
    like: Annotated[
        str | None,
        typer.Option(
            metavar="BENCHMARK",
            autocompletion=complete_benchmarks,
            help="Benchmark whose form the texts get; see also Data.",
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Only texts of which no line existed before this day: the model's release."),
    ] = None,
    before: Annotated[
        str | None, typer.Option(metavar="DATE", help="Only texts that have not changed since before this day.")
    ] = None,
    released: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Day on which archives and folders were published; --after needs it."),
    ] = None,
    unit: Annotated[Literal["function", "file"], typer.Option(help="What one text is.")] = "function",
    most: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Texts at most, drawn evenly over the repositories; an audit runs the model on each.",
        ),
    ] = MOST_UNSEEN,
    download: Annotated[
        bool,
        typer.Option("--download", help="Download packages by name with pip: wheels only, no code of them is run."),
    ] = False,
    groups: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Stop reading when N projects gave a text."),
    ] = None,
    seed: Annotated[int, typer.Option(hidden=True, help="Seed of every random draw.")] = 0,
    which: Annotated[DataSelection, Shown("data", "subset", "language")],
) -> None:
    """Collect functions (or files) in the form of a benchmark, newer than a model, and match them to the benchmark.

    Lines of a git repository are dated by git. Texts that the benchmark contains are left out. The command reports how
    well the match succeeded: an AUROC of .5 means that the texts alone do not tell benchmark and unseen text apart.

    **Example**: `assay unseen build ~/src/* --like humaneval --data HumanEval.jsonl.gz --after 2025-02-01 -o new.jsonl`
    """
    from assay.api import build_unseen
    from assay.cli.present import chosen_format, show
    from assay.cli.terminal import OUTPUT_SETTINGS
    from assay.datasets import read_dataset
    from assay.reports import describe

    if like is None:
        reason = "it is about a benchmark; expected --like BENCHMARK with it"
        refuse_unused(context, {entry.name: reason for entry in declared(DataSelection)})
    form = chosen_format()
    result = build_unseen(
        corpora,
        like=None if like is None else partial(read_dataset, like, which),
        after=after,
        before=before,
        released=released,
        unit=unit,
        most=most,
        seed=seed,
        download=download,
        groups=groups,
        out=None if out == STANDARD_OUTPUT else out,
    )
    if out == STANDARD_OUTPUT:
        typer.echo(result.json_lines(), nl=False)
        if not OUTPUT_SETTINGS.get().quiet:
            # standard output holds the texts
            show(result.describe(), form, err=True)
        return
    show(describe(result, path=str(out)), form)


@unseen_app.command("dates")
def dates_command(
    packages: Annotated[
        list[str],
        typer.Argument(
            metavar="PACKAGE…", help="Names, files that list them, or auto: our own list.", show_default=False
        ),
    ],
    *,
    after: Annotated[str, typer.Option(metavar="DATE", help="Nothing may have been uploaded before this day.")],
) -> None:
    """Check with pip that nothing of a list of packages was uploaded before a day; exit with 1 if something was.

    **Example**: `assay unseen dates auto --after 2025-08-01`
    """
    from assay.api.unseen import undated_packages
    from assay.cli.present import show
    from assay.reports import Report, number_of

    undated = undated_packages(packages, after)
    lines = tuple(starmap("{}: {}".format, undated.items()))
    statement = f"{number_of(len(undated), 'package')} may be older than {after}"
    show(Report("Packages", statement, details=lines, data={"after": after, "older": undated}))
    if undated:
        raise typer.Exit(1)
