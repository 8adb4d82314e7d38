"""Rows from one file; its content shows its form.

Content decides if it can: compression, Parquet and Arrow by their first bytes, JSON by its first character.
The name decides only if content cannot: code is text even if it looks like a table, and a name that
promises rows (.jsonl, .csv, ...) must hold rows.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from assay.datasets.sources.columnar import ARROW_FILE, ARROW_STREAM, PARQUET, arrow_rows, parquet_rows
from assay.datasets.sources.delimited import delimited_rows, delimiter_of
from assay.datasets.sources.json_text import SourceRow, json_rows
from assay.datasets.sources.stream import head_of, opened, unpacked_name
from assay.datasets.sources.text import Note, decoded, has_nul, is_binary, wide_encoding
from assay.errors import DataError
from assay.languages import language_of

_ROWS = frozenset({".json", ".jsonl", ".ndjson", ".parquet", ".arrow"})
_DELIMITED = frozenset({".csv", ".tsv"})
_FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"SQLite format 3\0": "an SQLite database",
    b"version https://git-lfs.github.com/": "a Git LFS pointer and not the data itself",
}
_JSON_ROWS = re.compile(r"\s*(\{\s*[\"}]|\[\s*[{\]])")
_COLUMN_NAME = re.compile(r"[\w.\-]{1,64}")
_SNIFFED_RECORDS = 5
_FORMS = "JSON, CSV, Parquet, Arrow (also compressed), code or text"


def file_rows(path: Path, note: Note) -> Iterator[SourceRow]:
    """The rows of one file of any known form; a text or code file is one row (id, text, language).

    Raises:
        DataError: empty, binary, broken, of a foreign format, or not what its name promises.
    """
    head = head_of(path)
    if not head:
        raise DataError(f"{path}: empty file, expected rows or text")
    if foreign := next((form for magic, form in _FOREIGN.items() if head.startswith(magic)), None):
        raise DataError(f"{path}: {foreign}, expected {_FORMS}")
    if head.startswith(PARQUET):
        return parquet_rows(path)
    if head.startswith((ARROW_FILE, ARROW_STREAM)):
        return arrow_rows(path)
    # only now: the binary formats above begin with their own marks, and hold NUL bytes too
    if has_nul(head):
        raise DataError(f"{path}: binary content, expected {_FORMS}")
    return _text_rows(path, _opening(head), note)


def _opening(head: bytes) -> str:
    """The beginning of a text, good enough to tell its form."""
    wide = wide_encoding(head)
    return head.decode(wide or "utf-8-sig", errors="replace")


def _text_rows(path: Path, opening: str, note: Note) -> Iterator[SourceRow]:
    name = PurePath(unpacked_name(path))
    suffix = name.suffix.lower()
    if not opening.strip():
        raise DataError(f"{path}: nothing but white space, expected rows or text")
    if language_of(name.name):
        return _whole(path, note)
    # many a .csv on the web holds JSON lines: the content decides, the name only breaks ties
    if suffix in _DELIMITED and not _JSON_ROWS.match(opening):
        return delimited_rows(path, note)
    promised = suffix in _ROWS
    if _JSON_ROWS.match(opening) or (promised and opening.lstrip().startswith(("{", "["))):
        return json_rows(path, note)
    # a table without a telling name counts only where nothing else fits: prose has commas too
    if _looks_delimited(opening):
        return delimited_rows(path, note)
    if promised:
        line = opening.lstrip().split("\n", maxsplit=1)[0].rstrip()
        shown = line[:40] + "…" * (len(line) > 40)  # noqa: PLR2004  what fits in a message
        raise DataError(f"{path}: named {suffix} but begins with {shown!r}, expected rows (JSON, CSV, Parquet, Arrow)")
    return _whole(path, note)


def _looks_delimited(opening: str) -> bool:
    """Return True if a text is a table by its content: plain column names, and records of as many fields."""
    lines = opening.splitlines(keepends=True)
    header = next(iter(lines), "")
    delimiter = delimiter_of(header)
    try:  # strict off: the opening may end inside a quoted field
        records = list(csv.reader(lines, delimiter=delimiter))[: _SNIFFED_RECORDS + 1]
    except csv.Error:
        return False
    names, body = records[0], list(filter(None, records[1:]))
    return len(names) > 1 and all(map(_COLUMN_NAME.fullmatch, names)) and set(map(len, body)) == {len(names)}


def _whole(path: Path, note: Note) -> Iterator[SourceRow]:
    """A text file as one row. Bytes become text without any change of line ends."""
    with opened(path) as stream:
        raw = stream.read()
    if is_binary(raw):
        raise DataError(f"{path}: binary content (NUL bytes or control characters), expected text")
    name = unpacked_name(path)
    yield {"id": name, "text": decoded(raw, name, note), "language": language_of(name)}
