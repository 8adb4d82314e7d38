"""Bytes to text: UTF-8 first, byte order marks honoured, Latin-1 as the last resort and never silently.

Nothing here translates line ends: a carriage return is part of the text that a model may have seen.
"""

import codecs
import io
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.errors import DataError
from assay.guard import LONGEST_LINE, MiB, lines_within

Note = Callable[[str], None]
"""Takes one sentence that the reader of a data set should know."""

_WIDE_MARKS = {  # the longer marks first: UTF-16's little-endian mark begins UTF-32's
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# control characters that no text editor writes: all but tab, line ends, form feed and the escape of terminal colours
_CONTROLS = bytes(sorted({*range(32), 127} - set(b"\t\n\r\f\x1b")))
_BINARY_SHARE = 0.05


def wide_encoding(head: bytes) -> str | None:
    """The encoding that a byte order mark announces, if it is not UTF-8's."""
    return next((name for mark, name in _WIDE_MARKS.items() if head.startswith(mark)), None)


def has_nul(raw: bytes) -> bool:
    """Return True if bytes are certainly not text: a NUL byte, and no mark of UTF-16 or UTF-32."""
    return b"\0" in raw and not wide_encoding(raw)


def is_binary(raw: bytes) -> bool:
    """Return True if bytes are not text: NUL bytes or many control characters, and no mark of UTF-16 or UTF-32."""
    if wide_encoding(raw):
        return False
    controls = len(raw) - len(raw.translate(None, _CONTROLS))
    return b"\0" in raw or controls > _BINARY_SHARE * len(raw)


def decoded(raw: bytes, where: str, note: Note) -> str:
    """The text of a whole file; a note says where Latin-1 had to be assumed.

    Raises:
        DataError: a UTF-16 or UTF-32 mark, but what follows is not that encoding.
    """
    if wide := wide_encoding(raw):
        try:
            return raw.decode(wide)
        except UnicodeDecodeError as fault:
            raise DataError(f"{where}: begins with the mark of {wide} but is not {wide} ({fault.reason})") from fault
    # Latin-1 decodes every byte, so it is tried last, and said: it is a guess
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        note(f"{where}: not UTF-8, read as Latin-1")
        return raw.decode("latin-1")


def decoded_lines(stream: io.BufferedReader, path: Path, note: Note) -> Iterator[str | None]:
    r"""The lines of a file as they stream in, each with its own line end; only "\n" ends a line.

    A line that is longer than `LONGEST_LINE` is None. One that is not UTF-8 is read as Latin-1; a note counts them at
    the end.

    Raises:
        DataError: a NUL byte (the file is not text), or a false UTF-16 or UTF-32 mark.
    """
    if wide := wide_encoding(stream.peek(4)[:4]):
        wrapper = io.TextIOWrapper(stream, encoding=wide, newline="\n")
        try:
            yield from lines_within(wrapper.readline, "\n")
        except UnicodeDecodeError as fault:
            raise DataError(f"{path}: begins with the mark of {wide} but is not {wide} ({fault.reason})") from fault
        finally:
            wrapper.detach()  # the caller that opened the stream closes it
        return
    fallbacks = 0
    for number, raw in enumerate(lines_within(stream.readline, b"\n"), start=1):
        if raw is None:
            yield None
            continue
        # lines are decoded one by one, so that one bad line does not change how the others are read
        if b"\0" in raw:
            raise DataError(f"{path}: NUL byte in line {number}, expected a text file")
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            fallbacks += 1
            yield raw.decode("latin-1")
    if fallbacks:
        note(f"{path.name}: {fallbacks} line{'s' * (fallbacks > 1)} not UTF-8, read as Latin-1")


def line_too_long(path: Path, number: int) -> DataError:
    """Return the error of a line that `decoded_lines` did not read."""
    return DataError(f"{path}: line {number} has more than {LONGEST_LINE // MiB} MiB, expected shorter lines")
