"""Some tasks beside a copy of each, for the author to read before anything is committed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any

from assay.datasets import cells_of
from assay.release.making import committed_release, task_rows
from assay.release.secret_values import SecretTask
from assay.release.settings import ReleaseSettings
from assay.reports import TabularResult

SHOWN_TASKS = 10


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line of a task and the line of the copy in its place; "" where one has none."""

    column: str
    original: str
    copy: str


@dataclass(frozen=True, slots=True, repr=False)
class ShownCopies(TabularResult):
    """The changes in copies of some tasks; they are of a key that is thrown away.

    Attributes:
        tasks: id of a task → its changed lines.
        left_out: id → why a task has none.
        naming: where names come from.
    """

    tasks: Mapping[str, tuple[ChangedLine, ...]]
    left_out: Mapping[str, str]
    naming: str


def show_copies(
    tasks: str | Path,
    settings: ReleaseSettings | None = None,
    **by_name: Any,  # noqa: ANN401  the types of the settings
) -> ShownCopies:
    """Return what a copy of up to ten tasks would change; nothing is written, and nothing of it is ever published.

    Args:
        tasks: a file of tasks, as of `make_release`.
        settings: as of `make_release`.
        by_name: single settings of it by name.

    Raises:
        DataError: bad input.
    """
    settings = (settings or ReleaseSettings()).with_values(**by_name)
    rows = task_rows(Path(tasks), [])
    # rounded up: at most ten tasks, from the whole file; an empty file must not give a step of 0
    every = -(-len(rows) // SHOWN_TASKS) or 1
    committed = committed_release(rows, source=str(tasks), settings=settings, notes=[], every=every)
    return ShownCopies(
        tasks={task.id: tuple(_changed_lines(task)) for task in committed.tasks},
        left_out=committed.left_out,
        naming=committed.naming,
    )


def _changed_lines(task: SecretTask) -> Iterator[ChangedLine]:
    """Yield the lines of a task that its first copy changes, in all of its columns."""
    copy = task.copy(0, len(task.contents) - 1)
    new = dict(cells_of(copy, list(copy)))
    for cell, text in cells_of(task.row, list(task.row)):
        old_lines, new_lines = text.splitlines(), new[cell].splitlines()
        # autojunk would take the frequent lines of a long text for noise
        for tag, a, b, c, d in SequenceMatcher(a=old_lines, b=new_lines, autojunk=False).get_opcodes():
            if tag != "equal":
                for pair in zip_longest(old_lines[a:b], new_lines[c:d], fillvalue=""):
                    yield ChangedLine(cell[0], *pair)
