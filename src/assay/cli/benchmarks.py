"""`assay benchmarks`: the benchmarks that can be audited by name."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from assay.cli.options import AsJson

if TYPE_CHECKING:
    from assay.datasets import BenchmarkInfo

benchmarks_app = typer.Typer(name="benchmarks", help="The benchmarks that assay knows by name.", no_args_is_help=True)


@benchmarks_app.command("list")
def list_command(*, as_json: AsJson = False) -> None:
    """List every benchmark.

    **Example**: `assay benchmarks list`
    """
    from assay.datasets import list_benchmarks

    if as_json:
        typer.echo(json.dumps([facts(info) for info in list_benchmarks()], indent=1, ensure_ascii=False))
        return
    table = Table(title="Benchmarks", title_justify="left")
    for head in ("name", "title", "hub id", "languages", "labelled", "licence"):
        table.add_column(head, overflow="fold", no_wrap=head == "name")
    for info in list_benchmarks():
        languages = ", ".join(info.languages) or "prose"
        table.add_row(
            info.name, info.title, info.hub_id or "-", languages, "yes" if info.labelled else "no", info.licence
        )
    Console().print(table)


@benchmarks_app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of `assay benchmarks list`.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show one benchmark: where it comes from, which files are read, what the text of a sample is.

    **Example**: `assay benchmarks show mbpp`
    """
    from assay.datasets import benchmark

    shown = facts(benchmark(name))
    if as_json:
        typer.echo(json.dumps(shown, indent=1, ensure_ascii=False))
        return
    table = Table.grid(padding=(0, 2))
    for key, value in shown.items():
        table.add_row(key, in_words(value))
    Console().print(table, markup=False)


def facts(info: "BenchmarkInfo") -> dict[str, object]:
    """Return the facts of a benchmark, without the functions that read it."""
    return {key: value for key, value in asdict(info).items() if not callable(value) and value is not None}


def in_words(value: object) -> str:
    """Return a fact as text for the terminal."""
    if isinstance(value, dict):
        return "\n".join(f"{key}: {words}" for key, words in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
