"""Texts of a file of training data, with the row that each comes from; what is not read is counted by reason."""

import codecs
import csv
import io
import lzma
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from assay.corpora.archives import Archive, archive_form, decompressed, is_archive
from assay.corpora.entry import Skipped
from assay.corpora.filters import decode_source
from assay.datasets import is_binary, nested_value
from assay.datasets.hub import HubPart, hub_rows
from assay.datasets.sources.columnar import ARROW_FILE, ARROW_STREAM, decoded_table
from assay.datasets.sources.delimited import delimiter_of
from assay.errors import DataError, plain_reason
from assay.files import parse_json
from assay.guard import LARGEST_JSON, LARGEST_RATIO, LONGEST_LINE, RATIO_FROM, lines_within
from assay.scan.shapes import are_sisters, plain_text, row_text, shape_of, sisters_name

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
                yield from self._hub()
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
            with unpacked(place) as stream:
                yield from self._records(stream)
        elif suffixes & LINES or (archive_form(place) and ".txt" not in suffixes):
            yield from self._lines(place)
        else:
            with unpacked(place) as stream:
                yield from self._whole(place.name, stream.read(LONGEST_LINE + 1))

    def _hub(self) -> Iterator[CorpusText]:
        try:
            yield from self._rows(hub_rows(HubPart(self.path.removeprefix(HUB)), streamed=True))
        except DataError as fault:
            self.unread[str(fault).partition("; ")[0]] += 1

    def _lines(self, place: Path) -> Iterator[CorpusText]:
        """Yield the rows of JSON lines, or of a JSON document over several lines."""
        document = json_document(place)
        if document is not None:
            rows = document if isinstance(document, list) else [document]
            yield from self._rows(row if isinstance(row, dict) else {"text": row} for row in rows)
            return
        with unpacked(place) as stream:
            for number, line in enumerate(lines_within(stream.readline, b"\n"), 1):
                if line is None:
                    self.unread["line too long"] += 1
                    continue
                if not line.strip():
                    continue
                row = _object(line)
                if row is None:
                    self.unread["not a JSON object"] += 1
                else:
                    yield from self._row(row, number)

    def _records(self, stream: io.BufferedReader) -> Iterator[CorpusText]:
        """Yield the rows of CSV; a record that does not fit the header costs itself, broken quoting the rest."""
        records = filter(itemgetter(1), csv_records(stream))
        header: list[str] = next(records, (b"", []))[1]
        misfits: list[int] = []
        for number, (_, record) in enumerate(records, 1):
            if record == BROKEN:
                self.unread[f"broken quotes in row {number}: it and the rest of the file"] += 1
                break
            if len(record) == len(header):
                yield from self._row(dict(zip(header, record, strict=True)), number)
            else:
                misfits.append(number)
        if misfits:
            self.unread[f"not the fields of the header, first in row {misfits[0]}"] += len(misfits)

    def _rows(self, rows: Iterator[Mapping[str, Any]]) -> Iterator[CorpusText]:
        for number, row in enumerate(rows, 1):
            yield from self._row(row, number)

    def _row(
        self, row: Mapping[str, Any], number: int | None, member: str = "", shape: str = ""
    ) -> Iterator[CorpusText]:
        text = row_text(row, self.columns)
        if not text.strip() and any(isinstance(nested_value(row, name), str) for name in self.columns or row):
            self.shapes["empty texts"] += 1  # they were read, and can hold no task
            return
        if not text.strip():
            self.unread[f"no text in the column{' ' + ', '.join(self.columns) if self.columns else 's'}"] += 1
            return
        self.shapes[f"columns {', '.join(self.columns)}" if self.columns else shape or shape_of(row)] += 1
        yield CorpusText(number, member, text.encode("utf-8", "surrogatepass"))

    def _table(self, place: Path, form: str) -> Iterator[Mapping[str, Any]]:
        with decoded_table(place, form) as reader:
            for batch in reader:
                yield from batch.to_pylist()

    def _members(self, place: Path) -> Iterator[CorpusText]:
        members = Archive(place, str(place), LONGEST_LINE).files()
        first = list(islice(members, 2))
        is_shard = archive_form(place) != "zip" and are_sisters([member.path for member in first])
        for key, sisters in groupby(chain(first, members), lambda member: sisters_name(member.path)):
            row: dict[str, Any] = {}
            for member in sisters:
                if isinstance(member, Skipped):
                    self.unread[member.reason] += 1
                    continue
                content = member.content.read(LONGEST_LINE + 1)
                raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
                if not is_shard:
                    yield from self._whole(member.path, raw, member.path)
                elif is_binary(raw):
                    self.unread["binary"] += 1
                else:
                    ending = member.path.removeprefix(key.removesuffix("*"))
                    value = _object(raw) if ending.endswith("json") else None
                    row[ending] = decode_source(raw)[0] if value is None else value
            if row:
                yield from self._row(row, number=None, member=key, shape="WebDataset")

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


@contextmanager
def unpacked(place: Path) -> Iterator[io.BufferedReader]:
    """Yield the bytes of a file, unpacked, as a stream that has lines."""
    with place.open("rb") as raw, decompressed(raw) as stream:
        yield raw if stream is raw else io.BufferedReader(_Bounded(stream, raw), 1 << 20)


def json_document(place: Path) -> Any | None:  # noqa: ANN401  whatever JSON can hold
    """Return the value of a JSON document over several lines, or of an array of rows; None for JSON lines."""
    with unpacked(place) as stream:
        first = stream.readline(LONGEST_LINE)
        mark = first.lstrip()[:1]
        if mark not in {b"[", b"{"} or first.rstrip().endswith(b"}") or _object(first) is not None:
            return None
        if mark == b"{" and not first.endswith(b"\n"):  # a row that is too long
            return None
        second = stream.readline(LONGEST_LINE)
        # a first row that is broken is no reason to take the rows after it for one document
        if mark == b"{" and (not second or _object(second) is not None):
            return None
        try:
            return parse_json(first + second + stream.read(LARGEST_JSON))
        except ValueError:
            return None


BROKEN = ["broken"]
"""The record that stands for the rest of a file after broken quotes."""
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def csv_records(stream: io.BufferedReader) -> Iterator[tuple[bytes, list[str]]]:
    """Yield the records of CSV, each with its bytes; an empty one for an empty line, `BROKEN` for what is not read.

    Raises:
        DataError: it is not text, or a line is too long.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    lines, pieces = _csv_lines(stream), list[bytes]()
    for raw, text in lines:
        if text.strip():
            break
        yield raw, []
    else:
        return

    def texts() -> Iterator[str]:
        for piece, line in chain([(raw, text)], lines):
            pieces.append(piece)
            yield line

    try:
        for record in csv.reader(texts(), delimiter=delimiter_of(text), strict=True):
            yield b"".join(pieces), record
            pieces.clear()
    except csv.Error:
        yield b"".join(pieces), BROKEN
        yield from ((piece, BROKEN) for piece, _ in lines)


def _csv_lines(stream: io.BufferedReader) -> Iterator[tuple[bytes, str]]:
    """Yield each line as bytes and as text."""
    codec = _WIDE.get(stream.peek(2)[:2], "utf-8")
    text = io.TextIOWrapper(stream, codec, "surrogateescape", newline="\n")
    try:
        for line in iter(partial(text.readline, LONGEST_LINE), ""):
            if len(line) == LONGEST_LINE or "\0" in line:
                raise DataError("a line that is too long, or no text")
            yield line.encode(codec, "surrogateescape"), line.removeprefix("\ufeff")
    finally:
        text.detach()  # who opened the stream closes it


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
