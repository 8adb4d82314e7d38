"""Rows from files and folders; their content shows their form."""

from collections.abc import Iterator
from pathlib import Path

from assay.datasets.sources.columnar import is_saved, saved_rows
from assay.datasets.sources.files import file_rows
from assay.datasets.sources.folders import data_files, folder_rows, names_split, splits_named, with_split
from assay.datasets.sources.json_text import SourceRow, UnreadRow
from assay.datasets.sources.stream import opened, require_exists, walk
from assay.datasets.sources.text import Note, decoded

__all__ = [
    "Note",
    "SourceRow",
    "UnreadRow",
    "data_files",
    "decoded",
    "names_split",
    "opened",
    "read_rows",
    "require_exists",
    "splits_named",
    "walk",
    "with_split",
]


def read_rows(path: Path, note: Note) -> Iterator[SourceRow]:
    """The rows of a file, of a `save_to_disk` folder, or of a folder of code or data files.

    Args:
        path: what to read; its content shows its form, see `file_rows` and `folder_rows`.
        note: is called with one sentence for everything that was skipped, guessed or repaired.

    Raises:
        DataError: missing, out of reach, empty, broken, or nothing that can be read; one line.
    """
    require_exists(path)
    if not path.is_dir():
        return file_rows(path, note)
    if is_saved(path):
        return saved_rows(path)
    return folder_rows(path, note)
