"""Source files that are traced, not indexed."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.code import Unparsable, functions_in
from assay.errors import DataError
from assay.languages import languages_with
from assay.provenance.filters import MEGABYTE, Filters, decode_source, language_of_file
from assay.provenance.sources.entry import Entry, Reason
from assay.provenance.sources.open import CorpusOptions, open_sources
from assay.provenance.splitting import outside_functions, pieces

LARGEST_TEXT = 10 * MEGABYTE
"""Bytes of a file that the user names itself."""


_LINE_END = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")

SourceKind = Literal["file", "function", "remainder"]


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file, a function of one, or the remainder of one: its lines outside of functions.

    Attributes:
        path: within the corpus.
        text: of the piece.
        language: as `Sample.language` spells it, or None.
        name: dotted name of the function; None for a file or a remainder.
        first_line: line of the file at which the text begins.
        kind: of the piece. In a remainder the functions are blank, so that its lines are those of the file.
    """

    path: str
    text: str
    language: str | None
    name: str | None = None
    first_line: int = 1
    kind: SourceKind = "file"


def source_texts(corpora: Sequence[str], filters: Filters | None = None) -> Iterator[SourceText]:
    """Yield the source files of folders, archives, repositories or tables, whole; other files are skipped.

    Raises:
        DataError: a corpus does not exist or cannot be read.
    """
    filters = filters or Filters()
    for source in open_sources(list(corpora), CorpusOptions()):
        for entry in source.files():
            if isinstance(entry, Entry) and (text := entry_text(entry, filters)):
                yield text


def by_function(texts: Iterable[SourceText]) -> Iterator[SourceText]:
    """Yield the functions of each file; a file without functions, or that cannot be split, as a whole."""
    for file in texts:
        for piece in pieces(file.text, file.language, "function").pieces:
            yield SourceText(file.path, piece.text, file.language, piece.name, piece.first_line, piece.kind)


def parts_of(file: SourceText) -> tuple[SourceText, ...]:
    """Return the functions of a file, its remainder and the whole: each is traced by itself.

    A file whose functions are not known gives itself alone; so does a file that is one function, under its name.
    """
    if file.language is None or file.language not in languages_with("functions"):
        return (file,)
    try:
        functions = functions_in(file.text, file.language)
    except Unparsable:
        return (file,)
    inside = [
        SourceText(file.path, function.text, file.language, function.name, function.first_line, "function")
        for function in functions
    ]
    outside = outside_functions(file.text, functions)
    if not inside or (len(inside) == 1 and not outside.strip()):
        return tuple(inside) or (file,)
    remainder = (SourceText(file.path, outside, file.language, kind="remainder"),) if outside.strip() else ()
    return (*inside, *remainder, file)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends: LF, CRLF or a CR alone, as `Source` counts them."""
    return _LINE_END.split(text)


def entry_text(entry: Entry, filters: Filters) -> SourceText | None:
    """Return the text of a file; None where the filters skip it or it cannot be read."""
    text = text_or_reason(entry, filters)
    return text if isinstance(text, SourceText) else None


def text_or_reason(entry: Entry, filters: Filters) -> SourceText | Reason:
    """Return the text of a file, or the reason why the filters skip it or it cannot be read."""
    if reason := filters.by_name(entry.path, entry.size):
        return reason
    try:
        raw = entry.content.read(filters.largest + 1)
        if reason := filters.by_bytes(raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw):
            return reason
        text = raw if isinstance(raw, str) else decode_source(raw)[0]
    except OSError:
        return "unreadable"
    except UnicodeError:
        return "undecodable"
    language = entry.facts.language or language_of_file(entry.path, text[:200])
    return filters.by_language(language) or filters.by_text(text) or SourceText(entry.path, text, language)


def read_source_text(path: Path, language: str | None = None) -> SourceText:
    """Read one file, or standard input for "-", whatever its suffix.

    Raises:
        DataError: it cannot be read, is binary, or is too large.
    """
    try:
        if str(path) == "-":
            raw = sys.stdin.buffer.read(LARGEST_TEXT + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(LARGEST_TEXT + 1)
        text = decode_source(raw)[0]
    except (OSError, UnicodeError) as error:
        raise DataError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    reason = Filters(largest=LARGEST_TEXT).by_bytes(raw)
    if reason is not None and reason != "empty":  # an empty file is code too, and too short to be traced
        raise DataError(f"{path}: {reason}; expected source code of at most {LARGEST_TEXT:,} bytes")
    name = "stdin" if str(path) == "-" else path.as_posix()
    return SourceText(name, text, language or language_of_file(path.name, text[:200]))
