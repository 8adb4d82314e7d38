"""Rows from CSV and its kin: a header line, then one record each, every value a text."""

import csv
from collections.abc import Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path

from assay.datasets.sources.json_text import SourceRow
from assay.datasets.sources.stream import check_distinct, opened
from assay.datasets.sources.text import Note, decoded_lines, line_too_long
from assay.errors import DataError

_DELIMITERS = (",", "\t", ";", "|")
# the limit is a C long, which has 32 bits on Windows
_LARGEST_FIELD = 2**31 - 1


def delimiter_of(header: str) -> str:
    """The delimiter that stands most often in a header line; a comma where none does."""
    return max(_DELIMITERS, key=header.count)


def delimited_rows(path: Path, note: Note) -> Iterator[SourceRow]:
    """Records of a file with a header line; the delimiter is the one that stands there most often.

    Quoted fields keep their line ends as they are.

    Raises:
        DataError: broken quoting, a column name that stands twice, or a record with too many or too few
            fields.
    """
    # the module's own limit, 128 KiB a field, is below real samples; it is one for the whole process
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_FIELD))
    with opened(path) as stream:
        lines = _whole_lines(stream, path, note)
        first = next(filter(str.strip, lines), "")
        reader = csv.reader(chain([first], lines), delimiter=delimiter_of(first), strict=True)
        try:
            # spreadsheets break the lines of a long name
            header = [" ".join(name.splitlines()) if "\n" in name else name for name in next(reader)]
            if not all(map(str.isprintable, header)):
                raise DataError(f"{path}: the first line holds control characters, expected names of columns")
            check_distinct(path, header)
            for record in reader:
                if not record:
                    continue
                if len(record) != len(header):
                    raise DataError(
                        f"{path}: the record that ends in line {reader.line_num} has {len(record)} fields, "
                        f"expected {len(header)} as in the header"
                    )
                yield dict(zip(header, record, strict=True))
        except csv.Error as fault:
            raise DataError(f"{path}: broken CSV in line {reader.line_num} ({fault})") from fault


def _whole_lines(stream: BufferedReader, path: Path, note: Note) -> Iterator[str]:
    # a record may go over several lines, so none can be left out
    for number, line in enumerate(decoded_lines(stream, path, note), start=1):
        if line is None:
            raise line_too_long(path, number)
        yield line
