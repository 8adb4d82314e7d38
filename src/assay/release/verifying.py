"""The tests of tasks: the original runs first, and a copy counts only where it passes what the original passes."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from assay.code import Limits, failure_of, passed
from assay.datasets import TaskLayout, runnable
from assay.errors import DataError, SandboxUnavailable
from assay.languages import languages_with
from assay.progress import progress_bar
from assay.release.secret_values import PASSES, Secret, SecretTask

TEST_LIMITS = Limits(wall_seconds=600, cpu_seconds=10)
"""Of all programs of one task together."""
TaskRow = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TaskTests:
    """How the tests of tasks are run.

    Attributes:
        layout: format of the tasks.
        packages: folders that the tests import from.
        unverified: tests that nothing here can run are left alone; else that is an error.
    """

    layout: TaskLayout
    packages: tuple[Path, ...] = ()
    unverified: bool = False

    def outcomes(self, rows: Sequence[TaskRow], task: SecretTask) -> list[bool] | None:
        """Return for each row whether its tests pass; None where there are none, or nothing that runs them.

        Raises:
            DataError: nothing here can run them, and copies have to be verified.
        """
        programs = [runnable(row, layout=self.layout, original=task.row, language=task.language) for row in rows]
        if task.language not in languages_with("tests") or None in programs:
            return None
        is_python = task.language == "python"
        limits = TEST_LIMITS if is_python else None
        try:
            return list(passed(list(map(str, programs)), language=task.language, limits=limits, packages=self.packages))
        except SandboxUnavailable as fault:
            if self.unverified:
                return None
            raise DataError(
                f"the tests of {task.id} cannot be run: {fault}; expected a sandbox, or --unverified"
            ) from None

    def failure(self, row: TaskRow, task: SecretTask) -> str:
        """Return what the tests of a row that fails write last."""
        program = runnable(row, layout=self.layout, original=task.row, language=task.language)
        if task.language != "python":
            return "its tests fail"
        return failure_of(str(program), limits=TEST_LIMITS, packages=self.packages)


@dataclass(frozen=True, slots=True)
class FailedCopy:
    """A published copy that fails the tests which it passed when it was made, and what they write last."""

    id: str
    output: str


def failed_copies(secret: Secret, number: int, packages: tuple[Path, ...] = ()) -> tuple[list[FailedCopy], int]:
    """Return the published copies that fail now, of those whose tests were run when they were made, and how many ran.

    Raises:
        DataError: nothing here can run the tests.
    """
    tests = TaskTests(secret.layout, packages)
    rows = dict(zip(secret.committed.order, secret.published(number), strict=True))
    tested = [task for task in secret.committed.tasks if task.level == PASSES]
    failed = []
    with sandbox_threads() as pool, progress_bar("running tests") as progress:
        outcomes = pool.map(lambda task: tests.outcomes([rows[task.id]], task), tested)
        for done, (task, outcome) in enumerate(zip(tested, outcomes, strict=True), 1):
            if outcome != [True]:
                failed.append(FailedCopy(task.id, tests.failure(rows[task.id], task)))
            if progress:
                progress(done, len(tested))
    return failed, len(tested)


def sandbox_threads() -> ThreadPoolExecutor:
    """Return the threads that wait for sandboxes."""
    return ThreadPoolExecutor(min(2, os.cpu_count() or 1))


def packages_in(folder: str | None) -> tuple[Path, ...]:
    """Return the folders that tests import from.

    Raises:
        DataError: there is no such folder.
    """
    if folder is None:
        return ()
    if not Path(folder).is_dir():
        raise DataError(f"--packages {folder}: no such folder, expected one of installed packages")
    return (Path(folder),)
