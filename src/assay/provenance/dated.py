"""Source files with the day on which they appeared: by git, or by the release of an archive."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import PurePath

from assay.errors import DataError
from assay.provenance.filters import Filters
from assay.provenance.licences import resolved
from assay.provenance.sources.archives import NAMED_ARCHIVE
from assay.provenance.sources.entry import Entry
from assay.provenance.sources.git import GitRepository
from assay.provenance.sources.history import Age, GitHistory
from assay.provenance.sources.open import CorpusOptions, open_sources
from assay.provenance.texts import SourceText, entry_text

_RELEASE = re.compile(r"^(?P<name>.+?)-\d[\w.!+]*(?:-.*)?$")
"""Name of a wheel, an sdist or a source archive: the project's name stands before the version."""


@dataclass(frozen=True, slots=True)
class DatedFile:
    """One source file.

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
    corpora: Sequence[str], released: date | None = None, filters: Filters | None = None
) -> Iterator[DatedFile]:
    """Yield the source files of repositories, archives and folders with their dates.

    A file of a repository that no commit on the way to HEAD added (a merge did) has no date, and is left out.

    Args:
        corpora: paths.
        released: day on which every corpus that is not a git repository was published.
        filters: which files are read.

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
            history = None
            for entry in source.files():
                if history is None and isinstance(source, GitRepository):  # the first file: there are commits
                    history = GitHistory(source.path)
                if isinstance(entry, Entry):
                    yield from _dated(entry, project_named(source.name), history, released, filters or Filters())


def _dated(
    entry: Entry, name: str, history: GitHistory | None, released: date | None, filters: Filters
) -> Iterator[DatedFile]:
    released_age = None if released is None else Age(released, released)
    age = released_age if history is None else history.files.get(entry.path)
    text = None if age is None else entry_text(entry, filters)
    if age is None or text is None:
        return
    licence = resolved(entry.facts.metadata, text.text, entry.facts.nearest)
    yield DatedFile(text, entry.facts.repository or name, licence, age, history)


def project_named(source: str) -> str:
    """Return the project behind a corpus: a folder's name, or an archive's without version and suffix."""
    stem = NAMED_ARCHIVE.sub("", PurePath(source).name)
    release = _RELEASE.match(stem)
    return release["name"] if release else stem
