"""Rows from folders: code, one file a row; or data files, one after the other."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from assay.datasets.sources.files import file_rows
from assay.datasets.sources.json_text import SourceRow, UnreadRow
from assay.datasets.sources.stream import opened, unpacked_name, walk
from assay.datasets.sources.text import Note, decoded, is_binary
from assay.errors import DataError
from assay.languages import language_of

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", "__pycache__"})
LARGEST_CODE_FILE = 2**20
"""Bytes above which a code file is left out: generated tables and bundles, not written code."""

SPLITS = ("train", "test", "validation")
_DATA_NAME = re.compile(r"\.(jsonl?|ndjson|csv|tsv|parquet|arrow)$", re.IGNORECASE)
# JSON that the datasets package writes beside its data: it describes rows and holds none
_TABLES_OF_CONTENTS = frozenset({"state.json", "dataset_info.json", "dataset_infos.json", "dataset_dict.json"})
_PROSE = frozenset({".txt", ".md", ".rst", ".tex"})


def data_files(folder: Path) -> list[Path]:
    """Files below a folder whose names promise rows."""
    return [
        path
        for path in walk(folder, skip=VERSION_CONTROL)
        if _DATA_NAME.search(unpacked_name(path)) and path.name not in _TABLES_OF_CONTENTS
    ]


def splits_named(paths: Iterable[str]) -> list[str]:
    """Return the splits that paths name."""
    joined = "\n".join(paths)
    return [split for split in SPLITS if names_split(joined, split)]


def names_split(path: str, split: str) -> bool:
    """Return True if a path names a split, as "data/test-00000-of-00001.parquet" does."""
    return re.search(rf"(^|[/_.-]){re.escape(split)}([/_.-]|$)", path, re.MULTILINE) is not None


def with_split(rows: Iterable[SourceRow], path: str, preferred: str | None = None) -> Iterator[SourceRow]:
    """Yield rows with their split if the path names it: the preferred one, or one of `SPLITS`."""
    candidates = filter(None, (preferred, *SPLITS))
    split = next((name for name in candidates if names_split(path, name)), None)
    for row in rows:
        # the row's own split is better evidence than the name of its file
        if split and not row.get("split") and not isinstance(row, UnreadRow):
            row["split"] = split
        yield row


def folder_rows(folder: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of a folder: its code files, else the rows of its data files, else its prose files.

    A code or prose file is one row: "id" (path below the folder, with forward slashes), "text", "language".

    Raises:
        DataError: nothing in the folder can be read.
    """
    paths = list(walk(folder, skip=VERSION_CONTROL))
    if code := [path for path in paths if language_of(path.name)]:
        others = len(paths) - len(code)
        if others:
            note(f"{folder.name}: {others} file{'s' * (others > 1)} of no known programming language left out")
        yield from _texts(folder, code, note)
    elif data := data_files(folder):
        names = [path.relative_to(folder).as_posix() for path in data]
        has_splits = len(splits_named(names)) > 1
        for path, name in zip(data, names, strict=True):
            rows = file_rows(path, note)
            if has_splits:
                rows = with_split(rows, name)
            yield from rows
    elif prose := [path for path in paths if path.suffix.lower() in _PROSE]:
        yield from _texts(folder, prose, note)
    else:
        raise DataError(f"{folder}: {len(paths)} files, none of them readable; expected code, text or data files")


def _texts(folder: Path, paths: list[Path], note: Note) -> Iterator[SourceRow]:
    skipped: Counter[str] = Counter()
    latin: list[str] = []
    for path in paths:
        name = path.relative_to(folder).as_posix()
        try:
            with opened(path) as stream:
                raw = stream.read(LARGEST_CODE_FILE + 1)
        except DataError:
            skipped["unreadable"] += 1
            continue
        if len(raw) > LARGEST_CODE_FILE:
            skipped[f"larger than {LARGEST_CODE_FILE} bytes"] += 1
        elif is_binary(raw):
            skipped["binary"] += 1
        else:
            yield {"id": name, "text": decoded(raw, name, latin.append), "language": language_of(name)}
    for reason, count in sorted(skipped.items()):
        note(f"{folder.name}: {count} file{'s' * (count > 1)} skipped: {reason}")
    if latin:
        note(f"{folder.name}: {len(latin)} file{'s' * (len(latin) > 1)} not UTF-8, read as Latin-1")
    if sum(skipped.values()) == len(paths):
        raise DataError(f"{folder}: none of its {len(paths)} files can be read, expected code or text")
