"""Rows of tables as files: JSON lines and Parquet in the columns of The Stack v1 and v2, or in any others."""

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, ClassVar, Final

import pyarrow as pa

from assay.corpora.archives import archive_form, decompressed, file_stamp
from assay.corpora.entry import Entry, Facts, InMemory, Skipped, SourceFile
from assay.corpora.filters import decode_source
from assay.datasets import check_ratio, column_names, decoded_table, file_error
from assay.errors import DataError, plain_reason
from assay.files import parse_json
from assay.guard import LONGEST_LINE, lines_within
from assay.languages import language_named
from assay.licences import all_of, spelt_licence

PARQUET = b"PAR1"

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("content", "text", "code", "source", "func", "func_code_string", "whole_func_string"),
    "path": ("max_stars_repo_path", "path", "file_path", "filename", "file_name", "func_path_in_repository"),
    "repository": ("max_stars_repo_name", "repo_name", "repository_name", "repository", "repo"),
    "licence": ("max_stars_repo_licenses", "detected_licenses", "licenses", "license", "licence"),
    "commit": ("max_stars_repo_head_hexsha", "revision_id", "commit", "commit_id"),
    "digest": ("blob_id", "hexsha", "content_id", "sha256", "sha"),
    "language": ("lang", "language", "programming_language"),
    "author": ("author",),
    "url": ("url", "func_code_url"),
    "encoding": ("src_encoding", "encoding"),
}
"""Fields of a row, and the names of their columns in order of preference: The Stack v1, v2, usual names."""

ColumnNames = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TableFile:
    """The rows of a JSON lines or Parquet file, compressed or not.

    Attributes:
        path: of the file.
        name: see `CorpusSource`.
        stored_kind: the kind of this source in the seen files of every index; it must never change.
        columns: names that the user states for columns, by the keys of `COLUMNS`.
    """

    stored_kind: ClassVar[str] = "Table"

    path: Path
    name: str
    columns: ColumnNames = field(default_factory=dict)
    whole: bool = field(default=True, init=False)
    indivisible: bool = field(default=True, init=False)

    @property
    def stamp(self) -> str:
        """Size and time of the file."""
        return file_stamp(self.path)

    def files(self) -> Iterator[SourceFile]:
        """See `CorpusSource`.

        Raises:
            DataError: the file is broken as a whole, or has no column of texts.
        """
        if is_parquet(self.path):
            yield from _parquet(self.path, self.columns)
            return
        try:
            with self.path.open("rb") as raw, decompressed(raw) as stream:
                size = max(1, self.path.stat().st_size)
                lines = _NoBomb(stream, raw, self.path)
                yield from json_lines(
                    lines, str(self.path), self.path.name, columns=self.columns, share=lambda: raw.tell() / size
                )
        except (OSError, EOFError, pa.ArrowException) as fault:
            if isinstance(fault, OSError) and fault.errno is not None:
                raise file_error(self.path, fault) from fault
            raise DataError(
                f"{self.path}: corrupt or truncated ({plain_reason(fault)}), expected JSON lines"
            ) from fault


@dataclass(frozen=True, slots=True)
class Stream:
    """JSON lines, or one file, from a stream that can be read once, such as standard input.

    Attributes:
        stream: of bytes.
        name: see `CorpusSource`.
        columns: see `TableFile`.
        form: "table" for JSON lines, "file" for a single file; None: the first line decides.
        path: of the single file.
        largest: bytes of the single file.
    """

    stream: IO[bytes]
    name: str
    largest: int
    columns: ColumnNames = field(default_factory=dict)
    form: str | None = None
    path: str = "stdin"
    stamp: str | None = field(default=None, init=False)
    whole: bool = field(default=False, init=False)
    indivisible: bool = field(default=True, init=False)

    def files(self) -> Iterator[SourceFile]:
        """See `CorpusSource`."""
        first = self.stream.readline(LONGEST_LINE)
        if self.form == "table" or (self.form is None and _is_row(first)):
            yield from json_lines(self.stream, self.name, self.name, columns=self.columns, first=(first,))
            return
        # one byte more than allowed shows that the file is too large
        raw = first + self.stream.read(max(0, self.largest + 1 - len(first)))
        yield Entry(self.path, hashlib.sha256(raw).hexdigest(), len(raw), content=InMemory(raw))


def is_parquet(path: Path) -> bool:
    """Return True if a file begins as Parquet does."""
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def is_table(path: Path) -> bool:
    """Return True if a file is Parquet, or its first line, decompressed, is a JSON object."""
    if is_parquet(path):
        return True
    form = archive_form(path)
    named = {".jsonl", ".ndjson", ".json"} & {suffix.lower() for suffix in path.suffixes}
    if form in {"zip", "tar"} or (form is None and not named):
        return False
    try:
        with path.open("rb") as raw, decompressed(raw) as stream:
            return bool(named) or _is_row(stream.readline(LONGEST_LINE))
    except (OSError, EOFError, pa.ArrowException):
        return bool(named)


