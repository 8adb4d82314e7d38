"""Rows from Parquet and Arrow, through pyarrow alone."""

import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.datasets.sources.json_text import SourceRow
from assay.datasets.sources.stream import check_ratio, file_error, opened
from assay.errors import DataError
from assay.files import parse_json

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_BATCH, _FEWEST = 1024, 32  # rows turned into Python objects at a time: most, and fewest where a row group is large
_LARGEST_BATCH = 2**32  # bytes of a batch whose rows are each as long as a whole row group

STATE, SPLITS = "state.json", "dataset_dict.json"


def parquet_rows(path: Path) -> Iterator[SourceRow]:
    """Rows of a Parquet file.

    Raises:
        DataError: the file is truncated or broken, or holds implausibly much for its size.
    """
    return _rows(path, "Parquet", partial(_parquet_batches, path))


def arrow_rows(path: Path) -> Iterator[SourceRow]:
    """Rows of an Arrow file, in the stream or the file format.

    Raises:
        DataError: the file is truncated or broken.
    """
    return _rows(path, "Arrow", _arrow_batches)


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


def _parquet_batches(path: Path, source: Any) -> Iterator[Any]:  # noqa: ANN401  pyarrow publishes no types
    """Yield batches of rows; a value that is stored once may be repeated millions of times."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415  slow to import, and few files are Parquet

    file = ParquetFile(source)
    groups = [file.metadata.row_group(place).total_byte_size for place in range(file.num_row_groups)]
    check_ratio(path, sum(groups), path.stat().st_size)
    yield from file.iter_batches(batch_size=max(_FEWEST, min(_BATCH, _LARGEST_BATCH // max([1, *groups]))))


def _arrow_batches(source: Any) -> Iterator[Any]:  # noqa: ANN401  pyarrow publishes no types
    head = source.read(len(ARROW_FILE))
    source.seek(0)
    if head == ARROW_FILE:
        reader = pa.ipc.open_file(source)
        yield from (reader.get_batch(position) for position in range(reader.num_record_batches))
    else:
        yield from pa.ipc.open_stream(source)


def _decoded_bytes(column: Any) -> int:  # noqa: ANN401  as above
    """Return the size of a column whose repeated values are stored once."""
    return int((column.dictionary_decode() if pa.types.is_dictionary(column.type) else column).nbytes)


def _rows(path: Path, form: str, batches: Callable[[Any], Iterator[Any]]) -> Iterator[SourceRow]:
    with opened(path) as stream:
        # both formats are read from both ends, so what was packed with gzip is unpacked into memory first
        source = io.BytesIO(stream.read()) if not isinstance(stream.raw, io.FileIO) else stream
        try:
            size, unpacked = path.stat().st_size, 0
            for batch in batches(source):
                for start in range(0, batch.num_rows, _BATCH):
                    part = batch.slice(start, _BATCH)
                    unpacked += sum(map(_decoded_bytes, part.columns))
                    check_ratio(path, unpacked, size)
                    yield from part.to_pylist()
        except (pa.ArrowException, OSError) as fault:
            if isinstance(fault, PermissionError):
                raise file_error(path, fault) from fault
            message = str(fault).split("\n", maxsplit=1)[0].rstrip(".")
            raise DataError(f"{path}: truncated or broken {form} file ({message})") from fault
