"""Source files that are to be traced, not indexed."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import DataError
from assay.provenance.filters import MEGABYTE, Filters, decoded, language_of_file
from assay.provenance.sources.entry import Entry
from assay.provenance.sources.open import Reading, open_sources
from assay.provenance.splitting import pieces

LARGEST = 10 * MEGABYTE
"""Bytes of a file that is named itself."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file or a function of one.

    Attributes:
        path: within what was named.
        text: of the piece.
        language: as `Sample.language` spells it, or None.
        name: dotted name of the function; None for a whole file.
        first_line: line of the file at which the text begins.
    """

    path: str
    text: str
    language: str | None
    name: str | None = None
    first_line: int = 1


def source_texts(corpora: Sequence[str], filters: Filters | None = None) -> Iterator[SourceText]:
    """The source files of folders, archives, repositories or tables, whole; what cannot be code is passed over.

    Raises:
        DataError: one of them cannot be found or read.
    """
    filters = filters or Filters()
    for source in open_sources(list(corpora), Reading()):
        for entry in source.found():
            if isinstance(entry, Entry) and (found := _read(entry, filters)):
                yield found


def by_function(texts: Iterable[SourceText]) -> Iterator[SourceText]:
    """The functions of each file; a file that has none, or cannot be split, as a whole."""
    for one in texts:
        for piece in pieces(one.text, one.language, "function").pieces:
            yield SourceText(one.path, piece.text, one.language, piece.name, piece.first_line)


def _read(entry: Entry, filters: Filters) -> SourceText | None:
    if filters.by_name(entry.path, entry.size):
        return None
    try:
        raw = entry.content.read(filters.largest + 1)
        if filters.by_bytes(raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw):
            return None
        text = raw if isinstance(raw, str) else decoded(raw)[0]
    except (OSError, UnicodeError):
        return None
    language = entry.facts.language or language_of_file(entry.path, text[:200])
    return None if filters.by_language(language) or filters.by_text(text) else SourceText(entry.path, text, language)


def one_text(path: Path, language: str | None = None) -> SourceText:
    """One file, or standard input for "-", whatever its name says.

    Raises:
        DataError: it cannot be read, is binary, or is larger than a source file is read.
    """
    try:
        if str(path) == "-":
            raw = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(LARGEST + 1)
        text = decoded(raw)[0]
    except (OSError, UnicodeError) as error:
        raise DataError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    reason = Filters(largest=LARGEST).by_bytes(raw)
    if reason is not None and reason != "empty":  # an empty file is code too, and too short to be traced
        raise DataError(f"{path}: {reason}; expected source code of at most {LARGEST:,} bytes")
    called = "stdin" if str(path) == "-" else path.as_posix()
    return SourceText(called, text, language or language_of_file(path.name, text[:200]))
