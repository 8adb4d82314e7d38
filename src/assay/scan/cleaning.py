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
from itertools import compress
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from assay.corpora.archives import GuardedInfo, archive_form, decompressed, inside, is_archive
from assay.datasets.sources.columnar import ARROW_FILE, ARROW_STREAM, decoded_table
from assay.errors import DataError
from assay.files import atomic_file
from assay.guard import LONGEST_LINE, library_faults, lines_within
from assay.scan.reading import (
    BROKEN,
    DELIMITED,
    FAULTS,
    PARQUET,
    array_items,
    csv_records,
    document_items,
    json_form,
    parse_or_none,
    unpacked,
)
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
        with place.open("rb") as file, atomic_file(target) as out:
            shutil.copyfileobj(file, out)
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
        elif (form := json_form(place)) == "array":
            yield from _array_without(rows, stream)
            return
        elif form == "document":
            yield from _document_without(rows, stream.read(LONGEST_LINE + 1))
            return
        else:
            pieces = _numbered_lines(stream)
        for number, piece in _until_fault(pieces):
            if number not in rows:
                yield piece


def _array_without(rows: Collection[int], stream: BufferedReader) -> Iterator[bytes]:
    between = b"["
    for number, (_, raw) in enumerate(_until_fault(array_items(stream)), 1):
        if number not in rows:
            yield between + raw
            between = b",\n"
    # of an array that lost every item, even the bracket is still to come
    yield between.strip(b",\n") + b"]\n"


def _document_without(rows: Collection[int], raw: bytes) -> Iterator[bytes]:
    """Yield what stays of JSON that is read whole: an array in UTF-16 or UTF-32, or rows that end with a CR alone."""
    document = parse_or_none(raw)
    if not isinstance(document, list):
        for number, line in enumerate(raw.splitlines(keepends=True), 1):
            if number not in rows:
                yield line
        return
    kept = [item for number, item in enumerate(document_items(document), 1) if number not in rows]
    yield json.dumps(kept, ensure_ascii=False).encode(json.detect_encoding(raw), "surrogatepass")


def _numbered_lines(stream: BufferedReader) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their row, but for those that are too long to be read."""
    for number, line in enumerate(lines_within(stream.readline, b"\n"), 1):
        if line is not None:
            yield number, line


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
    compression, size = "snappy", 1
    if file.num_row_groups:
        first = file.metadata.row_group(0)
        # the writer takes other names than the metadata give: NONE in place of UNCOMPRESSED
        compression, size = first.column(0).compression.replace("UNCOMPRESSED", "none"), first.num_rows
    with pq.ParquetWriter(out, file.schema_arrow, compression=compression) as written:
        group: list[Any] = []
        for batch in _kept_batches(place, "Parquet", rows, schema=file.schema_arrow):
            group.append(batch)
            if sum(map(len, group)) >= size:
                written.write_table(pa.Table.from_batches(group))
                group = []
        if group:
            written.write_table(pa.Table.from_batches(group))


def _arrow(place: Path, out: IO[bytes], rows: Collection[int], *, is_file: bool) -> None:
    with place.open("rb") as file:
        schema = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).schema
    with (pa.ipc.new_file if is_file else pa.ipc.new_stream)(out, schema) as written:
        for batch in _kept_batches(place, "Arrow", rows, schema=schema):
            written.write_batch(batch)


def _kept_batches(place: Path, form: str, rows: Collection[int], *, schema: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield what stays of the batches that the scan read, with one dictionary of the words that stay.

    Raises:
        DataError: a column has a type whose words pyarrow cannot select.
    """
    words = latest = None
    with library_faults(place, "columns of texts, numbers, lists or structs"):
        if any(map(_has_dictionary, schema.types)):
            for batch, latest in _filtered_batches(place, form, rows):  # noqa: B007  the last one is used
                # a batch without rows carries the dictionaries: that of a file must be known before its first row
                words = _with_words_of(batch.slice(0, 0) if words is None else words, batch).slice(0, 0)
        if words is not None:
            words = _in_order(words, latest)
        for batch, _ in _filtered_batches(place, form, rows):
            yield batch if words is None else _with_words_of(words, batch)


