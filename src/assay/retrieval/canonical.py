"""Canonical forms: what is left of a text when its layout is gone, with the way back to the original."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.retrieval.regions import COMMENT, Regions
from assay.retrieval.source import LAYOUT, Offsets, Source, Units

Form = Literal["characters", "tokens"]

VISIBLE = bytes(LAYOUT < byte != 0x7F for byte in range(256))  # noqa: PLR2004  DEL, the one control character above the space


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
    visible = np.frombuffer(bytearray(source.image).translate(VISIBLE), np.bool_)
    comments = regions.kinds == COMMENT
    for start, stop in zip(regions.starts[comments].tolist(), regions.stops[comments].tolist(), strict=True):
        visible[start:stop] = False
    starts = np.flatnonzero(visible)
    return Canonical(source.code_points[starts], starts)
