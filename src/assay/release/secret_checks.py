"""Checks of a secret that others may have made: a valid commitment says nothing about what was committed to.

The decoder checks types. These checks are what every later step relies on, so that none of them has to fail: each name
and cell exists, every copy can be put together, and nothing in the file makes a number of steps or a text that is much
larger than the file.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import date
from itertools import chain
from operator import attrgetter

from assay.datasets import runnable, scored_text
from assay.languages import LANGUAGES
from assay.release.secret_values import LEVELS, CutCell, Secret, SecretTask
from assay.release.settings import LEAST_COPIES, MOST_COPIES

MOST_CHARACTERS = 10**8
"""Characters of a version: a short file could ask for texts that no memory holds."""
KEY_BYTES = 32


def only_once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Return the members of a JSON object: readers differ on which value of a repeated name counts.

    Raises:
        ValueError: a name occurs twice.
    """
    members = dict(pairs)
    _expect(len(members) == len(pairs))
    return members


def in_unicode(value: object) -> None:
    """Check that all texts of a JSON value are Unicode.

    Raises:
        ValueError: half of a surrogate pair.
    """
    # a stack in place of a recursion: the value may be nested as deeply as the parser allows
    values = [value]
    while values:
        inner = values.pop()
        if isinstance(inner, str):
            inner.encode()
        elif isinstance(inner, dict):
            values += chain(inner, inner.values())
        elif isinstance(inner, list):
            values += inner


def check_tasks(secret: Secret) -> None:
    """Check what was committed to.

    Raises:
        ValueError: it is nothing that could have been made.
        LookupError, TypeError: a name, cell or column of a task does not exist.
    """
    committed = secret.committed
    _expect(len(bytes.fromhex(committed.key)) == KEY_BYTES)
    # one more than the copies that are compared: the twin
    _expect(LEAST_COPIES < committed.first <= MOST_COPIES + 1)
    tested = Counter(map(attrgetter("id"), committed.tasks))
    _expect(bool(tested))
    rows = tested + Counter(committed.others.keys())
    # each task is published once, either as a copy or as it was
    _expect(rows == Counter(committed.order) and max(rows.values()) == 1)
    for task in committed.tasks:
        _check_task(task, secret)
    # before a copy is put together: the limit is on what that would allocate
    _expect(sum(map(most_characters, committed.tasks)) <= MOST_CHARACTERS)
    for task in committed.tasks:
        # a copy differs from another in the names alone: if the first can be built and read, so can all
        for number in range(len(task.contents)):
            row = task.copy(0, number)
            scored_text(row, secret.layout)
            runnable(row, secret.layout, original=task.row, language=task.language)


def _check_task(task: SecretTask, secret: Secret) -> None:
    """Check that the cells and names of a task exist.

    Raises:
        ValueError, LookupError, TypeError: see `check_tasks`.
    """
    _expect(len(task.copies) >= secret.committed.first and bool(task.contents) and task.language in LANGUAGES)
    _expect(task.level in LEVELS)
    for copy in task.copies:
        places = list(map(int, copy.split()))
        _expect(min(places, default=0) >= 0)
        for words, place in zip(task.words, places, strict=True):
            # raises where the candidate does not exist
            words[place]
    for cell in chain.from_iterable(map(attrgetter("cells"), task.contents)):
        _check_cell(cell, task)


def _check_cell(cell: CutCell, task: SecretTask) -> None:
    _expect(len(cell.pieces) == len(cell.order) + 1 and cell.place >= -1)
    _expect(min(cell.order, default=0) >= 0 and max(cell.order, default=-1) < len(task.words))
    content = task.row[cell.column]
    # a text stands at place -1, one in a list at its number
    _expect(isinstance(content, list) == (cell.place >= 0))
    if isinstance(content, list):
        content = content[cell.place]
    _expect(isinstance(content, str))


def most_characters(task: SecretTask) -> int:
    """Return how long a copy of a task can become, of all its contents together."""
    longest = max(map(len, chain.from_iterable(task.words)), default=0)
    count = 0
    for cell in chain.from_iterable(map(attrgetter("cells"), task.contents)):
        count += sum(map(len, cell.pieces)) + longest * len(cell.order)
    return count


def check_history(secret: Secret) -> None:
    """Check the entries of the log, each alone: whether the log is full is another question.

    Raises:
        ValueError: an entry is nothing that could have been logged.
    """
    count = len(secret.versions)
    _expect(list(map(attrgetter("number"), secret.versions)) == list(range(1, count + 1)))
    # each version uses up a copy, and the twin another one
    _expect(count < secret.committed.first)
    _expect(bool(count or secret.committed.round))  # only a named round is waited for
    _expect(list(map(attrgetter("tranche"), secret.spent)) == list(range(1, len(secret.spent) + 1)))
    _expect(all(0 < test.p_value <= 1 for test in secret.tests))
    for day in (secret.committed.created, *map(attrgetter("day"), secret.log)):
        date.fromisoformat(day)


def _expect(holds: bool) -> None:  # noqa: FBT001  one condition, like `assert`, which an option of Python removes
    """Check a condition.

    Raises:
        ValueError: it does not hold; the reason would quote the content.
    """
    if not holds:
        raise ValueError("the secret is damaged")
