"""Where the rows of a benchmark come from: its official files or folders, or the hub."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from assay.datasets.benchmarks import BenchmarkInfo
from assay.datasets.families.selection import Selection
from assay.datasets.hub import hub_is_installed, hub_rows
from assay.datasets.sources import Note, Row, data_files, read_rows, require_exists
from assay.errors import DataError

_SPLITS = ("train", "test", "validation")
_SHORT = {"javascript": "js"}  # as the official files spell it


def local_rows(info: BenchmarkInfo, wanted: Selection, path: Path, note: Note) -> Iterator[Row]:
    """Rows of a benchmark from a file, or from a folder that holds its official files or layout at any depth.

    Raises:
        DataError: nothing of the benchmark is there, or it cannot be read.
    """
    require_exists(path)
    if path.is_file():
        yield from _knowing_split(read_rows(path, note), path.name, wanted)
        return
    if info.folders:
        seen = False
        for row in info.folders(path, note):
            seen = True
            yield row
        if seen:
            return
    files = official_files(info, wanted, path)
    if not files:
        raise DataError(f"{path}: no file of {info.title} in this folder; expected {expected_files(info, wanted)}")
    for file in files:
        yield from _knowing_split(read_rows(file, note), file.relative_to(path).as_posix(), wanted)


def rows_from_hub(info: BenchmarkInfo, wanted: Selection) -> Iterator[Row]:
    """Rows of a benchmark from the cache of the hub, or the hub.

    Raises:
        DataError: the hub does not hold it, `datasets` is not installed, or the hub cannot be reached.
    """
    parts = info.hub(wanted)
    if not parts:
        raise DataError(
            f"{info.name}: no hub data set holds it; wanted a copy of {info.url}, given with --data PATH "
            f"(in it: {expected_files(info, wanted)})"
        )
    if not hub_is_installed():
        raise DataError(
            f"{info.name}: wanted {expected_files(info, wanted)} (give it with --data PATH), "
            f"or the hub data set {info.hub_id} (pip install 'assay-code[hub]')"
        )
    for part in parts:
        yield from hub_rows(part)


def expected_files(info: BenchmarkInfo, wanted: Selection) -> str:
    """The official file names, for a message."""
    return " or ".join(_patterns(info, wanted))


def official_files(info: BenchmarkInfo, wanted: Selection, folder: Path) -> list[Path]:
    """The files that fit the first pattern that fits any; where none does, every data file of the folder.

    Where names of files speak of the split that is wanted, only those.
    """
    names = {file: file.relative_to(folder).as_posix() for file in data_files(folder)}
    patterns = (f"*/{pattern}" for pattern in _patterns(info, wanted))
    fitting = ([file for file, name in names.items() if fnmatchcase(f"/{name}", pattern)] for pattern in patterns)
    files = next((found for found in fitting if found), list(names))
    of_split = [file for file in files if wanted.split and _speaks_of(names[file], wanted.split)]
    return of_split or files


def _patterns(info: BenchmarkInfo, wanted: Selection) -> tuple[str, ...]:
    """The patterns of the file names, with what was asked for filled in."""
    variant = wanted.variant or info.default_variant or "*"
    language = wanted.language or "*"
    patterns = info.variant_files.get(variant, info.files)
    return tuple(pattern.format(variant=variant, language=_SHORT.get(language, language)) for pattern in patterns)


def _speaks_of(path: str, split: str) -> bool:
    """Whether a path names a split, as "data/test-00000-of-00001.parquet" does."""
    return re.search(rf"(^|[/_.-]){re.escape(split)}([/_.-]|$)", path) is not None


def _knowing_split(rows: Iterable[Row], path: str, wanted: Selection) -> Iterator[Row]:
    """Rows that know their split where the path tells it."""
    candidates = (wanted.split, *_SPLITS) if wanted.split else _SPLITS
    split = next((name for name in candidates if _speaks_of(path, name)), None)
    for row in rows:
        yield row if split is None or row.get("split") else {**row, "split": split}
