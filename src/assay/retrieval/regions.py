"""Where the comments and the literals of a text are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.languages import LexicalRules
from assay.retrieval.scanning import CHARACTER, COMMENT, REGEX, STRING, scan
from assay.retrieval.source import Offsets, Source

__all__ = ["CHARACTER", "COMMENT", "REGEX", "STRING", "Regions", "find_regions"]


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Comments and literals in text order; they never overlap.

    Attributes:
        starts: int64 [r], offset of the first code point.
        stops: int64 [r], offset after the last.
        kinds: uint8 [r], `COMMENT`, `STRING`, `CHARACTER` or `REGEX`.
        unterminated: offsets of opening marks that are never closed. Nothing is swallowed: the mark and what follows it
            are read as code, and this kind of mark opens nothing after it.
    """

    starts: Offsets
    stops: Offsets
    kinds: NDArray[np.uint8]
    unterminated: tuple[int, ...]


def find_regions(source: Source, rules: LexicalRules) -> Regions:
    """The comments and literals of a text. Time and memory grow linearly with the text, whatever it holds."""
    starts, stops, kinds, unclosed = scan(source.letters, rules.plain_marks)
    return Regions(starts, stops, kinds, tuple(unclosed.tolist()))
