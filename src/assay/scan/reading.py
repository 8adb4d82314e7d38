"""Texts of a file of training data, with the row that each comes from; what is not read is counted by reason."""

import io
import lzma
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from assay.corpora.archives import Archive, archive_form, decompressed, is_archive
from assay.corpora.entry import Skipped
from assay.corpora.filters import decode_source
from assay.datasets import is_binary, nested_value
from assay.datasets.hub import HubPart, hub_rows
from assay.datasets.sources.columnar import ARROW_FILE, ARROW_STREAM, decoded_table
from assay.datasets.sources.delimited import delimited_rows
from assay.errors import DataError, plain_reason
from assay.files import parse_json
from assay.guard import LARGEST_JSON, LARGEST_RATIO, LONGEST_LINE, RATIO_FROM
from assay.scan.shapes import plain_text, row_text, shape_of

HUB = "hf:"
PARQUET = b"PAR1"
LINES = frozenset({".jsonl", ".ndjson", ".json"})
DELIMITED = frozenset({".csv", ".tsv"})
STATE_FILES = frozenset({"dataset_info.json", "state.json", "dataset_dict.json"})
"""Files of `save_to_disk` that describe the others."""
FAULTS = (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException)
"""Errors of a stream that is broken or cut off."""


@dataclass(frozen=True, slots=True)
class CorpusText:
    """One text of a file.

    Attributes:
        row: of a table, from 1; None for a plain file and a member of an archive.
        member: of an archive; "" outside of one.
        text: in UTF-8.
    """

    row: int | None
    member: str
    text: bytes


