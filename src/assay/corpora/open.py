"""From names of corpora to their sources."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

from assay.corpora.archives import NAMED_ARCHIVE, Archive, is_archive
from assay.corpora.entry import NEVER_ENTERED, CorpusSource
from assay.corpora.filters import languages_named
from assay.corpora.folders import Folder
from assay.corpora.git import GitRepository, is_repository, repository_damage
from assay.corpora.rows import ColumnNames, Stream, TableFile, is_table
from assay.corpora.settings import CorpusForm, CorpusSettings, TableColumns
from assay.datasets import require_exists, walk
from assay.errors import DataError

STDIN = "-"
DEFAULT: CorpusSettings = CorpusSettings()
NO_COLUMNS: TableColumns = TableColumns()

_NAMED_TABLE = re.compile(r"\.(?:parquet|jsonl|ndjson|json)(?:\.(?:gz|zst|bz2|xz))?$", re.IGNORECASE)
_RELEASE = re.compile(r"^(?P<name>.+?)-\d[\w.!+]*(?:-.*)?$")
"""Name of a wheel, an sdist or a source archive: the project's name stands before the version."""


def open_sources(
    corpora: Sequence[str], settings: CorpusSettings = DEFAULT, columns: TableColumns = NO_COLUMNS
) -> list[CorpusSource]:
    """Return the sources of corpora: paths, or `-` for standard input.

    Files are opened only to detect their form. A folder read as "archive" or "table" gives one source for each such
    file in it.

    Raises:
        DataError: there is no such file or folder, or it does not have the form of the settings.
    """
    languages_named(settings.language)  # an unknown language is reported before anything is read
    if settings.name and len(corpora) > 1:
        raise DataError(f"received one name for {len(corpora)} corpora, expected a single corpus")
    names = {name: str(column) for name, column in columns.changed().items()}
    sources: list[CorpusSource] = []
    for corpus in corpora:
        if corpus == STDIN:
            sources.append(_stdin(settings, names))
        else:
            sources += _on_disk(corpus, settings, names)
    return sources


def source_name(corpus: str) -> str:
    """Return the name in an index of a corpus without a name: its full path, links resolved."""
    if corpus == STDIN:
        return "stdin"
    return os.path.realpath(corpus)


def _stdin(settings: CorpusSettings, columns: ColumnNames) -> CorpusSource:
    if settings.form not in {None, "table", "file"}:
        raise DataError(f"standard input read as {settings.form}: expected table or file")
    name = settings.name or "stdin"
    stream = sys.stdin.buffer
    return Stream(stream, name, settings.largest, columns=columns, form=settings.form, path=name)


def _on_disk(corpus: str, settings: CorpusSettings, columns: ColumnNames) -> list[CorpusSource]:
    path = Path(corpus)
    require_exists(path)
    name = settings.name or source_name(corpus)
    if path.is_dir() and settings.form in {"archive", "table"}:
        names = NAMED_ARCHIVE if settings.form == "archive" else _NAMED_TABLE
        inside = [file for file in walk(path, skip=NEVER_ENTERED) if names.search(file.name)]
        if not inside:
            raise DataError(f"{path}: a folder without any {settings.form}")
        # each file is a source of its own, so that an unchanged one is skipped by its stamp
        named = {file: f"{name}/{file.relative_to(path).as_posix()}" for file in inside}
        return [_opened(file, inner, settings, columns=columns) for file, inner in named.items()]
    return [_opened(path, name, settings, columns=columns)]


def _form(path: Path) -> CorpusForm:
    if path.is_dir():
        return "git" if is_repository(path) else "folder"
    if is_archive(path):
        return "archive"
    return "table" if is_table(path) else "file"


def _opened(path: Path, name: str, settings: CorpusSettings, columns: ColumnNames) -> CorpusSource:
    form, note = settings.form or _form(path), ""
    # of a damaged repository the files of its work tree are read, unless its commits were asked for
    is_worktree = form == "git" and not settings.form and not settings.all_history and (path / ".git").exists()
    if is_worktree and (damage := repository_damage(path)):
        form, note = "folder", f"{damage}; its files were read from the disk, without history and authors"
    path = Path(os.path.realpath(path))
    if (form in {"folder", "git"}) != path.is_dir():
        raise DataError(f"{path}: a {'folder' if path.is_dir() else 'file'}, expected what can be read as {form}")
    match form:
        case "git":
            return GitRepository(path, name, settings.all_history)
        case "archive":
            return Archive(path, name, settings.largest)
        case "table":
            return TableFile(path, name, columns)
        case _:
            return Folder(
                path,
                name,
                honour_ignore=not settings.no_ignore,
                exclude=settings.exclude,
                largest=settings.largest,
                note=note,
            )


_FORGE = re.compile(r"https?://(?:www\.)?(?:git[^/]*|codeberg\.org|bitbucket\.org)/([^/]+/[^/]+?)(?:\.git)?/?")
"""Address of a repository: its owner and its name are what people know it by."""


def short_name(source: str, repository: str | None) -> str:
    """Return the short name of a source: the project behind it, or owner and name of its repository."""
    if repository is None:
        return project_named(source)
    if address := _FORGE.fullmatch(repository):
        return address[1]
    if "://" in repository:
        return project_named(source)
    return repository


def project_named(source: str) -> str:
    """Return the project behind a corpus: a folder's name, or an archive's without version and suffix."""
    stem = NAMED_ARCHIVE.sub("", PurePath(source).name)
    if release := _RELEASE.match(stem):
        return release["name"]
    return stem