def _filtered_batches(place: Path, form: str, rows: Collection[int]) -> Iterator[tuple[Any, Any]]:
    """Yield what stays of each batch, and the batch: the reader of the scan ends at the same fault."""
    first = 1
    with decoded_table(place, form) as reader:
        for batch in _until_fault(reader):
            kept = [number not in rows for number in range(first, first + batch.num_rows)]
            columns = [_filtered(column, kept) for column in batch.columns]
            yield pa.record_batch(columns, schema=batch.schema), batch
            first += batch.num_rows


def _with_words_of(words: Any, batch: Any) -> Any:  # noqa: ANN401  pyarrow publishes no types
    """Return a batch whose dictionaries begin with those of another one."""
    table = pa.Table.from_batches([words, batch]).unify_dictionaries()
    return pa.record_batch([column.chunk(1) for column in table.columns], schema=batch.schema)


def _in_order(words: Any, source: Any) -> Any:  # noqa: ANN401
    """Return words whose order has a meaning in the order of their source."""
    import pyarrow.compute as pc  # noqa: PLC0415  slow to import

    columns = words.columns
    for place, column in enumerate(columns):
        if pa.types.is_dictionary(column.type) and column.type.ordered:
            ranks = pc.index_in(column.dictionary, value_set=source.column(place).dictionary)
            values = column.dictionary.take(pc.sort_indices(ranks))
            columns[place] = pa.DictionaryArray.from_arrays(column.indices, values, ordered=True)
    return pa.record_batch(columns, schema=words.schema)


def _has_dictionary(column_type: Any) -> bool:  # noqa: ANN401
    return "dictionary<" in str(column_type)


def _filtered(column: Any, kept: list[bool]) -> Any:  # noqa: ANN401
    """Return the values of a column that stay, and nothing of the others."""
    import pyarrow.compute as pc  # noqa: PLC0415  slow to import

    if pa.types.is_run_end_encoded(column.type):
        values = _filtered(pc.run_end_decode(column), kept)
        return pc.run_end_encode(values, run_end_type=column.type.run_end_type)
    if pa.types.is_dictionary(column.type):
        codes = column.indices.filter(pa.array(kept))
        is_used = np.zeros(len(column.dictionary), bool)
        is_used[codes.drop_null().to_numpy()] = True
        values = _filtered(column.dictionary, is_used.tolist())
        used = pa.array(np.flatnonzero(is_used), codes.type)
        codes = pc.index_in(codes, value_set=used).cast(codes.type)
        return pa.DictionaryArray.from_arrays(codes, values, ordered=column.type.ordered)
    # pyarrow selects no views of texts, and of lists in a way that keeps the bytes of the others
    if "view" in str(column.type) or _has_dictionary(column.type):
        return pa.array(list(compress(column.to_pylist(), kept)), column.type)
    return column.filter(pa.array(kept))


def _members(place: Path, out: IO[bytes], removed: Collection[str]) -> None:
    # an archive inside the archive goes as a whole, and so do all sisters of a row of a WebDataset
    left_out = set(removed)
    for name in removed:
        left_out.update(map(str, PurePosixPath(name).parents))
    if archive_form(place) == "zip":
        with zipfile.ZipFile(place) as archive, zipfile.ZipFile(out, "w") as written:
            for entry in archive.infolist():
                member_path = inside(entry.filename)
                # a path that leads outside was not read
                if member_path is not None and (entry.is_dir() or member_path not in left_out):
                    written.writestr(entry, archive.read(entry))
        return
    with _packed(place, out) as packed, tarfile.open(fileobj=packed, mode="w|") as written:
        for member, content in _until_fault(_tar_members(place)):
            member_path = inside(member.name)
            # a path that leads outside was not read
            if member_path is None:
                continue
            if member.isdir() or left_out.isdisjoint({member_path, sisters_name(member_path)}):
                written.addfile(member, BytesIO(content))


def _tar_members(place: Path) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    # "r|" reads forward only, as a packed stream must be read; links and folders have no content
    with (
        place.open("rb") as raw,
        decompressed(raw) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=GuardedInfo) as archive,
    ):
        for member in archive:
            content = None
            # a sparse file was not read by the scan, and may be larger than the memory
            if member.isfile() and not cast("GuardedInfo", member).is_hollow:
                content = archive.extractfile(member)
            yield member, b"" if content is None else content.read()
