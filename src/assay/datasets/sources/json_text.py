"""Rows from JSON: one object a line, one array of objects, or one object of columns."""

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from assay.datasets.sources.stream import opened
from assay.datasets.sources.text import Note, decoded, decoded_lines, has_nul, line_too_long
from assay.errors import DataError
from assay.guard import LARGEST_JSON, LONGEST_LINE, MiB

ARRAY_WITHIN = 4096
"""Bytes of blank space before an array of rows."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object, of which a dict would keep the last of a name and hide the others."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        name = next(name for name, times in Counter(map(itemgetter(0), pairs)).items() if times > 1)
        raise DataError(f"the field {name!r:.60} stands twice, expected distinct names")
    return fields


# made once: `json.loads` makes a decoder for each call that has a hook, which takes longer than a short line
_decode = json.JSONDecoder(object_pairs_hook=_distinct).decode

SourceRow = dict[str, object]
"""Column name → value, as the source has it."""


class UnreadRow(SourceRow):
    """A row without columns: it is there, and cannot be read.

    Attributes:
        name: its place in the file, in words.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.name = f"line {number}"


def json_rows(path: Path, note: Note) -> Iterator[SourceRow]:
    """Rows of a JSON file; its beginning shows which of the three forms it has.

    One object a line is streamed; a line that is too long is an `UnreadRow`. A file that holds a single object is a
    table of columns where all its values are lists of one length, or objects with the same keys (as pandas writes
    them); it is a wrapper where its only value is a list of objects; else it is one row.

    Raises:
        DataError: broken JSON or two fields of one name, with the line, JSON that is not a table, or a document or only
            row that is too large.
    """
    with opened(path) as stream:
        if stream.peek(ARRAY_WITHIN)[:ARRAY_WITHIN].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            yield from _document(path, 1, _whole(stream, path, note))
            return
        lines = decoded_lines(stream, path, note)
        numbered = ((number, line) for number, line in enumerate(lines, start=1) if line is None or line.strip())
        first_number, first = next(numbered, (1, ""))
        # a text that begins as an array does is one value, however its first line ends
        row = None if first is None or first.lstrip().startswith("[") else _attempt(path, first_number, first)
        if row is None and first is not None:
            yield from _document(path, first_number, first + "".join(_pieces(path, numbered)))
            return
        # a single object may be a table or a wrapper, so it is told apart from the first of many lines
        second = next(numbered, None)
        if second is None:
            if first is None:
                raise line_too_long(path, first_number)
            yield from _single(path, row)
            return
        unread = 0
        for number, line in chain([(first_number, first), second], numbered):
            unread += line is None
            yield UnreadRow(number) if line is None else _object(path, number, _parsed(path, number, line))
    if unread:
        note(f"{path.name}: {unread} line{'s' * (unread > 1)} of more than {LONGEST_LINE // MiB} MiB, not read")


def _whole(stream: io.BufferedReader, path: Path, note: Note) -> str:
    """The text of a file that is one JSON value."""
    raw = stream.read(LARGEST_JSON + 1)
    if len(raw) > LARGEST_JSON:
        raise _document_too_large(path)
    if has_nul(raw):
        raise DataError(f"{path}: NUL byte, expected a text file")
    return decoded(raw, path.name, note)


def _pieces(path: Path, numbered: Iterable[tuple[int, str | None]]) -> Iterator[str]:
    """The further lines of a file that is one JSON value over several lines."""
    size = 0
    for number, line in numbered:
        if line is None:
            raise line_too_long(path, number)
        size += len(line)
        if size > LARGEST_JSON:
            raise _document_too_large(path)
        yield line


def _document_too_large(path: Path) -> DataError:
    return DataError(
        f"{path}: one JSON value of more than {LARGEST_JSON // MiB} MiB, expected at most that: write one object a line"
    )


def _attempt(path: Path, number: int, line: str) -> object | None:
    """The value of a line, or None where the line is not one whole JSON value."""
    try:
        return _value(path, number, line)
    except (ValueError, RecursionError):
        return None


def _value(path: Path, number: int, text: str) -> object:
    try:
        return _decode(text)
    except DataError as fault:
        raise DataError(f"{path}: in the JSON of line {number} {fault}") from fault


def _parsed(path: Path, number: int, text: str) -> object:
    """The value of a text that begins in line `number`."""
    try:
        return _value(path, number, text)
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
        if not text.lstrip().startswith("[") and any(
            isinstance(_attempt(path, later, line), dict) for later, line in enumerate(lines[1:], number + 1)
        ):
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
    # {"data": [{…}, …]}, as many web interfaces answer
    if len(columns) == 1 and isinstance(columns[0], list) and columns[0] and isinstance(columns[0][0], dict):
        yield from _single(path, columns[0])
    elif _same_length(columns):
        for cells in zip(*columns, strict=True):
            yield dict(zip(value, cells, strict=True))
    # pandas writes a column as an object from row labels to cells
    elif set(map(type, columns)) == {dict} and len(set(map(frozenset, columns))) == 1:
        for key in columns[0]:
            yield {name: column[key] for name, column in value.items()}
    else:
        yield value


def _same_length(columns: list[Any]) -> bool:
    return set(map(type, columns)) == {list} and len(set(map(len, columns))) == 1


def _kind(value: object) -> str:
    names = {list: "an array", str: "a string", dict: "an object", type(None): "null", bool: "true or false"}
    return names.get(type(value), "a number")
