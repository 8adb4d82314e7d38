"""`assay cache`: the store of token statistics, and of what models wrote."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

cache_app = typer.Typer(
    name="cache", help="The store of token statistics and of what models wrote.", no_args_is_help=True
)

CachePath = Annotated[
    Path | None, typer.Option("--path", metavar="FILE", help="Another cache file than the usual one.")
]


@cache_app.command("info")
def info_command(*, path: CachePath = None) -> None:
    """Say where the cache lies, how large it is and what it holds.

    **Example**: `assay cache info`
    """
    from assay.cli.present import chosen_format, show
    from assay.models import StatisticsCache
    from assay.reports import Column, Report, Row, Table

    with StatisticsCache(path) as cache:
        info = cache.info()
    rows = tuple(Row((model.name, model.digest[:12], model.entries)) for model in info.models)
    columns = (Column("model"), Column("digest"), Column("texts", "count"))
    report = Report(
        title="Cache",
        statement=f"{info.path}: {info.entries} texts, {decimal(info.bytes)}",
        tables=(Table("models", "Texts by model", columns, rows),) if rows else (),
        data=asdict(info) | {"path": str(info.path)},
    )
    show(report, chosen_format())


@cache_app.command("clear")
def clear_command(
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Only this model: its name, or six or more first digits of its digest."),
    ] = None,
    path: CachePath = None,
) -> None:
    """Forget what is stored, of all models or of one.

    **Example**: `assay cache clear --model 3f2a9c`
    """
    from assay.cli.present import chosen_format, show
    from assay.models import StatisticsCache
    from assay.reports import Report

    form = chosen_format()
    with StatisticsCache(path) as cache:
        removed = cache.clear(model)
        place = str(cache.path)
    show(Report("Cache", f"{place}: {removed} texts removed", data={"path": place, "removed": removed}), form)
