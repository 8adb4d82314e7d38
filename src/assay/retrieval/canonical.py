"""Canonical forms: what is left of a text when its layout is gone, with the way back to the original."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.retrieval.compiled import compiled
from assay.retrieval.regions import COMMENT, Regions
from assay.retrieval.scanning import BACKSLASH, Letters
from assay.retrieval.source import LAYOUT, LINE_FEED, RETURN, SEPARATOR, Offsets, Source, Units

Form = Literal["characters", "tokens"]

VISIBLE = np.ones(256, np.bool_)
VISIBLE[: LAYOUT + 1] = False
VISIBLE[[0x7F, SEPARATOR]] = False  # DEL, the one control character above the space

VISIBLE_COUNT = VISIBLE.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Canonical:
    """A text as a sequence of units.

    Attributes:
        units: [n], equal where the form takes two places for the same: code points, or 64-bit codes of tokens.
        starts: int64 [n], where each unit begins in the text, as a code point offset, ascending.
        stops: int64 [n], where it ends; None where every unit is one code point.
    """

    units: Units
    starts: Offsets
    stops: Offsets | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def stops_of(self, positions: Offsets) -> Offsets:
        """Offset after each of these units."""
        return self.starts[positions] + 1 if self.stops is None else self.stops[positions]


def characters(source: Source, regions: Regions) -> Canonical:
    """The visible characters outside comments, literals included.

    Gone are comments, white space, control and format characters (a byte order mark among them) and backslashes at the
    end of a line, inside literals too. Case and Unicode form stay.
    """
    comments = regions.kinds == COMMENT
    return Canonical(*visible(source.letters, source.code_points, regions.starts[comments], regions.stops[comments]))


@compiled
def is_continuation(letters: Letters, at: int) -> bool:
    """Whether a backslash at the end of its line stands here."""
    return letters[at] == BACKSLASH and at + 1 < len(letters) and letters[at + 1] in (LINE_FEED, RETURN)


@compiled
def visible(letters: Letters, code_points: Units, starts: Offsets, stops: Offsets) -> tuple[Units, Offsets]:
    """The visible code points outside the comments, and their offsets."""
    units = np.empty(len(letters) + 1, code_points.dtype)
    offsets = np.empty(len(letters) + 1, np.int64)
    found, here = 0, 0
    for comment in range(len(starts) + 1):
        stop = starts[comment] if comment < len(starts) else len(letters)
        for at in range(here, stop):
            units[found], offsets[found] = code_points[at], at
            letter = letters[at]
            found += VISIBLE_COUNT[letter]  # a sum, not a branch: white space comes unforeseen
            if letter == BACKSLASH and is_continuation(letters, at):
                found -= 1
        here = stops[comment] if comment < len(starts) else stop
    return units[:found], offsets[:found]
