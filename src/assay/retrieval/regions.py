"""Comments and literals of a text."""

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
        unterminated: offsets of opening marks that are never closed. The mark and the text after it are read as code,
            and later marks of the same kind open no region.
    """

    starts: Offsets
    stops: Offsets
    kinds: NDArray[np.uint8]
    unterminated: tuple[int, ...]


def find_regions(source: Source, rules: LexicalRules) -> Regions:
    """Return the comments and literals of a text, in time and memory linear in its length."""
    starts, stops, kinds, unclosed = scan(source.letters, rules.plain_marks)
    return Regions(starts, stops, kinds, tuple(unclosed.tolist()))
