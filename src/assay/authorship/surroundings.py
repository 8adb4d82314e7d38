"""Signals that a file, a folder and their history declare, read within a limit of time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from assay.authorship.declared import Commit, Signal, in_branches, in_paths
from assay.authorship.record_store import RecordStore, signal_of
from assay.corpora import (
    changed_files,
    commit_messages,
    enclosing_repository,
    git_output,
    git_records,
    is_shallow,
)
from assay.errors import DataError

MOST_SIGNALS = 100_000
SECONDS = 20.0
"""Longest time that the history of one file or folder is read."""


def declared_around(path: Path, *, seconds: float = SECONDS) -> tuple[list[Signal], tuple[str, ...]]:
    """Return the configuration files of agents around a path, and the declarations of the commits that changed it.

    Notes of git-ai and traces of Agent Trace count under the name that the file had in the commit.

    Of a path in a git repository the configuration files of the whole repository count: they say that an agent is used
    there. Of a folder outside of one, its own files count.

    Args:
        path: file or folder.
        seconds: after which reading the list of files, and then the history, stops.

    Returns:
        The signals, and sentences on what was not read.
    """
    repository = enclosing_repository(path)
    if repository is None:
        files = sorted(path.rglob("*"))
        return list(in_paths(file.relative_to(path).as_posix() for file in files if file.is_file())), ()
    signals: list[Signal] = []
    unread: list[str] = []
    within = path.resolve().relative_to(repository).as_posix()
    try:
        signals += in_paths(_files_of(repository, seconds))
        store = RecordStore(repository)
        signals += (replace(signal_of(record), root=str(repository)) for record in store.loose)
        below = None
        if within != ".":
            below = path
        for fields in commit_messages(repository, below, seconds=seconds):
            signals += store.signals(Commit(*fields))
            if len(signals) > MOST_SIGNALS:
                unread.append(f"The history of {path} has more than {MOST_SIGNALS:,} declarations; not all were read.")
                break
        if is_shallow(repository):
            unread.append(f"{repository} is a shallow clone: earlier commits were not read (git fetch --unshallow).")
        signals += in_branches(_merged_branches(repository))
        unread += store.remarks
    except TimeoutError:
        unread.append(f"The history of {path} was read for {seconds:g} s; its oldest commits were not read.")
    except DataError as error:  # a repository of another user: the code itself can be judged all the same
        return signals, (f"The history of {path} was not read: {error}.",)
    signals = [signal for signal in signals if not signal.is_of_lines or _is_below(signal.files[0], within)]
    try:
        return _with_files(signals, repository=repository, path=path, seconds=seconds), tuple(unread)
    except (TimeoutError, DataError) as error:
        return signals, (*unread, f"The files of the commits that declare a generator were not read: {error}.")


def _is_below(path: str, within: str) -> bool:
    return within in {".", path} or path.startswith(f"{within}/")


def _with_files(signals: Sequence[Signal], repository: Path, path: Path, seconds: float) -> list[Signal]:
    """Return the signals of commits with the files below a path that each commit changed.

    Raises:
        DataError: git cannot read the repository.
        TimeoutError: the time is over.
    """
    commits = [signal.commit for signal in signals if signal.commit and not signal.files]
    if path.is_dir():
        below = None
        if path.resolve() != repository:
            below = path
        files = changed_files(repository, commits, below, seconds=seconds)
    else:  # of a file under an earlier name too
        own = path.resolve().relative_to(repository.resolve()).as_posix()
        files = {commit: [own] for commit in commits}
    # paths of a commit are relative to the root, and the user may have named the code from anywhere
    root = str(repository.resolve())
    return [
        replace(signal, files=signal.files or tuple(files.get(signal.commit, ())), root=root)
        if signal.commit
        else signal
        for signal in signals
    ]


def _files_of(repository: Path, seconds: float) -> Iterator[str]:
    """Yield the files of a work tree, tracked ones and others that are not ignored; of a bare repository, at HEAD."""
    # a bare repository has no work tree to list
    work_tree = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    bare = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD")
    yield from git_records(repository, *(work_tree if (repository / ".git").exists() else bare), seconds=seconds)


def _merged_branches(repository: Path) -> list[str]:
    """Return the names of the branches whose commits are all on the way to HEAD; none where there is no commit."""
    # --merged fails where HEAD names a branch without a commit
    if not git_output(repository, "rev-list", "--max-count=1", "--all").strip():
        return []
    places = ("refs/heads", "refs/remotes")
    return git_output(repository, "for-each-ref", "--format=%(refname)", "--merged=HEAD", *places).split()
