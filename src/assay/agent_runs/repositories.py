"""Content of a repository at the base commit of a task: git mirrors and checkouts, asked with git alone."""

import shutil
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, repeat
from pathlib import Path

from assay.agent_runs.gold import GoldTask, Item
from assay.corpora import git_output, is_repository
from assay.errors import DataError

MOST_LINES = 400
"""Lines of a patch that git is asked for."""


def repository_of(task: GoldTask, folder: Path) -> Path | None:
    """Return the repository of a task below a folder, or the folder itself; None where there is none.

    Its folder has the name of the project, alone or after the owner: `django`, `django/django`, `django__django.git`.
    """
    owner, _, name = task.repository.rpartition("/")
    for spelled in (f"{owner}/{name}", f"{owner}__{name}", f"{owner}+{name}", f"{owner}-{name}", name):
        for path in (folder / spelled, folder / f"{spelled}.git", folder / spelled / "repo"):
            if name and path.is_dir() and is_repository(path):
                return path
    return folder if is_repository(folder) else None


@lru_cache(maxsize=4096)
def base_items(task: GoldTask, folder: Path) -> frozenset[Item] | None:
    """Return the items of the patch and its tests that the repository has at the base commit; None where it is missing.

    Raises:
        DataError: git is not installed.
    """
    repository = repository_of(task, folder)
    # an error of git below means that a commit or a file is not there: without git nothing would be
    if repository is not None and shutil.which("git") is None:
        raise DataError(f"{repository}: a git repository, but the program git is not installed")
    if repository is None or not _has(repository, task.base):
        return None
    present: set[Item] = set()
    for text in _files(repository, task):
        present |= task.fix.shown(text) | task.tests.shown(text)
    return frozenset(present)


def _files(repository: Path, task: GoldTask) -> Iterator[str]:
    """Yield the texts of the files with a line of the patch at the base commit."""
    # files that the patch does not name may hold its lines too, as where code is moved or repeated
    lines = list(dict.fromkeys((*task.fix.lines, *task.tests.lines)))[:MOST_LINES]
    names: set[str] = set()
    if lines:
        patterns = chain.from_iterable(zip(repeat("-e"), lines))
        try:
            listed = git_output(repository, "grep", "-l", "-z", "-F", *patterns, task.base, "--")
        except DataError:  # git grep ends with 1 where nothing matches; the commit was seen before
            listed = ""
        names = {name.partition(":")[2] for name in listed.split("\0") if name}
    for name in sorted(names | {*task.fix.paths, *task.tests.paths}):
        try:
            yield git_output(repository, "cat-file", "blob", f"{task.base}:{name}")
        except DataError:  # the patch adds the file
            continue


@lru_cache(maxsize=4096)
def _has(repository: Path, commit: str) -> bool:
    if not commit:
        return False
    try:
        git_output(repository, "rev-parse", "--verify", "-q", f"{commit}^{{commit}}")
    except DataError:
        return False
    return True
