"""A file of an evaluation, read once whatever reader takes it, and the paths that lead to its values."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from assay.datasets import read_rows
from assay.errors import DataError, plain_reason
from assay.guard import json_file

STEP = re.compile(r"\[key\]|\[\]|[^.\[\]]+")
"""Steps of a path: a name or number, all entries, or the names of all entries."""

LARGEST_LOG = 1 << 30
"""Bytes of a JSON log: with the code and the tests of each sample, logs grow larger than other files of JSON."""


class LogFile:
    """A file or folder of an evaluation.

    Args:
        path: of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []

    @cached_property
    def content(self) -> Any:  # noqa: ANN401  JSON
        """The value of a JSON file; None for a file of another kind, and for a folder.

        Raises:
            DataError: it cannot be read, or is not JSON.
        """
        if self.path.suffix != ".json" or self.path.is_dir():
            return None
        try:
            return json_file(self.path, LARGEST_LOG)
        except OSError as error:
            raise DataError(f"{self.path}: {plain_reason(error)}, expected the log of an evaluation") from error
        except ValueError as error:
            raise DataError(f"{self.path} is not a JSON file: {plain_reason(error)}") from error

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The object of a JSON file; empty where it holds another value."""
        return first_object([self.content])

    @cached_property
    def rows(self) -> list[Any]:
        """The rows of a table, of JSON lines, or of a JSON list; empty for one JSON object, and for a folder.

        Raises:
            DataError: the file cannot be read.
        """
        if isinstance(self.content, list):
            return self.content
        # a log of inspect is an archive, which inspect_ai itself reads
        if self.path.is_dir() or self.path.suffix == ".eval" or self.content is not None:
            return []
        return list(read_rows(self.path, self.notes.append))

    @cached_property
    def row_names(self) -> frozenset[str]:
        """The names of the columns of the first row."""
        return frozenset(first_object(self.rows))

    def beside(self, path: Path) -> Any:  # noqa: ANN401  JSON
        """Return the value of another JSON file of the same run; None where there is none."""
        return LogFile(path).content if path.is_file() else None


def values_at(value: object, path: str) -> list[Any]:
    """Return the values at a path into nested rows: `doc.prompt`, `attempts[].passed`, `eval[].0.status`, `eval[key]`.

    A dot leads into an object, or with a number into a list; `[]` into all entries of either; `[key]` gives the names
    of the entries of an object. A column whose whole name has dots comes first.
    """
    # tables that were made of nested rows have names such as `doc.prompt`
    if isinstance(value, Mapping) and path in value:
        return [value[path]]
    values: list[Any] = [value]
    for step in STEP.findall(path):
        values = list(chain.from_iterable(_inside(each, step) for each in values))
    return values


def _inside(value: object, step: str) -> Iterator[Any]:
    if step == "[]" and isinstance(value, Mapping):
        yield from value.values()
    elif (step == "[]" and isinstance(value, list)) or (step == "[key]" and isinstance(value, Mapping)):
        yield from value
    elif isinstance(value, Mapping) and step in value:
        yield value[step]
    elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        yield value[int(step)]


def first_object(values: Iterable[object]) -> Mapping[str, Any]:
    """Return the first value where it is an object, else an empty one."""
    first = next(iter(values), None)
    return first if isinstance(first, dict) else {}


def first_text(value: object) -> str:
    """Return a text, or the first one in a nested value, as the arguments of a request are; "" without any."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return next(filter(None, map(first_text, value)), "")
    return ""
