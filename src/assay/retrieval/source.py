"""A text as arrays: its code points, one class byte for each, and where its lines begin."""

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

Offsets = NDArray[np.int64]
Units = NDArray[np.uint8] | NDArray[np.uint32] | NDArray[np.uint64]

# Stand-ins for what is not ASCII, chosen from bytes that ASCII leaves free.
WORD = 0xFF
SYMBOL = 0xFE
LAYOUT = 0x20

INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zs", "Zl", "Zp"}
WORD_CATEGORIES = {"L", "M", "N"}


@dataclass(frozen=True, eq=False)
class Source:
    """One text, ready for table look-ups.

    Attributes:
        text: as it was given.
        code_points: [n], uint8 where all of the text is ASCII, else uint32. No Unicode normalisation.
        image: n bytes. An ASCII character stands for itself; any other by its class: `LAYOUT`, `WORD` or `SYMBOL`. A
            backslash at the end of a line is layout: a continuation.
    """

    text: str
    code_points: Units
    image: bytes

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a text; a lone surrogate (bytes that were not UTF-8) is a symbol like any other."""
        if text.isascii():
            data = text.encode("ascii")
            return cls(text, np.frombuffer(data, np.uint8), _without_continuations(data))
        code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        return cls(text, code_points, _without_continuations(_ascii_image(code_points)))

    def __len__(self) -> int:
        return len(self.image)

    @cached_property
    def line_starts(self) -> Offsets:
        r"""Offsets at which a line begins, ascending from 0. A line ends at LF, CRLF or a CR alone."""
        image = np.frombuffer(self.image, np.uint8)
        ends = np.flatnonzero(image == ord("\n"))
        if b"\r" in self.image:
            returns = np.flatnonzero(image == ord("\r"))
            followed = np.append(image, 0)[returns + 1] == ord("\n")
            ends = np.sort(np.concatenate([ends, returns[~followed]]))
        return np.concatenate([[0], ends + 1])

    def lines(self, offsets: Offsets) -> Offsets:
        """The line of each offset, counted from 1.

        Args:
            offsets: [m], ascending.
        """
        # few lines are looked up among many offsets, not the other way round
        bounds = np.empty(len(self.line_starts) + 1, np.int64)
        bounds[:-1] = np.searchsorted(offsets, self.line_starts)
        bounds[-1] = len(offsets)
        return np.repeat(np.arange(1, len(bounds)), bounds[1:] - bounds[:-1])


def _without_continuations(image: bytes) -> bytes:
    letters = np.frombuffer(image, np.uint8)
    backslashes = np.flatnonzero(letters[:-1] == ord("\\"))
    following = letters[backslashes + 1]
    last = backslashes[(following == ord("\n")) | (following == ord("\r"))]
    if not len(last):
        return image
    letters = letters.copy()
    letters[last] = LAYOUT
    return letters.tobytes()


def _ascii_image(code_points: NDArray[np.uint32]) -> bytes:
    image = code_points.astype(np.uint8)
    foreign = np.flatnonzero(code_points >= 128)  # noqa: PLR2004  where ASCII ends
    distinct, inverse = np.unique(code_points[foreign], return_inverse=True)
    image[foreign] = np.array([_stand_in(chr(one)) for one in distinct], np.uint8)[inverse]
    return image.tobytes()


def _stand_in(character: str) -> int:
    category = unicodedata.category(character)
    if category in INVISIBLE_CATEGORIES:
        return LAYOUT
    return WORD if category[0] in WORD_CATEGORIES else SYMBOL
