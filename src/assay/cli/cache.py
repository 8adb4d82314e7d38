"""`assay cache`: the store of token statistics, and of what models wrote."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from assay.cli.groups import grouped
from assay.errors import DataError
from assay.settings import Setting, Settings

cache_app = typer.Typer(
    name="cache", help="Show or clear the stored token statistics and generated texts.", no_args_is_help=True
)


@dataclass(frozen=True, slots=True)
class CacheFile(Settings):
    """The cache that is meant."""

    path: Annotated[Path | None, Setting("Another cache file than the usual one.", metavar="FILE", common=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared(CacheFile):
    """Entries that are removed from a cache."""

    model: Annotated[
        str | None,
        Setting("Only this model: its name, or six or more first digits of its digest.", metavar="MODEL", common=True),
    ] = None


def _check_named(file: Path | None) -> None:
    """Raise an error for a named file that is missing: the cache would make it, and report that it is empty."""
    if file is not None and not file.is_file():
        raise DataError(f"--path {file}: no such file, expected a cache")


@cache_app.command("info")
@grouped
def info_command(*, which: CacheFile) -> None:
    """Say where the cache lies, how large it is and what it holds.

    **Example**: `assay cache info`
    """
    from assay.cli.present import show
    from assay.models import StatisticsCache
    from assay.reports import Column, Report, Row, Table, number_of

    _check_named(which.path)
    with StatisticsCache(which.path) as cache:
        info = cache.info()
    rows = tuple(Row((model.name, model.digest[:12], model.entries)) for model in info.models)
    columns = (Column("model"), Column("digest"), Column("texts", "count"))
    report = Report(
        title="Cache",
        statement=f"{info.path}: {number_of(info.entries, 'text')}, {decimal(info.bytes)}",
        tables=(Table("models", "Texts by model", columns=columns, rows=rows),) if rows else (),
        data=asdict(info) | {"path": str(info.path)},
    )
    show(report)


@cache_app.command("clear")
@grouped
def clear_command(*, which: Cleared) -> None:
    """Forget what is stored, of all models or of one.

    **Example**: `assay cache clear --model 3f2a9c`
    """
    from assay.cli.present import show
    from assay.models import StatisticsCache
    from assay.reports import Report, number_of

    _check_named(which.path)
    with StatisticsCache(which.path) as cache:
        removed = cache.clear(which.model)
        place = str(cache.path)
    show(Report("Cache", f"{place}: {number_of(removed, 'text')} removed", data={"path": place, "removed": removed}))
