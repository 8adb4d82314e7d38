"""Search for comments and literals in one pass over the letters of a text.

Every compiled function takes letters, uint8 [n] (`Source.letters`), and the offset `at` of an opening mark. It returns
the offset after the region, `NO_REGION` if no region begins there, or `UNCLOSED` if its closing mark is missing. Each
function reads a letter a bounded number of times, so the time is linear in the length of any text.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.languages import (
    LexicalRules,
    Marks,
    SingleQuote,
)
from assay.retrieval.compiled import compiled
from assay.retrieval.listed_marks import OPENING_MARK, at_listed_mark, region_rows
from assay.retrieval.plain_marks import (
    BANG,
    BRACKET,
    CODE,
    COMMENT,
    HASH,
    KINDS_OF_MARKS,
    MARKS,
    NO_REGION,
    SINGLE,
    UNCLOSED,
    Letters,
    line_end,
    opening,
    starts_number,
)
from assay.retrieval.source import Offsets, Source


@compiled
def names_interpreter(letters: Letters) -> bool:
    """Return True for #! at the top of a file, in any language; #![ is an attribute in Rust."""
    if len(letters) < 2 or letters[0] != HASH or letters[1] != BANG:  # noqa: PLR2004  two letters
        return False
    return not (len(letters) > 2 and letters[2] == BRACKET)  # noqa: PLR2004  the third letter


@compiled
def scan(letters: Letters, marks: Marks, rows: Letters) -> tuple[Offsets, Offsets, Letters, Offsets]:
    """Return starts, stops and kinds of the regions, and the offsets of marks that are never closed."""
    # each region has at least one letter of its own, so these arrays are long enough
    starts = np.empty(len(letters) + 1, np.int64)
    stops = np.empty(len(letters) + 1, np.int64)
    kinds = np.empty(len(letters) + 1, np.uint8)
    unclosed = np.empty(KINDS_OF_MARKS + len(rows), np.int64)
    may_open = np.ones(KINDS_OF_MARKS + 1 + len(rows), np.bool_)
    opens = MARKS.copy()
    for row in rows:
        opens[row[OPENING_MARK]] = True
    regions = missing = cursor = 0
    number = -1
    if names_interpreter(letters):
        cursor = line_end(letters, 0)
        starts[0], stops[0], kinds[0] = 0, cursor, COMMENT
        regions = 1
    while cursor < len(letters):
        letter = letters[cursor]
        if not opens[letter]:
            cursor += 1
            continue
        separates = letter == SINGLE and marks.single == SingleQuote.NOT_IN_NUMBER
        if separates and starts_number(letters, cursor, number) != NO_REGION:
            cursor += 1
            number = cursor
            continue
        stop, kind, mark, width = at_listed_mark(letters, cursor, rows, may_open)
        if stop == NO_REGION:
            stop, kind, mark, width = opening(letters, cursor, marks, may_open)
        if stop == NO_REGION:
            cursor += 1
        elif stop == UNCLOSED:
            # the search went to the end of the text in vain: no later mark of this kind can be closed either
            unclosed[missing], may_open[mark] = cursor, False
            missing += 1
            cursor += width
        elif kind == CODE:
            cursor = stop
        else:
            starts[regions], stops[regions], kinds[regions] = cursor, stop, kind
            regions += 1
            cursor = stop
    return starts[:regions].copy(), stops[:regions].copy(), kinds[:regions].copy(), unclosed[:missing].copy()


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
    starts, stops, kinds, unclosed = scan(source.letters, rules.plain_marks, region_rows(rules.regions))
    return Regions(starts=starts, stops=stops, kinds=kinds, unterminated=tuple(unclosed.tolist()))
