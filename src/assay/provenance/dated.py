"""Source files with the day on which they appeared: by git, or by the release of an archive."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path, PurePath

from assay.errors import DataError
from assay.provenance.filters import Filters
from assay.provenance.index import CodeIndex
from assay.provenance.licences import resolved
from assay.provenance.past import commit_before
from assay.provenance.sources.archives import NAMED_ARCHIVE
from assay.provenance.sources.entry import CorpusSource, Entry, Reason
from assay.provenance.sources.git import GitRepository, is_repository
from assay.provenance.sources.history import Age, GitHistory
from assay.provenance.sources.open import CorpusOptions, open_sources
from assay.provenance.texts import SourceText, text_or_reason

_RELEASE = re.compile(r"^(?P<name>.+?)-\d[\w.!+]*(?:-.*)?$")
"""Name of a wheel, an sdist or a source archive: the project's name stands before the version."""

TOO_NEW = "repository without a commit that old"
UNDATED = "file without a date"
SkippedFile = Callable[[str], None]
"""Receives the reason why a file or a repository is left out."""

DOCUMENTS = 256
"""Documents of an index that are read at a time."""


@dataclass(frozen=True, slots=True)
class DatedFile:
    """One source file, or a function of one that an index holds.

    Attributes:
        source: path, text and language.
        repository: the repository, package or folder that it belongs to.
        licence: as an SPDX expression, or "unknown".
        age: of the file.
        history: of its repository; None where a release dates it.
    """

    source: SourceText
    repository: str
    licence: str
    age: Age
    history: GitHistory | None

    def age_of_lines(self, first: int, last: int) -> Age:
        """Return the age of some lines of the file: of the oldest and of the newest of them.

        Args:
            first: line, from 1.
            last: line; it counts too.

        Raises:
            DataError: git cannot read the file.
        """
        if self.history is None:
            return self.age
        lines = self.history.lines(self.source.path)[first - 1 : last]
        age = lines[0] if lines else self.age
        for other in lines[1:]:
            age = age.merged(other)
        return age


def dated_files(
    corpora: Sequence[str],
    released: date | None = None,
    filters: Filters | None = None,
    *,
    before: date | None = None,
    skipped: SkippedFile = lambda _: None,
) -> Iterator[DatedFile]:
    """Yield the source files of repositories, archives and folders with their dates.

    A file of a repository that no commit on the way to HEAD added (a merge did) has no date, and is left out.

    Args:
        corpora: paths.
        released: day on which every corpus that is not a git repository was published.
        filters: which files are read.
        before: read repositories as they were in the last commit before this day; None: at HEAD.
        skipped: receives the reason for each file or repository that is left out.

    Raises:
        DataError: a corpus cannot be read, is a shallow clone, or has no date.
    """
    for corpus in corpora:
        for source in open_sources([corpus], CorpusOptions()):
            if released is None and not isinstance(source, GitRepository):
                raise DataError(
                    f"{corpus}: not a git repository, so nothing says when its files appeared: expected a repository, "
                    "or --released YYYY-MM-DD"
                )
            past = source if before is None else _as_of(source, before)
            if past is None:
                skipped(TOO_NEW)
                continue
            history = None
            for entry in past.files():
                if history is None and isinstance(past, GitRepository):  # the first file: there are commits
                    history = GitHistory(past.path, past.revision)
                if not isinstance(entry, Entry):
                    skipped(entry.reason)
                    continue
                dated = _dated(entry, project_named(source.name), history, released, filters or Filters())
                if isinstance(dated, DatedFile):
                    yield dated
                else:
                    skipped(dated)


def dated_documents(index: CodeIndex, released: date | None = None) -> Iterator[DatedFile]:
    """Yield the documents of an index with their dates, each once, under its first origin.

    The repository that an origin names dates it, if it is still there; a document without one has the day `released`.
    The age is that of the file at HEAD, so a document is never taken for older than it is.

    Args:
        index: of a corpus.
        released: day on which all other documents were published.

    Raises:
        DataError: a document has no date.
    """
    ids = index.ids()
    for start in range(0, len(ids), DOCUMENTS):
        for document in index.documents(ids[start : start + DOCUMENTS]):
            origin = document.origins[0]
            history = _history_at(origin.source)
            age = history.files.get(origin.path) if history else None
            if age is None:
                if released is None:
                    raise DataError(
                        f"{index.folder}: nothing says when {origin.path} of {origin.source} appeared: expected the "
                        "git repository that was indexed, or --released YYYY-MM-DD"
                    )
                age = Age(released, released)
            text = SourceText(
                origin.path, document.text, document.language, document.name, origin.first_line, document.kind
            )
            yield DatedFile(text, origin.repository or project_named(origin.source), origin.licence, age, None)


@lru_cache(maxsize=64)
def _history_at(source: str) -> GitHistory | None:
    path = Path(source)
    return GitHistory(path) if path.is_dir() and is_repository(path) else None


def _as_of(source: CorpusSource, before: date) -> CorpusSource | None:
    """Return a repository as it was before a day, None where it is younger; any other source as it is."""
    if not isinstance(source, GitRepository):
        return source
    commit = commit_before(source.path, before)
    return None if commit is None else replace(source, revision=commit)


def _dated(
    entry: Entry, name: str, history: GitHistory | None, released: date | None, filters: Filters
) -> DatedFile | Reason | str:
    released_age = None if released is None else Age(released, released)
    age = released_age if history is None else history.files.get(entry.path)
    if age is None:
        return UNDATED
    text = text_or_reason(entry, filters)
    if not isinstance(text, SourceText):
        return text
    licence = resolved(entry.facts.metadata, text.text, entry.facts.nearest)
    return DatedFile(text, entry.facts.repository or name, licence, age, history)


def project_named(source: str) -> str:
    """Return the project behind a corpus: a folder's name, or an archive's without version and suffix."""
    stem = NAMED_ARCHIVE.sub("", PurePath(source).name)
    release = _RELEASE.match(stem)
    return release["name"] if release else stem
