"""Canonical forms: a text without its layout, and the offset of each unit in the original."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.retrieval.compiled import compiled
from assay.retrieval.plain_marks import BACKSLASH, COMMENT, Letters, letter_table
from assay.retrieval.scanning import Regions
from assay.retrieval.source import LAYOUT, LINE_FEED, RETURN, SEPARATOR, Offsets, Source, Units

Form = Literal["characters", "tokens"]

VISIBLE = ~letter_table([*range(LAYOUT + 1), 0x7F, SEPARATOR])  # 0x7F: DEL, the one control character above the space

VISIBLE_COUNT = VISIBLE.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Canonical:
    """A text as a sequence of units.

    Attributes:
        units: [n], code points, or 64-bit codes of tokens; equal if the form does not distinguish two places.
        starts: int64 [n], start of each unit in the text, as a code point offset, ascending.
        stops: int64 [n], its end; None if every unit is one code point.
    """

    units: Units
    starts: Offsets
    stops: Offsets | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def stops_of(self, positions: Offsets) -> Offsets:
        """Return the offset after each of these units."""
        return self.starts[positions] + 1 if self.stops is None else self.stops[positions]


def characters(source: Source, regions: Regions) -> Canonical:
    """Return the visible characters outside comments, literals included.

    Comments, white space, control and format characters (also a byte order mark) and backslashes at the end of a line
    are removed, also inside literals. Case and Unicode normalisation form are kept.
    """
    comments = regions.kinds == COMMENT
    starts, stops = regions.starts[comments], regions.stops[comments]
    return Canonical(*visible_code_points(source.letters, source.code_points, starts, stops))


@compiled
def is_continuation(letters: Letters, at: int) -> bool:
    """Return True if the letter is a backslash at the end of its line."""
    return letters[at] == BACKSLASH and at + 1 < len(letters) and letters[at + 1] in (LINE_FEED, RETURN)


@compiled
def visible_code_points(letters: Letters, code_points: Units, starts: Offsets, stops: Offsets) -> tuple[Units, Offsets]:
    """Return the visible code points outside the comments, and their offsets."""
    units = np.empty(len(letters) + 1, code_points.dtype)
    offsets = np.empty(len(letters) + 1, np.int64)
    count, begin = 0, 0
    for comment in range(len(starts) + 1):
        stop = starts[comment] if comment < len(starts) else len(letters)
        for at in range(begin, stop):
            # Every code point is written, and the next one overwrites it if it is not visible. A sum is faster than a
            # branch, because a processor cannot predict white space.
            units[count], offsets[count] = code_points[at], at
            letter = letters[at]
            count += VISIBLE_COUNT[letter]
            if letter == BACKSLASH and is_continuation(letters, at):
                count -= 1
        begin = stops[comment] if comment < len(starts) else stop
    return units[:count], offsets[:count]
