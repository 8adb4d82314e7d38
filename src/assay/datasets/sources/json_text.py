"""Rows from JSON: one object a line, one array of objects, or one object of columns."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from assay.datasets.sources.stream import opened
from assay.datasets.sources.text import Note, decoded_lines
from assay.errors import DataError

SourceRow = dict[str, object]
"""Column name → value, as the source has it."""


def json_rows(path: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of a JSON file; its first line shows which of the three forms it has.

    One object a line is streamed. A file that holds a single object is a table of columns where all its
    values are lists of one length, or objects with the same keys (as pandas writes them); it is a wrapper
    where its only value is a list of objects; else it is one row.

    Raises:
        DataError: broken JSON, with its line, or JSON that is not a table.
    """
    with opened(path) as stream:
        numbered = enumerate(decoded_lines(stream, path, note), start=1)
        first_number, first = next((entry for entry in numbered if entry[1].strip()), (1, ""))
        row = None if first.lstrip().startswith("[") else _attempt(first)
        if row is None:
            yield from _document(path, first_number, first + "".join(line for _number, line in numbered))
            return
        others = (entry for entry in numbered if entry[1].strip())
        second = next(others, None)
        if second is None:
            yield from _single(path, row)
            return
        yield _object(path, first_number, row)
        yield _object(path, second[0], _parsed(path, *second))
        for number, line in others:
            yield _object(path, number, _parsed(path, number, line))


def _attempt(line: str) -> object | None:
    """The value of a line, or None where the line is not one whole JSON value."""
    try:
        return cast("object", json.loads(line))
    except (ValueError, RecursionError):
        return None


def _parsed(path: Path, number: int, text: str) -> object:
    """The value of a text that begins in line `number`."""
    try:
        return cast("object", json.loads(text))
    except json.JSONDecodeError as fault:
        line = number + fault.lineno - 1
        raise DataError(f"{path}: broken JSON in line {line}, column {fault.colno}") from fault
    except (ValueError, RecursionError) as fault:  # a number of thousands of digits; brackets nested too deep
        message = str(fault).split(";", maxsplit=1)[0]
        raise DataError(f"{path}: JSON that cannot be read in line {number} ({message})") from fault


def _object(path: Path, number: int, value: object) -> SourceRow:
    if not isinstance(value, dict):
        raise DataError(f"{path}: line {number} holds {_kind(value)}, expected an object of columns")
    return value


def _document(path: Path, number: int, text: str) -> Iterator[SourceRow]:
    """Rows of a file that is one JSON value over several lines, or an array."""
    lines = text.split("\n")
    try:
        value = _parsed(path, number, text)
    except DataError:
        # JSON lines whose first line is broken: the fault is there, not where the whole stops making sense
        if not text.lstrip().startswith("[") and any(isinstance(_attempt(line), dict) for line in lines[1:]):
            _parsed(path, number, lines[0])
        raise
    yield from _single(path, value)


def _single(path: Path, value: object) -> Iterator[SourceRow]:
    """Rows of the one value that a file holds."""
    if isinstance(value, list):
        for position, item in enumerate(value, start=1):
            if not isinstance(item, dict):
                raise DataError(f"{path}: item {position} is {_kind(item)}, expected an object of columns")
            yield item
        return
    if not isinstance(value, dict):
        raise DataError(f"{path}: holds {_kind(value)}, expected rows (objects of columns)")
    columns = list(value.values())
    if len(columns) == 1 and isinstance(columns[0], list) and columns[0] and isinstance(columns[0][0], dict):
        yield from _single(path, columns[0])
    elif _same_length(columns):
        for cells in zip(*columns, strict=True):
            yield dict(zip(value, cells, strict=True))
    elif columns and all(isinstance(column, dict) and column.keys() == columns[0].keys() for column in columns):
        for key in columns[0]:
            yield {name: column[key] for name, column in value.items()}
    else:
        yield value


def _same_length(columns: list[object]) -> bool:
    lists = [column for column in columns if isinstance(column, list)]
    return len(lists) == len(columns) and len(set(map(len, lists))) == 1


def _kind(value: object) -> str:
    names = {list: "an array", str: "a string", dict: "an object", type(None): "null", bool: "true or false"}
    return names.get(type(value), "a number")
