"""Texts of a file of training data, with the row that each comes from; what is not read is counted by reason."""

import codecs
import csv
import io
import json
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa

from assay.corpora.archives import Archive, archive_form, decompressed, is_archive
from assay.corpora.entry import HOLDS_NO_CODE, Skipped
from assay.corpora.filters import decode_source, skip_by_bytes
from assay.datasets.hub import HubPart, hub_rows
from assay.datasets.sources.columnar import ARROW_FILE, ARROW_STREAM, decoded_table
from assay.datasets.sources.delimited import delimiter_of
from assay.errors import DataError, plain_reason
from assay.files import parse_json
from assay.guard import LARGEST_RATIO, LONGEST_LINE, RATIO_FROM, lines_within
from assay.scan.shapes import are_sisters, plain_text, row_fields, row_text, shape_of, sisters_name

HUB = "hf:"
JsonForm = Literal["lines", "array", "document"]
FIRST_LINES = 10
"""Lines of a file `.json`, one of which is a row if it is JSON lines."""
LONGEST_COLUMN = 300
"""Characters of the name of a column of CSV; a longer one is the text of a file without a header."""
SHORT_COLUMN = 80
"""Characters of such a name that has a line break."""
PIECE = 1 << 16
"""Bytes that are read of an array at a time."""
PARQUET = b"PAR1"
LINES = frozenset({".jsonl", ".ndjson", ".json"})
DELIMITED = frozenset({".csv", ".tsv"})
STATE_FILES = frozenset({"dataset_info.json", "state.json", "dataset_dict.json"})
"""Files of `save_to_disk` that describe the others."""
FAULTS = (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException)
"""Errors of a stream that is broken or cut off."""


_BETWEEN_ITEMS = re.compile(r"[\s,]*")


@dataclass(frozen=True, slots=True)
class CorpusText:
    """One text of a file.

    Attributes:
        row: of a table, from 1; None for a plain file and a member of an archive.
        member: of an archive; "" outside of one.
        text: in UTF-8.
        value: of the row, whose fields the text has; None for a plain text.
    """

    row: int | None
    member: str
    text: bytes
    value: Mapping[str, Any] | None = None


