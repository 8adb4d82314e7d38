"""Rows of a benchmark from its official files or folders, or from the hub."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from assay.datasets.benchmarks import BenchmarkInfo
from assay.datasets.families.selection import Selection
from assay.datasets.hub import hub_is_installed, hub_rows
from assay.datasets.sources import Note, SourceRow, data_files, read_rows, require_exists
from assay.errors import DataError

_SPLITS = ("train", "test", "validation")
_SHORT = {"javascript": "js"}  # as the official files spell it


def local_rows(info: BenchmarkInfo, selection: Selection, path: Path, note: Note) -> Iterator[SourceRow]:
    """Yield the rows of a benchmark from a file, or from a folder that holds its official files or layout at any depth.

    Raises:
        DataError: the benchmark is not there, or it cannot be read.
    """
    require_exists(path)
    if path.is_file():
        yield from _with_split(read_rows(path, note), path.name, selection)
        return
    if info.folders:
        seen = False
        for row in info.folders(path, note):
            seen = True
            yield row
        if seen:
            return
    files = official_files(info, selection, path)
    if not files:
        raise DataError(f"{path}: no file of {info.title} in this folder; expected {expected_files(info, selection)}")
    for file in files:
        yield from _with_split(read_rows(file, note), file.relative_to(path).as_posix(), selection)


def rows_from_hub(info: BenchmarkInfo, selection: Selection) -> Iterator[SourceRow]:
    """Yield the rows of a benchmark from the cache of the hub, or the hub.

    Raises:
        DataError: the hub does not hold it, `datasets` is not installed, or the hub cannot be reached.
    """
    parts = info.hub(selection)
    if not parts:
        raise DataError(
            f"{info.name}: it is not on the hub; expected a copy of {info.url}, named with --data PATH "
            f"(files: {expected_files(info, selection)})"
        )
    if not hub_is_installed():
        raise DataError(
            f"{info.name}: expected {expected_files(info, selection)} (named with --data PATH), "
            f"or the hub data set {info.hub_id} (pip install 'assay-code[hub]')"
        )
    for part in parts:
        yield from hub_rows(part)


def expected_files(info: BenchmarkInfo, selection: Selection) -> str:
    """Return the official file names, for a message."""
    return " or ".join(_patterns(info, selection))


def official_files(info: BenchmarkInfo, selection: Selection, folder: Path) -> list[Path]:
    """Return the files that match the first pattern with a match; without a match, every data file of the folder.

    If names of files contain the requested split, only those files.
    """
    names = {file: file.relative_to(folder).as_posix() for file in data_files(folder)}
    patterns = (f"*/{pattern}" for pattern in _patterns(info, selection))
    fitting = ([file for file, name in names.items() if fnmatchcase(f"/{name}", pattern)] for pattern in patterns)
    files = next((matches for matches in fitting if matches), list(names))
    of_split = [file for file in files if selection.split and _names_split(names[file], selection.split)]
    return of_split or files


def _patterns(info: BenchmarkInfo, selection: Selection) -> tuple[str, ...]:
    """Return the patterns of the file names for a request."""
    subset = selection.subset or info.default_subset or "*"
    language = selection.language or "*"
    patterns = info.subset_files.get(subset, info.files)
    return tuple(pattern.format(subset=subset, language=_SHORT.get(language, language)) for pattern in patterns)


def _names_split(path: str, split: str) -> bool:
    """Return True if a path names a split, as "data/test-00000-of-00001.parquet" does."""
    return re.search(rf"(^|[/_.-]){re.escape(split)}([/_.-]|$)", path) is not None


def _with_split(rows: Iterable[SourceRow], path: str, selection: Selection) -> Iterator[SourceRow]:
    """Yield rows with their split if the path names it."""
    candidates = (selection.split, *_SPLITS) if selection.split else _SPLITS
    split = next((name for name in candidates if _names_split(path, name)), None)
    for row in rows:
        yield row if split is None or row.get("split") else {**row, "split": split}
