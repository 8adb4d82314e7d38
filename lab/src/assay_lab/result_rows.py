"""Rows of results, as JSON holds them: select, group and average them."""

from collections.abc import Iterable, Mapping
from operator import itemgetter
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