@dataclass(eq=False)
class FileReader:
    """The texts of one file.

    Attributes:
        path: of the file, or hf:OWNER/NAME.
        columns: of texts; none for all.
        shapes: rows and files of each shape that was recognised.
        unread: what was not read, by reason.
        first: reason → the first row, member or "" for the file that was not read for it.
        skipped: rows from 1 and members that were not read, "" for the file; no order.
        is_cut: a fault ended the file.
    """

    path: str
    columns: Sequence[str] = ()
    shapes: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    first: dict[str, int | str] = field(default_factory=dict)
    skipped: set[int | str] = field(default_factory=set)
    is_cut: bool = False

    def _skip(self, reason: str, where: int | str) -> None:
        """Count a row, a member, or the file, "", that is not read."""
        self._count(reason, where)
        self.skipped.add(where)

    def _count(self, reason: str, where: int | str) -> None:
        if reason in HOLDS_NO_CODE:  # nothing of it could be read
            self.shapes[reason] += 1
        else:
            self.unread[reason] += 1
            self.first.setdefault(reason, where)

    def _end(self, reason: str) -> None:
        """Count a fault that ends the file; what was read before it stays."""
        self._count(reason, "")
        self.is_cut = True

    def texts(self) -> Iterator[CorpusText]:
        """Yield the texts in order; a fault ends the file, is counted, and what was read before it stays."""
        place = Path(self.path)
        try:
            if self.path.startswith(HUB):
                yield from self._hub()
            elif place.stat().st_size == 0:
                self._skip("empty", "")
            else:
                yield from self._opened(place)
        except DataError as fault:
            self._end(f"broken or cut off: {str(fault).removeprefix(f'{self.path}: ')}")
        except FAULTS as fault:
            self._end(f"broken or cut off: {plain_reason(fault)}")

    def _opened(self, place: Path) -> Iterator[CorpusText]:
        with place.open("rb") as file:
            head = file.read(len(ARROW_FILE))
        suffixes = {suffix.lower() for suffix in place.suffixes}
        if place.name in STATE_FILES:
            return
        # content first, then the name: archives and binary tables say what they are, lines and records do not
        if is_archive(place):
            yield from self._members(place)
        elif head.startswith(PARQUET):
            yield from self._rows(self._table(place, "Parquet"))
        elif head.startswith((ARROW_FILE, ARROW_STREAM)):
            yield from self._rows(self._table(place, "Arrow"))
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
            self._end(str(fault).partition("; ")[0])

    def _lines(self, place: Path) -> Iterator[CorpusText]:
        """Yield the rows of JSON lines, of an array of rows, or of a JSON document, which is one row."""
        form = json_form(place)
        with unpacked(place) as stream:
            if form == "array":
                yield from self._rows(_row_of(item) for item, _ in array_items(stream))
            elif form == "lines":
                for number, line in enumerate(lines_within(stream.readline, b"\n"), 1):
                    if line is None:
                        self._skip("line too long", number)
                    else:
                        yield from self._line(line, number)
            else:
                yield from self._whole("a.json", stream.read(LONGEST_LINE + 1))

    def _line(self, line: bytes, number: int, member: str = "") -> Iterator[CorpusText]:
        try:
            row = _object(line, distinct_fields)
        except DataError as fault:
            self._skip(str(fault), member or number)
            return
        if row is not None:
            yield from self._row(row, number, member)
        elif line.strip():
            self._skip("not a JSON object", member or number)

    def _records(self, stream: io.BufferedReader) -> Iterator[CorpusText]:
        """Yield the rows of CSV; a record that does not fit the header costs itself, broken quoting the rest."""
        records = filter(itemgetter(1), csv_records(stream))
        header: list[str] = next(records, (b"", []))[1]
        if len(set(header)) < len(header):
            self._end("a column that stands twice")
            return
        # a name may have line breaks, as in a cell of a spreadsheet; text of that length is too short to tell a task
        if any(len(name) > (SHORT_COLUMN if "\n" in name else LONGEST_COLUMN) for name in header):
            self._end("no header: the first record holds a text")
            return
        for number, (_, record) in enumerate(records, 1):
            if record == BROKEN:
                self._end(f"broken quotes in row {number}: it and the rest of the file")
                break
            if len(record) == len(header):
                yield from self._row(dict(zip(header, record, strict=True)), number)
            else:
                self._skip("not the fields of the header", number)

    def _rows(self, rows: Iterator[Mapping[str, Any]]) -> Iterator[CorpusText]:
        for number, row in enumerate(rows, 1):
            yield from self._row(row, number)

    def _row(
        self, row: Mapping[str, Any], number: int | None, member: str = "", shape: str = ""
    ) -> Iterator[CorpusText]:
        text, names = row_text(row, self.columns), ", ".join(self.columns)
        if not text.strip():
            if any(True for _ in row_fields(row, self.columns)):
                self.shapes["empty texts"] += 1  # they were read, and can hold no task
            else:
                self._skip(
                    f"no text in the column {names}" if names else "no text in the columns", member or number or ""
                )
            return
        if names:
            shape = f"columns {names}"
        self.shapes[shape or shape_of(row)] += 1
        yield CorpusText(number, member, text=text.encode("utf-8", "surrogatepass"), value=row)

    def _table(self, place: Path, form: str) -> Iterator[Mapping[str, Any]]:
        with decoded_table(place, form) as reader:
            for batch in reader:
                yield from batch.to_pylist()

    def _members(self, place: Path) -> Iterator[CorpusText]:
        members = Archive(place, str(place), LONGEST_LINE).files()
        # the first two tell a WebDataset from a folder of files; sisters follow each other in it (its specification)
        first = list(islice(members, 2))
        is_shard = archive_form(place) != "zip" and are_sisters(list(map(attrgetter("path"), first)))
        for key, sisters in groupby(chain(first, members), lambda member: sisters_name(member.path)):
            row: dict[str, Any] = {}
            for member in sisters:
                if isinstance(member, Skipped):
                    self._skip(member.reason, member.path)
                    continue
                raw = member.content.read(LONGEST_LINE + 1)
                if isinstance(raw, str):
                    raw = raw.encode("utf-8", "surrogatepass")
                if not is_shard:
                    yield from self._whole(member.path, raw, member.path)
                elif reason := skip_by_bytes(raw, LONGEST_LINE):  # it stays with its sisters
                    self._count(reason, member.path)
                else:
                    # the ending names the column: 000017.txt is the column "txt" of the row 000017
                    ending = member.path.removeprefix(key.removesuffix("*"))
                    try:
                        value = _object(raw, distinct_fields) if ending.endswith("json") else None
                        row[ending] = decode_source(raw)[0] if value is None else value
                    except (DataError, UnicodeError) as fault:
                        self._count(str(fault) if isinstance(fault, DataError) else "undecodable", member.path)
            if row:
                yield from self._row(row, number=None, member=key, shape="WebDataset")
            elif is_shard:
                self.skipped.add(key)

    def _whole(self, name: str, raw: bytes, member: str = "") -> Iterator[CorpusText]:
        """Yield the text of a plain file; JSON and notebooks are read as rows, of JSON with comments the words."""
        suffix = Path(name).suffix.lower()
        if reason := skip_by_bytes(raw, LONGEST_LINE):
            self._skip(reason, member)
            return
        try:
            document = parse_or_none(raw, distinct_fields) if suffix in {".ipynb", ".json"} else None
        except DataError as fault:
            self._skip(str(fault), member)
            return
        lines = raw.splitlines() if suffix in LINES and document is None else []
        if isinstance(document, dict):
            yield from self._row(document, None, member)
        elif isinstance(document, list):
            for number, row in enumerate(map(_row_of, document_items(document)), 1):
                yield from self._row(row, number, member)
        elif (suffix != ".json" and lines) or any(map(_object, lines[:FIRST_LINES])):
            for number, line in enumerate(lines, 1):
                yield from self._line(line, number, member)
        else:
            try:
                text = decode_source(raw)[0]
            except UnicodeError:
                self._skip("undecodable", member)
                return
            self.shapes["plain files"] += 1
            yield CorpusText(None, member, plain_text(text).encode("utf-8", "surrogatepass"))


