"""A file of training data without the rows that hold a task: same shape, same compression, same order."""

import bz2
import gzip
import json
import lzma
import shutil
import tarfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from assay.corpora.archives import archive_form, decompressed, inside, is_archive
from assay.datasets.sources.columnar import ARROW_FILE, ARROW_STREAM
from assay.errors import DataError
from assay.files import atomic_file
from assay.guard import LONGEST_LINE
from assay.scan.reading import BROKEN, DELIMITED, FAULTS, PARQUET, csv_records, json_document, unpacked
from assay.scan.shapes import sisters_name

_PACKERS: dict[str | None, Any] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file, mode="wb", mtime=0),
    "bzip2": partial(bz2.BZ2File, mode="wb"),
    "xz": partial(lzma.LZMAFile, mode="wb"),
    "zstd": lambda file: pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd"),
}
"""Compression → what writes it."""


def write_clean(source: str, target: Path, removed: Collection[int | str]) -> None:
    """Write a file without some of its rows or members; a plain file that holds a task is left out.

    Args:
        source: the file.
        target: its copy.
        removed: rows from 1, or members of an archive; "" for a plain file.

    Raises:
        DataError: the copy cannot be written, or rows of this form cannot be left out.
    """
    place = Path(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    if not removed:
        shutil.copyfile(place, target)
        return
    rows = {number for number in removed if isinstance(number, int)}
    members = {name for name in removed if isinstance(name, str)}
    if "" in members:
        target.unlink(missing_ok=True)
        return
    with place.open("rb") as file:
        head = file.read(len(ARROW_FILE))
    with atomic_file(target) as out:
        if is_archive(place):
            _members(place, out, members)
        elif head.startswith(PARQUET):
            _parquet(place, out, rows)
        elif head == ARROW_FILE or head.startswith(ARROW_STREAM):
            _arrow(place, out, rows, is_file=head == ARROW_FILE)
        elif DELIMITED & {suffix.lower() for suffix in place.suffixes}:
            _lines(place, out, rows, delimited=True)
        else:
            _lines(place, out, rows, delimited=False)


def _lines(place: Path, out: IO[bytes], rows: Collection[int], *, delimited: bool) -> None:
    with _packed(place, out) as written:
        for line in _kept_lines(place, rows, delimited=delimited):
            written.write(line)


def _kept_lines(place: Path, rows: Collection[int], *, delimited: bool) -> Iterator[bytes]:
    """Yield the lines that stay; a fault of the stream ends them where it ended the scan."""
    try:
        document = None if delimited else json_document(place)
        if document is not None:
            yield _array_without(place, document, rows)
            return
        with unpacked(place) as stream:
            for number, line in _numbered_records(stream) if delimited else _numbered_lines(stream):
                if number not in rows:
                    yield line
    except FAULTS:
        return


def _numbered_lines(stream: BufferedReader) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their row, the longest in pieces."""
    number = 1
    for piece in iter(partial(stream.readline, LONGEST_LINE), b""):
        yield number, piece
        number += piece.endswith(b"\n")


def _numbered_records(stream: BufferedReader) -> Iterator[tuple[int, bytes]]:
    """Yield the records of CSV with their row, 0 for the header and what is no record."""
    number = -1
    for line, record in csv_records(stream):
        number += bool(record)
        yield number if record and record != BROKEN else 0, line


@contextmanager
def _packed(place: Path, out: IO[bytes]) -> Iterator[Any]:
    """Yield what writes in the compression of a file."""
    packer = _PACKERS.get(archive_form(place))
    if packer is None:
        yield out
        return
    with packer(out) as written:
        yield written


def _array_without(place: Path, value: object, rows: Collection[int]) -> bytes:
    """Return an array of rows without some of them."""
    if not isinstance(value, list):
        raise DataError(
            f"{place}: a row of it holds a task, and can only be left out of JSON lines or an array of rows"
        )
    kept = (json.dumps(row, ensure_ascii=False) for number, row in enumerate(value, 1) if number not in rows)
    return f"[{f',{chr(10)}'.join(kept)}]\n".encode("utf-8", "surrogatepass")


def _parquet(place: Path, out: IO[bytes], rows: Collection[int]) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415  slow to import, and few files are Parquet

    file = pq.ParquetFile(place)
    column = file.metadata.row_group(0).column(0).compression if file.num_row_groups else "snappy"
    compression = "none" if column == "UNCOMPRESSED" else column.lower()
    first = 1
    with pq.ParquetWriter(out, file.schema_arrow, compression=compression) as written:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            written.write_table(table.filter(_kept(first, table.num_rows, rows)))
            first += table.num_rows


def _arrow(place: Path, out: IO[bytes], rows: Collection[int], *, is_file: bool) -> None:
    with pa.memory_map(str(place)) as mapped:
        reader = pa.ipc.open_file(mapped) if is_file else pa.ipc.open_stream(mapped)
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        opened = pa.ipc.new_file if is_file else pa.ipc.new_stream
        first = 1
        with opened(out, reader.schema) as written:
            for batch in batches:
                written.write_batch(batch.filter(_kept(first, batch.num_rows, rows)))
                first += batch.num_rows


def _kept(first: int, count: int, rows: Collection[int]) -> Any:  # noqa: ANN401  pyarrow publishes no types
    return pa.array([number not in rows for number in range(first, first + count)])


def _members(place: Path, out: IO[bytes], members: set[str]) -> None:
    if archive_form(place) == "zip":
        with zipfile.ZipFile(place) as archive, zipfile.ZipFile(out, "w") as written:
            for entry in archive.infolist():
                if inside(entry.filename) not in members:
                    written.writestr(entry, archive.read(entry))
        return
    with (
        _packed(place, out) as packed,
        place.open("rb") as raw,
        decompressed(raw) as stream,
        tarfile.open(fileobj=stream, mode="r|") as archive,
        tarfile.open(fileobj=packed, mode="w|") as written,
    ):
        for member in archive:
            name = inside(member.name) or ""
            # all sisters of a row of a WebDataset go together
            if members.isdisjoint({name, sisters_name(name)}):
                written.addfile(member, archive.extractfile(member) if member.isfile() else None)