def json_lines(
    stream: Any,  # noqa: ANN401  any readable
    where: str,
    name: str,
    columns: ColumnNames,
    share: Callable[[], float | None] = lambda: None,
    *,
    first: Sequence[bytes] = (),
) -> Iterator[SourceFile]:
    """Yield an entry for each line; a line that is not a complete JSON object is skipped.

    Args:
        stream: of bytes.
        where: its name in messages.
        name: its name in the paths of rows without a path.
        columns: see `TableFile`.
        share: returns the share that has been read.
        first: the first line, if it was read from the stream already.

    Raises:
        DataError: no line has a column of texts.
    """
    lines = _buffered(stream)
    texts = 0
    keys: set[str] = set()
    for number, line in enumerate(chain(first, lines_within(lines.readline, b"\n")), 1):
        if line is None:
            yield Skipped(f"{name}:{number}", "too large")
            continue
        if not line.strip():
            continue
        row = _parsed(line)
        if row is None:
            yield Skipped(f"{name}:{number}", "broken row")
            continue
        if len(keys) < 100:  # noqa: PLR2004  enough for a message
            keys.update(row)
        entry = _entry(row, f"{name}:{number}", columns, share=share())
        texts += isinstance(entry, Entry)
        yield entry
    # a table without rows is no error, one without a column of texts is
    if not texts and keys and not _column("text", keys, columns):
        raise _no_text(where, keys, columns)


def _parquet(path: Path, columns: ColumnNames) -> Iterator[SourceFile]:
    # only the columns that are used: others may be large, such as vectors
    choices = [_candidates(field, columns) for field in COLUMNS]
    with decoded_table(path, "Parquet", choices) as reader:
        names = column_names(reader)
        if not _column("text", names, columns):
            raise _no_text(str(path), names, columns)
        number = 0
        for batch in reader:
            for row in batch.to_pylist():
                number += 1
                yield _entry(row, f"{path.name}:{number}", columns)


def _column(field: str, names: "set[str] | Mapping[str, object]", columns: ColumnNames) -> str | None:
    return next((name for name in _candidates(field, columns) if name in names), None)


def _candidates(field: str, columns: ColumnNames) -> tuple[str, ...]:
    return (columns[field],) if field in columns else COLUMNS[field]


def _entry(row: Mapping[str, Any], where: str, columns: ColumnNames, share: float | None = None) -> SourceFile:
    def cell(field: str) -> Any:  # noqa: ANN401  a cell may have any type
        column = _column(field, row, columns)
        if column is None:
            return None
        return row[column]

    def words(field: str) -> str | None:
        value = cell(field)
        if value is None or value == "" or isinstance(value, list | dict):
            return None
        return str(value)

    repository, path = words("repository"), words("path")
    shown = where
    if path:
        shown = f"{repository.strip('/')}/{path.strip('/')}" if repository else path.strip("/")
    content = cell("text")
    if isinstance(content, bytes):
        try:
            content = decode_source(content, words("encoding"))[0]
        except UnicodeError:
            return Skipped(shown, "undecodable")
    if not isinstance(content, str):
        return Skipped(shown, "no text in the row")
    language = words("language")
    facts = Facts(
        metadata=_licence(cell("licence")),
        repository=repository,
        commit=words("commit"),
        author=words("author"),
        url=words("url"),
        language=language_named(language) if language else None,
    )
    stamp = words("digest") or hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return Entry(shown, stamp, len(content), content=InMemory(content), facts=facts, share=share)


def _licence(value: object) -> str | None:
    """Return one SPDX expression from a cell: a word, a list of words, or a list written as JSON."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = parse_json(value)
        except ValueError:
            return None
    names: Sequence[object] = value if isinstance(value, list) else [value]
    licences = [spelt_licence(name) or name for name in names if isinstance(name, str) and name.strip()]
    return all_of(licences) or None


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = parse_json(line)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        return None
    if isinstance(value, dict):
        return value
    return None


def _is_row(line: bytes) -> bool:
    return line.lstrip().startswith(b"{") and _parsed(line) is not None


def _no_text(where: str, names: "set[str]", columns: ColumnNames) -> DataError:
    requested = columns.get("text")
    expected = f"{requested!r}" if requested else f"one of {', '.join(COLUMNS['text'])}, or --column text=NAME"
    hint = "; The Stack v2 contains ids only; download its contents first" if "blob_id" in names else ""
    return DataError(f"{where}: columns {', '.join(sorted(names)[:12])}: expected a column of texts, {expected}{hint}")


def _buffered(stream: Any) -> Any:  # noqa: ANN401  any readable
    """Return a stream whose lines can be read quickly."""
    if hasattr(stream, "readinto") and not hasattr(stream, "peek"):
        return io.BufferedReader(stream)
    return stream


class _NoBomb:
    """The lines of a file, until it has unpacked to implausibly many bytes."""

    def __init__(self, stream: IO[bytes], packed: IO[bytes], path: Path) -> None:
        self._stream, self._packed, self._path, self._bytes = _buffered(stream), packed, path, 0

    def readline(self, limit: int) -> bytes:
        """Read a line as from any stream.

        Raises:
            DataError: the file is a bomb.
        """
        line: bytes = self._stream.readline(limit)
        self._bytes += len(line)
        check_ratio(self._path, self._bytes, self._packed.tell())
        return line
