"""A text as arrays: its code points, one class byte for each, and its lines."""

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.compiled import compiled

Offsets = NDArray[np.int64]
Units = NDArray[np.uint8] | NDArray[np.uint32] | NDArray[np.uint64]

LINE_FEED, RETURN = ord("\n"), ord("\r")

# Classes of characters that are not ASCII, as bytes that ASCII does not use.
WORD_CLASS = 0xFF
SYMBOL = 0xFE
SEPARATOR = 0xFD  # U+2028 and U+2029: layout, and the end of a line in JavaScript
LAYOUT = 0x20

INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zs"}
WORD_CATEGORIES = {"L", "M", "N"}


@dataclass(frozen=True, eq=False)
class Source:
    """One text, ready for scanning.

    Attributes:
        text: unchanged.
        code_points: [n], uint8 if the text is ASCII, else uint32. No Unicode normalisation.
        letters: uint8 [n]. An ASCII character is itself; any other is replaced by its class: `LAYOUT`, `SEPARATOR`,
            `WORD_CLASS` or `SYMBOL`.
    """

    text: str
    code_points: Units
    letters: NDArray[np.uint8]

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a text; a lone surrogate (from bytes that are not UTF-8) is a symbol."""
        if text.isascii():
            letters = np.frombuffer(text.encode("ascii"), np.uint8)
            return cls(text, letters, letters)
        code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        return cls(text, code_points, _classes(code_points))

    def __len__(self) -> int:
        return len(self.letters)

    @cached_property
    def line_starts(self) -> Offsets:
        r"""Offsets of the starts of lines, ascending from 0. A line ends at LF, CRLF or a CR alone."""
        ends = np.flatnonzero(self.letters == LINE_FEED)
        if "\r" in self.text:
            returns = np.flatnonzero(self.letters == RETURN)
            followed = np.append(self.letters, 0)[returns + 1] == LINE_FEED
            ends = np.sort(np.concatenate([ends, returns[~followed]]))
        return np.concatenate([[0], ends + 1])

    def places(self, offsets: Offsets) -> tuple[Offsets, Offsets]:
        """Return line and column of each offset, counted from 1.

        Args:
            offsets: int64 [m], ascending.

        Returns:
            Lines and columns, int64 [m] each.
        """
        return _places(self.line_starts, offsets)


@compiled
def _places(line_starts: Offsets, offsets: Offsets) -> tuple[Offsets, Offsets]:
    lines, columns = np.empty(len(offsets), np.int64), np.empty(len(offsets), np.int64)
    # offsets and starts of lines both ascend, so one pass over both finds every line, without a search for each
    line = 1
    for number, offset in enumerate(offsets):
        while line < len(line_starts) and line_starts[line] <= offset:
            line += 1
        lines[number], columns[number] = line, offset - line_starts[line - 1] + 1
    return lines, columns


def _classes(code_points: NDArray[np.uint32]) -> NDArray[np.uint8]:
    letters = code_points.astype(np.uint8)
    foreign = np.flatnonzero(code_points >= 128)  # noqa: PLR2004  where ASCII ends
    # a text has few different characters: the table of Unicode is asked once for each of them, not for each place
    distinct, inverse = np.unique(code_points[foreign], return_inverse=True)
    letters[foreign] = np.array([_class_of(chr(code_point)) for code_point in distinct], np.uint8)[inverse]
    letters.flags.writeable = False  # as those of ASCII texts, so that compiled loops have one argument type
    return letters


def _class_of(character: str) -> int:
    category = unicodedata.category(character)
    if category in {"Zl", "Zp"}:
        return SEPARATOR
    if category in INVISIBLE_CATEGORIES:
        return LAYOUT
    return WORD_CLASS if category[0] in WORD_CATEGORIES else SYMBOL
