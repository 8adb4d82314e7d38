"""Rows from Parquet and Arrow, through pyarrow alone, which decodes them in a child process."""

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from assay.datasets.sources.json_text import SourceRow
from assay.datasets.sources.stream import check_distinct, check_ratio, opened, require_exists
from assay.errors import DataError
from assay.files import parse_json
from assay.guard import ROW_BYTES, child_stream, library_faults

# the magic of both file formats; a stream has none, and begins with the mark of a message instead (Arrow columnar
# format, "Encapsulated message format")
PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_BATCH, _FEWEST = 1024, 32  # rows turned into Python objects at a time: most, and fewest where a row group is large
_LARGEST_BATCH = 2**32  # bytes of a batch whose rows are each as long as a whole row group

_NAMES = b"columns"

STATE, SPLITS = "state.json", "dataset_dict.json"


def parquet_rows(path: Path) -> Iterator[SourceRow]:
    """Rows of a Parquet file.

    Raises:
        DataError: the file is truncated or broken, or holds implausibly much for its size.
    """
    return _rows(path, "Parquet")


def arrow_rows(path: Path) -> Iterator[SourceRow]:
    """Rows of an Arrow file, in the stream or the file format.

    Raises:
        DataError: as for `parquet_rows`.
    """
    return _rows(path, "Arrow")


@contextmanager
def decoded_table(path: Path, form: str, choices: Sequence[Sequence[str]] | None = None) -> Iterator[Any]:
    """Yield a reader of the batches of a table, which a child process decodes and checks.

    Args:
        path: of the file.
        form: "Parquet" or "Arrow".
        choices: of each list of names the first is read that a Parquet file has; None for all columns.

    Raises:
        DataError: see `parquet_rows`; also while reading.
    """
    require_exists(path)
    expected = f"a whole {form} file"
    with child_stream(write_batches, path, form, choices, expected=expected) as stream, library_faults(path, expected):
        yield pa.ipc.open_stream(stream)


def column_names(reader: Any) -> set[str]:  # noqa: ANN401  pyarrow publishes no types
    """Return the names of all columns of a table, read or not."""
    return set(parse_json(reader.schema.metadata[_NAMES]))


def _rows(path: Path, form: str) -> Iterator[SourceRow]:
    with decoded_table(path, form) as reader:
        for batch in reader:
            yield from batch.to_pylist()


def is_saved(folder: Path) -> bool:
    """Return True if a folder was written by `save_to_disk` of the datasets package."""
    return (folder / STATE).is_file() or (folder / SPLITS).is_file()


def saved_rows(folder: Path) -> Iterator[SourceRow]:
    """Rows of a `save_to_disk` folder; of one with several splits, all in order, each row with its "split".

    Raises:
        DataError: the folder's own table of contents is broken, or a file that it names is.
    """
    if (folder / SPLITS).is_file():
        for split in _contents(folder / SPLITS, "splits"):
            for row in saved_rows(folder / str(split)):
                yield {"split": split, **row}
        return
    if (folder / "indices.arrow").exists():
        raise DataError(f"{folder}: holds a selection by index, expected flat data (call flatten_indices first)")
    for entry in _contents(folder / STATE, "_data_files"):
        yield from arrow_rows(folder / str(entry["filename"]))


def _contents(path: Path, key: str) -> list[Any]:
    with opened(path) as stream:
        try:
            return list(parse_json(stream.read())[key])
        except (ValueError, KeyError, TypeError) as fault:
            raise DataError(f"{path}: broken, expected the JSON that save_to_disk writes, with {key!r}") from fault


def write_batches(out: IO[bytes], path: str, form: str, choices: Sequence[Sequence[str]] | None) -> None:
    """Decode a table, and write its batches in the stream format of Arrow: what runs in the child process.

    Raises:
        DataError: it holds implausibly much for its size.
    """
    place, unpacked = Path(path), 0
    size = place.stat().st_size
    with opened(place) as stream:
        source: IO[bytes] = stream
        if not isinstance(stream.raw, io.FileIO):
            # both formats are read from both ends, so what is compressed is unpacked into memory first
            source = io.BytesIO(stream.read())
        # faults of the library are named here: `opened` would take its errors for those of the file system
        with library_faults(place, f"a whole {form} file"):
            batches = _parquet_batches(place, source, choices) if form == "Parquet" else _arrow_batches(source)
            schema = next(batches)
            check_distinct(place, schema.names)
            with pa.ipc.new_stream(out, schema) as written:
                for batch in batches:
                    batch.validate(full=True)  # else offsets outside the data are followed
                    for start in range(0, batch.num_rows, _BATCH):
                        part = batch.slice(start, _BATCH)
                        # a value that is stored once may be repeated millions of times, and a row may store nothing
                        unpacked += part.num_rows * ROW_BYTES + sum(map(_decoded_bytes, part.columns))
                        check_ratio(place, unpacked, size)
                        written.write_batch(part)


def _parquet_batches(path: Path, source: Any, choices: Sequence[Sequence[str]] | None) -> Iterator[Any]:  # noqa: ANN401
    """Yield the schema and the batches."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415  slow to import, and few files are Parquet

    file = ParquetFile(source)
    groups = [file.metadata.row_group(place).total_byte_size for place in range(file.num_row_groups)]
    check_ratio(path, sum(groups), path.stat().st_size)
    names = file.schema_arrow.names
    chosen: set[str | None] = set(names)
    if choices is not None:
        chosen = {next(filter(names.__contains__, choice), None) for choice in choices}
    fields = [field for field in file.schema_arrow if field.name in chosen]
    # the names of columns that are not read travel with the schema, for messages that list them
    yield pa.schema(fields, {_NAMES: json.dumps(names)})
    batch = max(_FEWEST, min(_BATCH, _LARGEST_BATCH // max([1, *groups])))
    yield from file.iter_batches(batch_size=batch, columns=list(map(attrgetter("name"), fields)))


def _arrow_batches(source: Any) -> Iterator[Any]:  # noqa: ANN401  pyarrow publishes no types
    """Yield the schema and the batches."""
    head = source.read(len(ARROW_FILE))
    source.seek(0)
    if head == ARROW_FILE:
        file = pa.ipc.open_file(source)
        yield file.schema
        yield from map(file.get_batch, range(file.num_record_batches))
    else:
        stream = pa.ipc.open_stream(source)
        yield stream.schema
        yield from stream


def _decoded_bytes(column: Any) -> int:  # noqa: ANN401  as above
    """Return the size of a column whose repeated values are stored once."""
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        # pyarrow does not repeat views of texts
        if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
            values = values.cast(pa.large_binary())
        column = pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()
    return int(column.nbytes)
