"""`assay benchmarks`: the benchmarks that can be audited by name."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.completing import complete_benchmarks

if TYPE_CHECKING:
    from assay.datasets import BenchmarkInfo

benchmarks_app = typer.Typer(
    name="benchmarks", help="List the benchmarks that assay knows by name.", no_args_is_help=True
)


@benchmarks_app.command("list")
def list_command() -> None:
    """List every benchmark.

    **Example**: `assay benchmarks list`
    """
    from assay.cli.present import show
    from assay.datasets import list_benchmarks
    from assay.reports import Column, Report, Row, Table

    benchmarks = list_benchmarks()
    columns = (
        Column("name", "name"),
        Column("title"),
        Column("languages"),
        Column("labelled"),
        Column("hub id", optional=True),
        Column("licence", optional=True),
    )
    rows = tuple(
        Row(
            (
                info.name,
                info.title,
                ", ".join(info.languages) or "prose",
                "yes" if info.labelled else "no",
                info.hub_id or "-",
                info.licence,
            )
        )
        for info in benchmarks
    )
    table = Table("benchmarks", "Benchmarks", columns=columns, rows=rows)
    data = [facts(info) for info in benchmarks]
    show(Report(title="Benchmarks", statement="", tables=(table,), data=data))


@benchmarks_app.command("show")
def show_command(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", autocompletion=complete_benchmarks, help="A name of `assay benchmarks list`."),
    ],
) -> None:
    """Show one benchmark: origin, files, text of a sample, and the command that makes unseen text for it.

    **Example**: `assay benchmarks show mbpp`
    """
    from assay.cli.present import show
    from assay.datasets import benchmark
    from assay.reports import Column, Report, Row, Table

    info = benchmark(name)
    described = facts(info) | {"unseen": info.unseen_advice}
    table = Table(
        "benchmark",
        str(described["title"]),
        columns=(Column("entry", "name"), Column("value")),
        rows=tuple(Row((key.replace("_", " "), in_words(value))) for key, value in described.items()),
    )
    show(Report(title=name, statement="", tables=(table,), data=described))


def facts(info: "BenchmarkInfo") -> dict[str, object]:
    """Return the facts of a benchmark, without the functions that read it."""
    return {key: value for key, value in asdict(info).items() if not callable(value) and value is not None}


def in_words(value: object) -> str:
    """Return a fact as text for the terminal."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {in_words(entry)}" for key, entry in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
