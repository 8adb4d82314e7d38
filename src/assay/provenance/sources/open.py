"""From names of corpora to their sources."""

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
from assay.provenance.sources.rows import COLUMNS, Stream, TableFile, is_table

CorpusForm = Literal["folder", "git", "archive", "table", "file"]
CORPUS_FORMS: tuple[CorpusForm, ...] = get_args(CorpusForm)
STDIN = "-"

_NAMED_TABLE = re.compile(r"\.(?:parquet|jsonl|ndjson|json)(?:\.(?:gz|zst|bz2|xz))?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """Options for reading corpora.

    Attributes:
        form: of every corpus; None: detect it.
        name: of the single corpus in the index; None: its full path.
        all_history: of git repositories.
        honour_ignore: skip files that .gitignore files exclude.
        largest: bytes of a file; no more of a member or stream is kept in memory.
        exclude: patterns as in .gitignore: folders that match are not entered.
        columns: of tables, by the keys of `COLUMNS`.
    """

    form: CorpusForm | None = None
    name: str | None = None
    all_history: bool = False
    honour_ignore: bool = True
    largest: int = MEGABYTE
    exclude: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


def open_sources(corpora: list[str], options: CorpusOptions) -> list[CorpusSource]:
    """Return the sources of corpora: paths, or `-` for standard input.

    Files are opened only to detect their form. A folder read as "archive" or "table" gives one source for each such
    file in it.

    Raises:
        DataError: there is no such file or folder, or it does not have the form of the options.
    """
    unknown = sorted(set(options.columns) - set(COLUMNS))
    if unknown:
        raise DataError(f"column {unknown[0]!r}: expected one of {', '.join(COLUMNS)}")
    if options.name and len(corpora) > 1:
        raise DataError(f"received one name for {len(corpora)} corpora, expected a single corpus")
    sources: list[CorpusSource] = []
    for corpus in corpora:
        sources += [_stdin(options)] if corpus == STDIN else _on_disk(corpus, options)
    return sources


def source_name(corpus: str) -> str:
    """Return the name in an index of a corpus without a name: its full path, links resolved."""
    return "stdin" if corpus == STDIN else os.path.realpath(corpus)


def _stdin(options: CorpusOptions) -> CorpusSource:
    if options.form not in {None, "table", "file"}:
        raise DataError(f"standard input read as {options.form}: expected table or file")
    name = options.name or "stdin"
    return Stream(sys.stdin.buffer, name, options.largest, options.columns, options.form, path=name)


def _on_disk(corpus: str, options: CorpusOptions) -> list[CorpusSource]:
    path = Path(corpus)
    require_exists(path)
    name = options.name or source_name(corpus)
    if path.is_dir() and options.form in {"archive", "table"}:
        names = NAMED_ARCHIVE if options.form == "archive" else _NAMED_TABLE
        inside = [file for file in walk(path, skip=NEVER_ENTERED) if names.search(file.name)]
        if not inside:
            raise DataError(f"{path}: a folder without any {options.form}")
        # each file is a source of its own, so that an unchanged one is skipped by its stamp
        return [_opened(file, f"{name}/{file.relative_to(path).as_posix()}", options.form, options) for file in inside]
    return [_opened(path, name, options.form or _form(path), options)]


def _form(path: Path) -> CorpusForm:
    if path.is_dir():
        return "git" if is_repository(path) else "folder"
    if is_archive(path):
        return "archive"
    return "table" if is_table(path) else "file"


def _opened(path: Path, name: str, form: CorpusForm, options: CorpusOptions) -> CorpusSource:
    path = Path(os.path.realpath(path))
    if (form in {"folder", "git"}) != path.is_dir():
        raise DataError(f"{path}: a {'folder' if path.is_dir() else 'file'}, expected what can be read as {form}")
    match form:
        case "git":
            return GitRepository(path, name, options.all_history)
        case "archive":
            return Archive(path, name, options.largest)
        case "table":
            return TableFile(path, name, options.columns)
        case _:
            return Folder(path, name, options.honour_ignore, options.exclude)
