"""Source files with the day on which they appeared: by git, or by the release of an archive."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce

from assay.corpora.commits import Age, GitHistory, commit_before
from assay.corpora.entry import CorpusSource, Entry, Reason
from assay.corpora.git import GitRepository
from assay.corpora.open import DEFAULT, open_sources, project_named
from assay.corpora.settings import CorpusSettings
from assay.corpora.texts import SourceText, text_or_reason
from assay.errors import DataError
from assay.licences import licence_of_file

TOO_NEW = "repository without a commit that old"
UNDATED = "file without a date"
SkippedFile = Callable[[str], None]
"""Receives the reason why a file or a repository is left out."""


@dataclass(frozen=True, slots=True)
class DatedFile:
    """One source file, or a function of one.

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
        if not lines:
            return self.age
        return reduce(Age.merged, lines)


def dated_files(
    corpora: Sequence[str],
    released: date | None = None,
    settings: CorpusSettings = DEFAULT,
    *,
    before: date | None = None,
    skipped: SkippedFile = lambda _: None,
) -> Iterator[DatedFile]:
    """Yield the source files of repositories, archives and folders with their dates.

    A file of a repository that no commit on the way to HEAD added (a merge did) has no date, and is left out.

    Args:
        corpora: paths.
        released: day on which every corpus that is not a git repository was published.
        settings: which files are read.
        before: read repositories as they were in the last commit before this day; None: at HEAD.
        skipped: receives the reason for each file or repository that is left out.

    Raises:
        DataError: a corpus cannot be read, is a shallow clone, or has no date.
    """
    for corpus in corpora:
        for source in open_sources([corpus]):
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
                name = project_named(source.name)
                dated = _dated(entry, name, history=history, released=released, settings=settings)
                if isinstance(dated, DatedFile):
                    yield dated
                else:
                    skipped(dated)


def _as_of(source: CorpusSource, before: date) -> CorpusSource | None:
    """Return a repository as it was before a day, None where it is younger; any other source as it is."""
    if not isinstance(source, GitRepository):
        return source
    commit = commit_before(source.path, before)
    if commit is None:
        return None
    return replace(source, revision=commit)


def _dated(
    entry: Entry, name: str, *, history: GitHistory | None, released: date | None, settings: CorpusSettings
) -> DatedFile | Reason | str:
    age = Age(released, released) if released else None
    if history is not None:
        age = history.files.get(entry.path)
    if age is None:
        return UNDATED
    text = text_or_reason(entry, settings)
    if not isinstance(text, SourceText):
        return text
    licence = licence_of_file(
        entry.facts.metadata, text.text, entry.facts.nearest, holders=entry.facts.holders or frozenset()
    )
    repository = entry.facts.repository or name
    return DatedFile(text, repository, licence=licence, age=age, history=history)