@dataclass(eq=False)
class FileReader:
    """The texts of one file.

    Attributes:
        path: of the file, or hf:OWNER/NAME.
        columns: of texts; none for all.
        shapes: rows and files of each shape that was recognised.
        unread: what was not read, by reason.
    """

    path: str
    columns: Sequence[str] = ()
    shapes: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)

    def texts(self) -> Iterator[CorpusText]:
        """Yield the texts in order; a fault ends the file, is counted, and what was read before it stays."""
        place = Path(self.path)
        try:
            if self.path.startswith(HUB):
                yield from self._rows(hub_rows(HubPart(self.path.removeprefix(HUB))))
            elif place.stat().st_size == 0:
                self.unread["empty"] += 1
            else:
                yield from self._opened(place)
        except DataError as fault:
            self.unread[f"broken or cut off: {str(fault).removeprefix(f'{self.path}: ')}"] += 1
        except FAULTS as fault:
            self.unread[f"broken or cut off: {plain_reason(fault)}"] += 1

    def _opened(self, place: Path) -> Iterator[CorpusText]:
        with place.open("rb") as file:
            head = file.read(len(ARROW_FILE))
        suffixes = {suffix.lower() for suffix in place.suffixes}
        if place.name in STATE_FILES:
            return
        if is_archive(place):
            yield from self._members(place)
        elif head.startswith((PARQUET, ARROW_FILE, ARROW_STREAM)):
            yield from self._rows(self._table(place, "Parquet" if head.startswith(PARQUET) else "Arrow"))
        elif suffixes & DELIMITED:
            yield from self._rows(delimited_rows(place, lambda _: None))
        else:
            with place.open("rb") as raw, decompressed(raw) as packed:
                stream = _bounded(packed, raw)
                if suffixes & LINES or (archive_form(place) and ".txt" not in suffixes):
                    yield from self._lines(stream)
                else:
                    yield from self._whole(place.name, stream.read(LONGEST_LINE + 1))

    def _lines(self, stream: IO[bytes]) -> Iterator[CorpusText]:
        """Yield the rows of JSON lines, or of a JSON document over several lines."""
        first = stream.readline(LONGEST_LINE)
        if begins_document(first):
            document = first + stream.read(LARGEST_JSON)
            if (rows := _document(document)) is not None:
                yield from self._rows(rows)
                return
            stream = io.BytesIO(document[len(first) :])
        read = partial(stream.readline, LONGEST_LINE)
        for number, line in enumerate(chain((first,), iter(read, b"")), 1):
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := read()) and not rest.endswith(b"\n"):
                    pass
                self.unread["line too long"] += 1
            elif line.strip():
                row = _object(line)
                if row is None:
                    self.unread["not a JSON object"] += 1
                else:
                    yield from self._row(row, number)

    def _rows(self, rows: Iterator[Mapping[str, Any]]) -> Iterator[CorpusText]:
        for number, row in enumerate(rows, 1):
            yield from self._row(row, number)

    def _row(self, row: Mapping[str, Any], number: int | None, member: str = "") -> Iterator[CorpusText]:
        text = row_text(row, self.columns)
        if not text.strip() and any(isinstance(nested_value(row, name), str) for name in self.columns or row):
            self.shapes["empty texts"] += 1  # they were read, and can hold no task
            return
        if not text.strip():
            self.unread[f"no text in the column{' ' + ', '.join(self.columns) if self.columns else 's'}"] += 1
            return
        self.shapes[f"columns {', '.join(self.columns)}" if self.columns else shape_of(row)] += 1
        yield CorpusText(number, member, text.encode("utf-8", "surrogatepass"))

    def _table(self, place: Path, form: str) -> Iterator[Mapping[str, Any]]:
        with decoded_table(place, form) as reader:
            for batch in reader:
                yield from batch.to_pylist()

    def _members(self, place: Path) -> Iterator[CorpusText]:
        for member in Archive(place, str(place), LONGEST_LINE).files():
            if isinstance(member, Skipped):
                self.unread[member.reason] += 1
            else:
                content = member.content.read(LONGEST_LINE + 1)
                raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
                yield from self._whole(member.path, raw, member.path)

    def _whole(self, name: str, raw: bytes, member: str = "") -> Iterator[CorpusText]:
        """Yield the text of a plain file; JSON and notebooks are read as rows."""
        suffix = Path(name).suffix.lower()
        if len(raw) > LONGEST_LINE:
            self.unread["too large"] += 1
        elif not raw.strip():
            self.unread["empty"] += 1
        elif suffix in {".ipynb", ".json"} and (row := _object(raw)) is not None:
            yield from self._row(row, None, member)
        elif suffix in LINES:
            for line in raw.splitlines():
                row = _object(line)
                if row is None:
                    self.unread["not a JSON object"] += 1
                else:
                    yield from self._row(row, None, member)
        elif is_binary(raw):
            self.unread["binary"] += 1
        else:
            text = decode_source(raw)[0]
            self.shapes["plain files"] += 1
            yield CorpusText(None, member, plain_text(text).encode("utf-8", "surrogatepass"))


class _Bounded(io.RawIOBase):
    """A stream that ends with an error once it has unpacked to implausibly many bytes."""

    def __init__(self, stream: IO[bytes], packed: IO[bytes]) -> None:
        self._stream, self._packed, self._total = stream, packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  whatever holds bytes
        # `read1` gives what is there: a stream that is cut off keeps the rows before the cut
        read = getattr(self._stream, "read1", self._stream.read)
        piece = read(len(buffer))
        buffer[: len(piece)] = piece
        self._total += len(piece)
        if self._total > RATIO_FROM and self._total > LARGEST_RATIO * self._packed.tell():
            raise DataError(f"unpacks to more than {LARGEST_RATIO:g} times its size")
        return len(piece)


def _bounded(stream: IO[bytes], packed: IO[bytes]) -> IO[bytes]:
    if stream is packed:
        return stream
    return io.BufferedReader(_Bounded(stream, packed), 1 << 20)


def begins_document(first: bytes) -> bool:
    """Return True if the first line of a file of JSON begins one value over several lines, or an array of rows."""
    return not _object(first) and first.strip()[:1] in (b"[", b"{") and not first.rstrip().endswith(b"}")


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _document(document: bytes) -> Iterator[Mapping[str, Any]] | None:
    try:
        value = parse_json(document)
    except ValueError:
        return None
    rows = value if isinstance(value, list) else [value]
    return (row if isinstance(row, dict) else {"text": row} for row in rows)
