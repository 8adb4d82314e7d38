"""The requested texts of a benchmark, and the small steps that every family shares."""

from dataclasses import dataclass
from pathlib import Path

from assay.datasets.sources import Note, SourceRow, decoded, opened
from assay.errors import DataError


@dataclass(frozen=True, slots=True)
class Selection:
    """The requested part, subset, language and split of a benchmark; already checked against its entry.

    `part` is always one of the benchmark's parts. None means: the default subset, every language, every
    split.
    """

    part: str = "full"
    subset: str | None = None
    language: str | None = None
    split: str | None = None


def words(row: SourceRow, column: str) -> str:
    """Return the text of a column; an absent or null one is an empty text.

    Raises:
        DataError: the value is not a text.
    """
    value = row.get(column)
    if value is not None and not isinstance(value, str):
        raise DataError(f"{column!r} holds {type(value).__name__} {str(value)[:40]!r}, expected text")
    return value or ""


def rest(row: SourceRow, *used: str) -> SourceRow:
    """Return the columns that are not used, for `Sample.metadata`."""
    return {column: value for column, value in row.items() if column not in used}


def file_text(path: Path, note: Note, *, parts: int = 2) -> str:
    """Return the text of a file; "" where it is not there, because official layouts leave some files out.

    Args:
        path: of the file.
        note: says where Latin-1 had to be assumed.
        parts: of the path that a note names.
    """
    if not path.exists():
        return ""
    with opened(path) as stream:
        return decoded(stream.read(), "/".join(path.parts[-parts:]), note)
