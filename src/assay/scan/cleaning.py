"""A file of training data without the rows that hold a task: same shape, same compression, same order."""

import bz2
import gzip
import json
import lzma
import shutil
import tarfile
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader, BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

import pyarrow as pa

from assay.corpora.archives import archive_form, decompressed, inside, is_archive
from assay.datasets.sources.columnar import ARROW_FILE, ARROW_STREAM
from assay.errors import DataError
from assay.files import atomic_file
from assay.guard import LONGEST_LINE
from assay.scan.reading import BROKEN, DELIMITED, FAULTS, PARQUET, array_items, csv_records, json_form, unpacked
from assay.scan.shapes import sisters_name

T = TypeVar("T")

_PACKERS: dict[str | None, Any] = {
    # no time of writing in the header (RFC 1952, MTIME 0): the same rows give the same bytes
    "gzip": lambda file: gzip.GzipFile(fileobj=file, mode="wb", mtime=0),
    "bzip2": partial(bz2.BZ2File, mode="wb"),
    "xz": partial(lzma.LZMAFile, mode="wb"),
    "zstd": lambda file: pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd"),
}
"""Compression → what writes it."""


def write_clean(source: str, target: Path, removed: Collection[int | str], *, is_cut: bool = False) -> None:
    """Write a file without some of its rows or members, or not at all.

    Args:
        source: the file.
        target: its copy.
        removed: rows from 1, or members of an archive; "" for the file.
        is_cut: a fault ended the file; its copy ends before it.

    Raises:
        DataError: the copy cannot be written.
    """
    place = Path(source)
    if "" in removed:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if not removed and not is_cut:
        shutil.copyfile(place, target)
        return
    rows = {number for number in removed if isinstance(number, int)}
    with place.open("rb") as file:
        head = file.read(len(ARROW_FILE))
    with atomic_file(target) as out:
        if is_archive(place):
            _members(place, out, {name for name in removed if isinstance(name, str)})
        elif head.startswith(PARQUET):
            _parquet(place, out, rows)
        elif head == ARROW_FILE or head.startswith(ARROW_STREAM):
            _arrow(place, out, rows, is_file=head == ARROW_FILE)
        else:
            with _packed(place, out) as written:
                for line in _kept_pieces(place, rows):
                    written.write(line)


def _until_fault(pieces: Iterator[T]) -> Iterator[T]:
    """Yield what comes before the fault that ended the scan."""
    with suppress(*FAULTS, DataError, tarfile.TarError):
        yield from pieces


def _kept_pieces(place: Path, rows: Collection[int]) -> Iterator[bytes]:
    """Yield what stays of lines, records or an array."""
    with unpacked(place) as stream:
        if DELIMITED & {suffix.lower() for suffix in place.suffixes}:
            pieces = _numbered_records(stream)
        elif json_form(place) == "array":
            yield from _array_without(rows, stream)
            return
        else:
            pieces = _numbered_lines(stream)
        for number, piece in _until_fault(pieces):
            if number not in rows:
                yield piece


def _array_without(rows: Collection[int], stream: BufferedReader) -> Iterator[bytes]:
    between = "["
    for number, item in enumerate(_until_fault(array_items(stream)), 1):
        if number not in rows:
            yield f"{between}{json.dumps(item, ensure_ascii=False)}".encode("utf-8", "surrogatepass")
            between = ",\n"
    # of an array that lost every item, even the bracket is still to come
    yield between.strip(",\n").encode() + b"]\n"


def _numbered_lines(stream: BufferedReader) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their row, the longest in pieces."""
    # pieces of a line have one number, so that a line of any length is kept or left out as a whole
    number = 1
    for piece in iter(partial(stream.readline, LONGEST_LINE), b""):
        yield number, piece
        number += piece.endswith(b"\n")


def _numbered_records(stream: BufferedReader) -> Iterator[tuple[int, bytes]]:
    """Yield the records of CSV with their row, 0 for the header and empty lines; broken quotes end them."""
    number = -1
    for line, record in csv_records(stream):
        if record == BROKEN:
            return
        number += bool(record)
        # no row has the number 0: what is not a record is never left out
        yield number * bool(record), line


@contextmanager
def _packed(place: Path, out: IO[bytes]) -> Iterator[Any]:
    """Yield what writes in the compression of a file."""
    packer = _PACKERS.get(archive_form(place))
    if packer is None:
        yield out
        return
    with packer(out) as written:
        yield written


def _parquet(place: Path, out: IO[bytes], rows: Collection[int]) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415  slow to import, and few files are Parquet

    file = pq.ParquetFile(place)
    compression = "snappy"
    if file.num_row_groups:
        # the writer takes other names than the metadata give: NONE in place of UNCOMPRESSED
        compression = file.metadata.row_group(0).column(0).compression.replace("UNCOMPRESSED", "none")
    first = 1
    with pq.ParquetWriter(out, file.schema_arrow, compression=compression) as written:
        for table in _until_fault(map(file.read_row_group, range(file.num_row_groups))):
            written.write_table(table.filter(_kept(first, table.num_rows, rows)))
            first += table.num_rows


def _arrow(place: Path, out: IO[bytes], rows: Collection[int], *, is_file: bool) -> None:
    with pa.memory_map(str(place)) as mapped:
        if is_file:
            reader, opened = pa.ipc.open_file(mapped), pa.ipc.new_file
            # a file has random access, and its reader is no iterator
            batches = map(reader.get_batch, range(reader.num_record_batches))
        else:
            reader, opened = pa.ipc.open_stream(mapped), pa.ipc.new_stream
            batches = iter(reader)
        first = 1
        with opened(out, reader.schema) as written:
            for batch in _until_fault(batches):
                written.write_batch(batch.filter(_kept(first, batch.num_rows, rows)))
                first += batch.num_rows


def _kept(first: int, count: int, rows: Collection[int]) -> Any:  # noqa: ANN401  pyarrow publishes no types
    return pa.array([number not in rows for number in range(first, first + count)])


def _members(place: Path, out: IO[bytes], removed: Collection[str]) -> None:
    # an archive inside the archive goes as a whole, and so do all sisters of a row of a WebDataset
    left_out = set(removed)
    for name in removed:
        left_out.update(map(str, PurePosixPath(name).parents))
    if archive_form(place) == "zip":
        with zipfile.ZipFile(place) as archive, zipfile.ZipFile(out, "w") as written:
            for entry in archive.infolist():
                if entry.is_dir() or inside(entry.filename) not in left_out:
                    written.writestr(entry, archive.read(entry))
        return
    with _packed(place, out) as packed, tarfile.open(fileobj=packed, mode="w|") as written:
        for member, content in _until_fault(_tar_members(place)):
            name = inside(member.name) or ""
            if member.isdir() or left_out.isdisjoint({name, sisters_name(name)}):
                written.addfile(member, BytesIO(content))


def _tar_members(place: Path) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    # "r|" reads forward only, as a packed stream must be read; links and folders have no content
    with place.open("rb") as raw, decompressed(raw) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            content = None
            if member.isfile():
                content = archive.extractfile(member)
            yield member, b"" if content is None else content.read()
