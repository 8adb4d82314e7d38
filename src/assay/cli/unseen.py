"""`assay unseen`: text that a model has certainly not seen."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from assay.cli.completing import complete_benchmarks
from assay.cli.groups import grouped
from assay.cli.options import STANDARD_OUTPUT, DataOptions, output_file

unseen_app = typer.Typer(
    name="unseen", help="Text that a model has certainly not seen, for `--unseen`.", no_args_is_help=True
)


@unseen_app.callback()
def unseen() -> None:
    """Text that a model has certainly not seen, for `--unseen`."""


@unseen_app.command("build")
@grouped
def build_command(
    corpora: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS…", help="Git repositories, archives and folders.", show_default=False),
    ],
    *,
    out: Annotated[
        Path,
        output_file(
            "File of JSON lines; - is standard output, the summary then goes to standard error.", printable=True
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
    seed: Annotated[int, typer.Option(help="Seed of every random draw.")] = 0,
    which: DataOptions,
) -> None:
    """Collect functions (or files) in the form of a benchmark, newer than a model, and match them to the benchmark.

    Lines of a git repository are dated by git. Texts that the benchmark contains are left out. The command reports how
    well the match succeeded: an AUROC of .5 means that the texts alone do not tell benchmark and unseen text apart.

    **Example**: `assay unseen build ~/src/* --like humaneval --data HumanEval.jsonl.gz --after 2025-02-01 -o new.jsonl`
    """
    from assay.api import build_unseen
    from assay.cli.present import chosen_format, show
    from assay.cli.terminal import OUTPUT_SETTINGS
    from assay.studies import describe_unseen

    form = chosen_format()
    result = build_unseen(
        corpora,
        like=None if like is None else lambda: which.load(like),
        after=after,
        before=before,
        released=released,
        unit=unit,
        seed=seed,
        out=None if out == STANDARD_OUTPUT else out,
    )
    if out == STANDARD_OUTPUT:
        typer.echo(result.json_lines(), nl=False)
        if not OUTPUT_SETTINGS.get().quiet:
            show(describe_unseen(result), form, err=True)
        return
    show(describe_unseen(result, str(out)), form)
