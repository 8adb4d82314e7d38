"""From what a user names to the sources that it holds."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from assay.datasets import require_exists, walk
from assay.errors import DataError
from assay.provenance.filters import MEGABYTE
from assay.provenance.sources.archives import NAMED_ARCHIVE, Archive, is_archive
from assay.provenance.sources.entry import CorpusSource
from assay.provenance.sources.folders import NEVER_ENTERED, Folder
from assay.provenance.sources.git import GitRepository, is_repository
from assay.provenance.sources.rows import COLUMNS, Stream, Table, is_table

Form = Literal["folder", "git", "archive", "table", "file"]
FORMS: tuple[Form, ...] = get_args(Form)
STDIN = "-"

_NAMED_TABLE = re.compile(r"\.(?:parquet|jsonl|ndjson|json)(?:\.(?:gz|zst|bz2|xz))?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """How corpora are read.

    Attributes:
        form: what every corpus is, where looking at it would tell otherwise; None: look.
        name: what the one corpus is called in the index; None: its full path.
        all_history: of git repositories.
        honour_ignore: leave out what .gitignore files leave out.
        largest: bytes of a file; no more of a member or stream is held in memory.
        exclude: patterns as in .gitignore: folders that match are not entered.
        columns: of tables, by the keys of `COLUMNS`.
    """

    form: Form | None = None
    name: str | None = None
    all_history: bool = False
    honour_ignore: bool = True
    largest: int = MEGABYTE
    exclude: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


def open_sources(corpora: list[str], reading: Reading) -> list[CorpusSource]:
    """The sources that the user's words name: paths, or `-` for standard input.

    Nothing is read but what tells the forms apart. A folder read as "archive" or "table" gives one source for each
    such file in it.

    Raises:
        DataError: no such file or folder, or it is not of the form that was asked for.
    """
    unknown = sorted(set(reading.columns) - set(COLUMNS))
    if unknown:
        raise DataError(f"column {unknown[0]!r}: expected one of {', '.join(COLUMNS)}")
    if reading.name and len(corpora) > 1:
        raise DataError(f"a name for {len(corpora)} corpora: expected one corpus, a name each")
    found: list[CorpusSource] = []
    for corpus in corpora:
        found += [_stdin(reading)] if corpus == STDIN else _on_disk(corpus, reading)
    return found


def source_name(corpus: str) -> str:
    """What an index calls a corpus that has no name of its own: its full path, links resolved."""
    return "stdin" if corpus == STDIN else os.path.realpath(corpus)


def _stdin(reading: Reading) -> CorpusSource:
    if reading.form not in {None, "table", "file"}:
        raise DataError(f"standard input read as {reading.form}: expected table or file")
    name = reading.name or "stdin"
    return Stream(sys.stdin.buffer, name, reading.largest, reading.columns, reading.form, path=name)


def _on_disk(corpus: str, reading: Reading) -> list[CorpusSource]:
    path = Path(corpus)
    require_exists(path)
    name = reading.name or source_name(corpus)
    if path.is_dir() and reading.form in {"archive", "table"}:
        wanted = NAMED_ARCHIVE if reading.form == "archive" else _NAMED_TABLE
        inside = [file for file in walk(path, skip=NEVER_ENTERED) if wanted.search(file.name)]
        if not inside:
            raise DataError(f"{path}: a folder without a single {reading.form}")
        # each file is a source of its own, so that one that did not change is passed over with one look
        return [_opened(file, f"{name}/{file.relative_to(path).as_posix()}", reading.form, reading) for file in inside]
    return [_opened(path, name, reading.form or _form(path), reading)]


def _form(path: Path) -> Form:
    if path.is_dir():
        return "git" if is_repository(path) else "folder"
    if is_archive(path):
        return "archive"
    return "table" if is_table(path) else "file"


def _opened(path: Path, name: str, form: Form, reading: Reading) -> CorpusSource:
    path = Path(os.path.realpath(path))
    if (form in {"folder", "git"}) != path.is_dir():
        raise DataError(f"{path}: a {'folder' if path.is_dir() else 'file'}, expected what can be read as {form}")
    match form:
        case "git":
            return GitRepository(path, name, reading.all_history)
        case "archive":
            return Archive(path, name, reading.largest)
        case "table":
            return Table(path, name, reading.columns)
        case _:
            return Folder(path, name, reading.honour_ignore, reading.exclude)
