"""The reader of any table or JSON by the paths of its fields, and of the fields that rows share."""

from collections.abc import Mapping
from functools import partial
from itertools import repeat
from typing import Any

from assay.annotation.log_file import LogFile, first_text, values_at
from assay.annotation.outcomes import day_of, outcome_at
from assay.annotation.task_results import LogColumns, TaskLog, TaskResult
from assay.datasets import check_nested
from assay.errors import DataError


def read_columns(file: LogFile, columns: LogColumns) -> TaskLog:
    """Read a file of any layout by `--columns id=PATH,outcome=PATH`, and `text` and `date` where they are named.

    A row, or an object that is no list of rows, may hold one task, or as many ids as outcomes; with one id and several
    outcomes these are repetitions.

    Raises:
        DataError: no id is named, a path leads nowhere, or a value is no outcome.
    """
    if columns.id is None:
        raise DataError("received --columns outcome without an id; expected --columns id=PATH,outcome=PATH")
    rows = file.rows or [file.fields] * bool(file.fields)
    if not rows:
        raise DataError(f"{file.path}: no rows; expected a table, JSON lines or JSON")
    used = columns.paths
    results: list[TaskResult] = []
    for number, row in enumerate(rows, 1):
        place = f"{file.path}: row {number}"
        fields = dict(zip(used, map(partial(values_at, row), used.values()), strict=True))
        for name, values in fields.items():
            if not values:
                check_nested([row], used[name], place)
            if len(values) not in (1, len(fields["outcome"])):
                raise DataError(
                    f"{place}: {name}={used[name]} leads to {len(values)} values and outcome={used['outcome']} to "
                    f"{len(fields['outcome'])}; expected as many, or one"
                )
        results += _results(fields, place)
    return TaskLog("columns", tuple(results), columns=frozenset(used))


def _results(fields: Mapping[str, list[Any]], place: str) -> list[TaskResult]:
    count = len(fields["outcome"])
    # one value, such as the id, stands for all outcomes of a row
    spread = [values * (count // len(values)) for values in fields.values()]
    results = []
    for row in zip(*spread, strict=True):
        values = dict(zip(fields, row, strict=True))
        if values["id"] is None or isinstance(values["id"], dict | list):
            raise DataError(f"{place}: received the id {values['id']!r:.40}, expected a text or number")
        results.append(
            TaskResult(
                str(values["id"]),
                text=first_text(values.get("text")),
                correct=_known(outcome_at(values["outcome"], place), place),
                day=day_of(values.get("date")),
            )
        )
    return results


def _known(correct: float | None, place: str) -> float:
    if correct is None:
        raise DataError(f"{place}: received no outcome (NaN); expected one in every row")
    return correct


def field_text(row: Mapping[str, Any], path: str | None, usual: str) -> str:
    """Return the text at a path that was named, else at the usual one."""
    return first_text(values_at(row, path or usual))


def check_paths(file: LogFile, columns: LogColumns) -> frozenset[str]:
    """Check that a row has a value at each path for text, id and date, and return the names of those that are used.

    Raises:
        DataError: none has.
    """
    used = columns.paths
    for path in used.values():
        if not any(map(values_at, file.rows, repeat(path))):
            check_nested(file.rows, path, str(file.path))
    return frozenset(used)
