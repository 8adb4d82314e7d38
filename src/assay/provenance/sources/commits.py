"""A git repository as it was before a day, its commits before that day, and the messages of its commits."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from assay.errors import DataError
from assay.provenance.sources.entry import Entry, Facts
from assay.provenance.sources.git import Blob, blob_sizes, git_output, git_records, is_repository, tree_files
from assay.provenance.sources.open import DEFAULT
from assay.provenance.sources.texts import SourceText, entry_text


def texts_before(repository: Path, before: date) -> Iterator[SourceText]:
    """Yield the source files of the last commit on the way to HEAD that was made before a day.

    The day of the committer counts, which is never earlier than that of the author in an honest history. A history
    that was written anew carries the days of the rewriting, so it can only lose files.

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
            size = size_of(digest) if mode.startswith("100") else None  # links and submodules hold no code
            if size is None:
                continue
            entry = Entry(path, digest, size, Blob(repository, digest), Facts())
            if text := entry_text(entry, DEFAULT):
                yield text


def commit_before(repository: Path, before: date) -> str | None:
    """Return the last commit on the way to HEAD that was made before a day; None where there is none.

    Raises:
        DataError: git cannot read the repository.
    """
    listed = git_output(repository, "rev-list", "-1", f"--before={before.isoformat()}T00:00:00Z", "HEAD")
    return listed.strip() or None


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
        DataError: not a git repository, or no commit is that old.
    """
    if not is_repository(repository):
        raise DataError(f"{repository}: not a git repository, so nothing says how old its commits are; expected one")
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
    repository: Path, path: Path | None = None, *, seconds: float | None = None
) -> Iterator[tuple[str, str, str, str]]:
    """Yield digest, author, address and message of commits on the way to HEAD, the newest first.

    Args:
        repository: its root.
        path: only commits that changed this file, under its earlier names too, or this folder; None for all.
        seconds: after which reading stops; None reads all.

    Raises:
        DataError: git cannot read the repository.
        TimeoutError: the time is over; the commits so far are whole.
    """
    chosen = ["HEAD"]
    if path is not None:
        within = path.resolve().relative_to(repository.resolve()).as_posix()
        chosen = ["HEAD", "--", within] if path.is_dir() else ["--follow", "HEAD", "--", within]
    if not git_output(repository, "rev-list", "--max-count=1", "--all").strip():
        return  # a repository without a commit declares nothing
    options = ("log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--format=%H%x00%an%x00%ae%x00%B")
    records = git_records(repository, "--literal-pathspecs", *options, *chosen, seconds=seconds)
    # the same iterator four times: each commit takes four records, and a commit that was cut off is left out
    for digest, author, address, message in zip(records, records, records, records, strict=False):
        yield digest.strip(), author, address, message
