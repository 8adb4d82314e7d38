"""Texts of documents in the catalogue: deflated UTF-8, a function with its own lines of its file as the dictionary.

A function is also a part of its file, most often indented. So its deflated form is a few bytes for each line, which
point into the file. The row of the function names that file, its base, and the bytes of it that are the dictionary.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from assay.corpora import Document

DEFLATE_LEVEL = 6
WITHOUT_HEADER = -zlib.MAX_WBITS
"""Deflate without header and checksum: the row has a checksum."""

PLAIN = (None, None, None)
"""Base, start and stop of a text that needs no other one."""

StoredText = tuple[int, int | None, int | None, int | None, bytes]
"""Bytes of a text; base, start and stop; the deflated text."""


def deflated(text: bytes, dictionary: bytes = b"") -> bytes:
    """Return a deflated text; the same dictionary is needed to read it."""
    deflate = zlib.compressobj(DEFLATE_LEVEL, wbits=WITHOUT_HEADER, zdict=dictionary)
    return deflate.compress(text) + deflate.flush()


def inflated(stored: bytes, dictionary: bytes = b"") -> bytes:
    """Return the text of which `deflated` made this.

    Raises:
        zlib.error: it did not.
    """
    return zlib.decompressobj(WITHOUT_HEADER, zdict=dictionary).decompress(stored)


@dataclass(frozen=True, slots=True)
class Base:
    """A file whose functions follow it.

    Attributes:
        number: of its document.
        place: source and path.
        text: UTF-8.
        starts: byte at which each line starts, and the end.
    """

    number: int
    place: tuple[str, str]
    text: bytes
    starts: list[int]

    @classmethod
    def of(cls, number: int, document: Document, text: bytes) -> Self:
        """Return the base that a file is."""
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return cls(number, _place(document), text, starts=starts)

    def lines(self, first: int, count: int) -> tuple[int, int]:
        """Return the bytes that `count` lines from line `first` (from 1) have in the file."""
        last = len(self.starts) - 1
        # any bytes can be a dictionary: lines beyond the file cost space and do no harm
        return self.starts[min(first - 1, last)], self.starts[min(first - 1 + count, last)]


def stored_texts(documents: Iterable[tuple[int, Document]]) -> Iterator[StoredText]:
    """Yield the row of each numbered document; a function that follows its file refers to it."""
    base = None
    for number, document in documents:
        text = document.text.encode("utf-8", "surrogatepass")
        if document.kind == "file":
            base = Base.of(number, document, text)
        elif base and base.place == _place(document):
            start, stop = base.lines(document.origins[0].first_line, len(text.splitlines()))
            yield len(text), base.number, start, stop, deflated(text, base.text[start:stop])
            continue
        yield len(text), *PLAIN, deflated(text)


def _place(document: Document) -> tuple[str, str]:
    origin = document.origins[0]
    return origin.source, origin.path
