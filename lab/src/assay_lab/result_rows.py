"""Rows of results, as JSON holds them: select, group and average them, and keep them while a run goes on."""

import json
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

ResultRow = Mapping[str, Any]
"""Name → value, as one line of a result has them."""


def where(rows: Iterable[ResultRow], **values: object) -> list[ResultRow]:
    """Return the rows that have all of these values."""
    return [row for row in rows if values.items() <= row.items()]


def grouped(rows: Iterable[ResultRow], *keys: str) -> dict[Any, list[ResultRow]]:
    """Return value of the key, or the tuple of values of several keys → its rows, in the order of their first row."""
    groups: dict[Any, list[ResultRow]] = {}
    for row in rows:
        groups.setdefault(itemgetter(*keys)(row), []).append(row)
    return groups


def column(rows: Iterable[ResultRow], key: str) -> list[Any]:
    """Return one value of each row."""
    return list(map(itemgetter(key), rows))


def mean_of(rows: Iterable[ResultRow], key: str) -> float:
    """Return the mean of one value over the rows."""
    return float(np.mean(column(rows, key)))


class KeptRows:
    """Rows on disk, a line of JSON for each: a run that was ended continues after the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, Any] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            try:
                key, row = json.loads(line)
            except ValueError:  # an empty line, or one that a kill cut short
                continue
            self._rows[key] = row

    def row(self, key: str, measure: Callable[[], Any]) -> Any:  # noqa: ANN401  whatever JSON holds
        """Return the row of a key; one that is not there is measured and written."""
        if key not in self._rows:
            self._rows[key] = measure()
            with self._path.open("a", encoding="utf-8") as file:
                # the line end comes first: a line that was cut short before does not spoil this one
                file.write(f"\n{json.dumps([key, self._rows[key]])}")
        return self._rows[key]
