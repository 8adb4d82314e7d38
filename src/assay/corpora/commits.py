"""A git repository as it was before a day, its commits and their messages, and the dates of its files and lines.

The dates come from git alone: when a text appeared, and when it was last changed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import repeat
from operator import attrgetter
from pathlib import Path

import numpy as np

from assay.corpora.blame import blame
from assay.corpora.entry import Entry, Facts
from assay.corpora.git import (
    Blob,
    blob_sizes,
    check_whole,
    git_output,
    git_records,
    is_repository,
    tree_files,
)
from assay.corpora.open import DEFAULT
from assay.corpora.texts import SourceText, text_or_reason
from assay.errors import DataError


def texts_before(repository: Path, before: date, skipped: Counter[str] | None = None) -> Iterator[SourceText]:
    """Yield the source files of the last commit on the way to HEAD that was made before a day.

    The day of the committer counts, which is never earlier than that of the author in an honest history. A history
    that was written anew carries the days of the rewriting, so it can only lose files.

    Args:
        repository: its root.
        before: the day.
        skipped: is given the number of other files, by reason.

    Raises:
        DataError: not a git repository, or no commit is that old.
    """
    if not is_repository(repository):
        raise DataError(f"{repository}: not a git repository, so nothing says how old its files are; expected one")
    commit = commit_before(repository, before)
    if commit is None:
        raise DataError(
            f"{repository}: no commit before {before.isoformat()}, expected a longer history or a later day"
        )
    with blob_sizes(repository) as size_of:
        for mode, digest, path in tree_files(repository, commit):
            size = size_of(digest) if mode.startswith("100") else None
            text: SourceText | str = "link or submodule"
            if size is not None:
                entry = Entry(path, digest, size, content=Blob(repository, digest), facts=Facts())
                text = text_or_reason(entry, DEFAULT)
            elif mode.startswith("100"):
                text = "missing from the repository"
            if isinstance(text, SourceText):
                yield text
            elif skipped is not None:
                skipped[text] += 1


def commit_before(repository: Path, before: date) -> str | None:
    """Return the last commit on the way to HEAD that was made before a day; None where there is none.

    Raises:
        DataError: git cannot read the repository.
    """
    listed = git_output(repository, "rev-list", "-1", f"--before={before.isoformat()}T00:00:00Z", "HEAD")
    return listed.strip() or None


def middle_day(repository: Path, before: date) -> date | None:
    """Return the day before which half of the commits up to a day were made; None where none was made before it.

    Raises:
        DataError: git cannot read the repository.
    """
    until = f"--before={before.isoformat()}T00:00:00Z"
    seconds = sorted(map(int, git_output(repository, "log", "--no-merges", "--format=%ct", until, "HEAD").split()))
    if not seconds:
        return None
    middle = datetime.fromtimestamp(min(seconds[len(seconds) // 2], _LAST), UTC).date()
    if commit_before(repository, middle):
        return middle
    return None


@dataclass(frozen=True, slots=True)
class PastPatch:
    """The change of one commit against its parent.

    Attributes:
        repository: its root.
        commit: digest.
        patch: a unified diff.
    """

    repository: Path
    commit: str
    patch: str

    def file(self, path: str) -> str | None:
        """Return a file as the commit leaves it; None where the commit has none of this name."""
        try:
            return git_output(self.repository, "cat-file", "blob", f"{self.commit}:{path}")
        except DataError:
            return None


def patches_before(
    repository: Path, before: date, *, after: date | None = None, most: int | None = None, seed: int = 0
) -> Iterator[PastPatch]:
    """Yield the changes of commits on the way to HEAD that were made before a day; merges are left out.

    Args:
        repository: its root.
        before: day of the committer, as in `texts_before`.
        after: commits since this day only; None for all.
        most: commits, drawn at random; None for all.
        seed: of the draw.

    Raises:
        DataError: not a git repository, a shallow clone, or no commit is that old.
    """
    if not is_repository(repository):
        raise DataError(f"{repository}: not a git repository, so nothing says how old its commits are; expected one")
    check_whole(repository, "its first commit seems to have added every file")
    since = [f"--since={after.isoformat()}T00:00:00Z"] if after else []
    until = f"--before={before.isoformat()}T00:00:00Z"
    commits = git_output(repository, "rev-list", "--no-merges", until, *since, "HEAD").split()
    if not commits:
        raise DataError(
            f"{repository}: no commit before {before.isoformat()}, expected a longer history or a later day"
        )
    shown = ("show", "--format=", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--unified=3")
    for row in np.random.default_rng(seed).permutation(len(commits))[:most].tolist():
        yield PastPatch(repository, commits[row], git_output(repository, *shown, commits[row]))


def commit_messages(
    repository: Path,
    path: Path | None = None,
    *,
    revisions: Sequence[str] = ("HEAD",),
    seconds: float | None = None,
) -> Iterator[tuple[str, str, str, str]]:
    """Yield digest, author, address and message of commits on the way to HEAD, the newest first.

    Args:
        repository: its root.
        path: only commits that changed this file, under its earlier names too, or this folder; None for all.
        revisions: digests, or `("--no-walk=unsorted", *digests)` for these alone.
        seconds: after which reading stops; None reads all.

    Raises:
        DataError: git cannot read the repository.
        TimeoutError: the time is over; the commits so far are whole.
    """
    chosen = [*revisions]
    if path is not None:
        chosen += ["--", path.resolve().relative_to(repository.resolve()).as_posix()]
        if not path.is_dir():
            # git follows the earlier names of a file, never of a folder
            chosen.insert(0, "--follow")
    if not git_output(repository, "rev-list", "--max-count=1", "--all").strip():
        return  # a repository without a commit declares nothing
    options = ("log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--format=%H%x00%an%x00%ae%x00%B")
    records = git_records(repository, "--literal-pathspecs", *options, *chosen, seconds=seconds)
    # the same iterator four times: each commit takes four records, and a commit that was cut off is left out
    for digest, author, address, message in zip(records, records, records, records, strict=False):
        yield digest.strip(), author, address, message


_COMMIT = re.compile(r"\x01(\d+) (\d+)")
_LAST = 253_402_300_799  # the last second of the year 9999, which a date can hold
_TWO_PATHS = ("R", "C")


@dataclass(frozen=True, slots=True)
class Age:
    """The days, in UTC, on which a text appeared and was last changed.

    Attributes:
        first: earliest day; where author and committer name two, the earlier.
        last: latest day; the later of two.
    """

    first: date
    last: date

    def merged(self, other: "Age") -> "Age":
        """Return the age of two texts together."""
        return Age(min(self.first, other.first), max(self.last, other.last))


class GitHistory:
    """The commits on the way to a revision.

    Attributes:
        path: of the repository.
        revision: HEAD or a hexadecimal digest.
        files: path at the revision → age of the file; a renamed file keeps the day on which it appeared under its first
            name.
    """

    def __init__(self, path: Path, revision: str = "HEAD") -> None:
        """Read which commit touched which file, once.

        Raises:
            DataError: the clone is shallow, so that its oldest dates would be wrong, or git cannot read it.
        """
        check_whole(path, "dates would be wrong")
        self.path = path
        self.revision = revision
        self._blamed: tuple[str, list[Age]] = ("", [])
        self.files: dict[str, Age] = {}
        for age, old, new in self._changes():
            earlier = self.files.get(old)  # kept when a file is deleted: it may come back with its old text
            self.files[new] = age if earlier is None else earlier.merged(age)

    def _changes(self) -> Iterator[tuple[Age, str, str]]:
        """Yield age, old path and new path of every change, oldest commit first."""
        # parents before children: a file is known under its old name before it is renamed
        records = git_records(
            self.path, "log", "-z", "--topo-order", "--reverse", "-M", "--no-ext-diff", "--no-textconv",
            "--no-show-signature", "--name-status", "--format=%x00%x01%at %ct", self.revision,
        )  # fmt: skip
        age = Age(date.max, date.min)
        for record in records:
            if commit := _COMMIT.fullmatch(record):
                age = _age(int(commit[1]), int(commit[2]))
                continue
            kind = record.removeprefix("\n")[:1]
            # each commit begins with a NUL, which ends an empty record
            if not kind:
                continue
            old = next(records, "")
            new = next(records, "") if kind in _TWO_PATHS else old
            yield age, old, new

    def lines(self, path: str) -> list[Age]:
        """Return the age of each line of a file at the revision: of the commits that last changed it.

        Changes of spaces and moves do not count.

        Raises:
            DataError: git cannot read the file.
        """
        if self._blamed[0] == path:
            return self._blamed[1]
        ages: list[Age] = []
        for lines in sorted(blame(self.path, self.revision, path, "-w", "-M"), key=attrgetter("place")):
            ages += repeat(_age(lines.author_time, lines.committer_time), lines.count)
        self._blamed = path, ages  # functions of one file come one after the other
        return ages


def _age(author: int, committer: int) -> Age:
    days = [datetime.fromtimestamp(min(seconds, _LAST), UTC).date() for seconds in (author, committer)]
    return Age(min(days), max(days))