def document_items(document: list[Any]) -> list[Any]:
    """Return the rows of an array; one of numbers is a row itself: no number holds a task."""
    if any(isinstance(item, dict | list | str) for item in document):
        return document
    return [document]


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
        # a file that is not packed cannot be a bomb, and is read without a second buffer
        yield raw if stream is raw else io.BufferedReader(_Bounded(stream, raw), 1 << 20)


def json_form(place: Path) -> JsonForm:
    """Return how a file holds JSON: rows in lines, an array of rows, or a document, which may be no JSON at all."""
    with unpacked(place) as stream:
        lines = [stream.readline(LONGEST_LINE), stream.readline(LONGEST_LINE)]
        lines += (stream.readline(PIECE) for _ in range(FIRST_LINES))
    first, second = lines[0].removeprefix(codecs.BOM_UTF8).strip(), lines[1]
    if first.startswith(b"["):
        # rows that are arrays themselves, one a line; a formatted array has a first line that is no JSON
        is_row = len(lines[0]) < LONGEST_LINE and parse_or_none(first) is not None
        return "lines" if is_row and second.strip() else "array"
    is_json = ".json" in map(str.lower, place.suffixes)
    if any(map(_object, lines)) or not (is_json or first.startswith(b"{")):
        return "lines"
    # a first row that is broken is no reason to take the rows after it for a document
    is_document = not first.endswith(b"}") and lines[0].endswith(b"\n") and second
    return "document" if is_json or is_document else "lines"


def array_items(stream: io.BufferedReader) -> Iterator[tuple[Any, bytes]]:
    """Yield the items of a JSON array, each with its bytes; a few are in memory at a time.

    Raises:
        DataError: an item is broken, cut off, or too long.
    """
    decode_item = json.JSONDecoder(object_pairs_hook=distinct_fields).raw_decode
    decode_bytes = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text = decode_bytes.decode(stream.read1(PIECE)).lstrip("\ufeff \t\r\n")
    at, size = 1, PIECE  # after the bracket
    while True:
        at = _BETWEEN_ITEMS.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        if text.startswith("]", at):
            return
        try:
            item, end = decode_item(text, at)
        except (ValueError, RecursionError):
            end = len(text)
        if end < len(text):  # a number may go on in the next piece
            yield item, text[at:end].encode("utf-8", "surrogateescape")
            at, size = end, PIECE
            continue
        piece = stream.read1(size)
        if not piece or len(text) - at > LONGEST_LINE:
            raise DataError("an item of the array is broken, cut off or too long")
        # an item that is long is decoded again after a piece as long as all of it, so the time stays linear
        text, at = text[at:] + decode_bytes.decode(piece), 0
        size = max(PIECE, len(text))


def _row_of(item: object) -> dict[str, Any]:
    return item if isinstance(item, dict) else {"text": item}


BROKEN = ["broken"]
"""The record that stands for the rest of a file after broken quotes."""
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def csv_records(stream: io.BufferedReader) -> Iterator[tuple[bytes, list[str]]]:
    """Yield the records of CSV, each with its bytes; an empty one for an empty line, `BROKEN` for what is not read.

    Raises:
        DataError: it is not text, or a line is too long.
    """
    # one limit for the process, 128 KiB by default: it is only ever raised
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    lines, pieces = _csv_lines(stream), list[bytes]()
    for raw, text in lines:
        if text.strip():
            break
        yield raw, []
    else:
        return

    # the reader takes as many lines as a record has; what it took since the last record is the record's bytes
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


def distinct_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON object, of which a dict would keep the last of a name and hide the others.

    Raises:
        DataError: a name stands twice.
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise DataError("a field that stands twice")
    return fields


MadeOfPairs = Callable[[list[tuple[str, Any]]], object]


def parse_or_none(raw: bytes, pairs: MadeOfPairs | None = None) -> Any | None:  # noqa: ANN401  as above
    """Return the value of JSON, whose objects `pairs` makes; None for what is none."""
    try:
        return parse_json(raw, pairs)
    except ValueError:
        return None


def _object(line: bytes, pairs: MadeOfPairs | None = None) -> dict[str, Any] | None:
    value = parse_or_none(line, pairs)
    if value is None and not is_utf8(line):  # the rest of a row is read where a character of it is broken
        value = parse_or_none(line.decode("utf-8", "replace").encode(), pairs)
    return value if isinstance(value, dict) else None


def is_utf8(raw: bytes) -> bool:
    """Return True if bytes are UTF-8."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
