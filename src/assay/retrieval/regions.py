"""Where the comments and the literals of a text are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.grammars import Grammar, Spanning, region_pattern, spanning_pattern
from assay.retrieval.source import Offsets, Source

COMMENT, STRING, CHARACTER, REGEX = range(4)


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


def find_regions(source: Source, grammar: Grammar) -> Regions:
    """The comments and literals of a text. Time and memory grow linearly with the text, whatever it holds."""
    text, spanning = source.text, grammar.spanning
    bounds: list[Offsets] = []
    unterminated: list[int] = []
    start = 0
    if text.startswith("#!") and not text.startswith(
        "#!["
    ):  # the latter is an attribute in Rust, and no shebang anywhere
        start = _line_end(text)
        bounds.append(np.array([0, start]))
    while True:
        found = _split(text, start, grammar, spanning)
        open_one = _unclosed(text, found, spanning)
        if open_one is None:
            bounds.append(found)
            break
        unterminated.append(int(found[-2]))
        bounds.append(found[:-2])
        start = int(found[-2]) + open_one.mark
        spanning = tuple(one for one in spanning if one != open_one)
    starts, stops = np.concatenate(bounds).reshape(-1, 2).T
    return Regions(starts, stops, _kinds(source, starts, grammar), tuple(unterminated))


def _line_end(text: str) -> int:
    return min((at for at in (text.find("\n"), text.find("\r")) if at >= 0), default=len(text))


def _split(text: str, start: int, grammar: Grammar, spanning: tuple[Spanning, ...]) -> Offsets:
    """Starts and stops of the regions from `start` on, alternating."""
    pattern = region_pattern(grammar, spanning)
    # `split` cuts the whole text in one call: code, region, inner groups of the pattern, code, region, …
    pieces = pattern.split(text[start:] if start else text)
    for group in range(pattern.groups, 1, -1):
        del pieces[group :: group + 1]
    return np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))[:-1] + start


def _unclosed(text: str, bounds: Offsets, spanning: tuple[Spanning, ...]) -> Spanning | None:
    """The kind of the last region, where that region runs to the end of the text for want of a closing mark."""
    if not len(bounds) or bounds[-1] != len(text):
        return None
    start = int(bounds[-2])
    for one in spanning:
        if spanning_pattern(one, closed=False).fullmatch(text, start):
            return None if spanning_pattern(one, closed=True).fullmatch(text, start) else one
    return None


def _kinds(source: Source, starts: Offsets, grammar: Grammar) -> NDArray[np.uint8]:
    image = np.frombuffer(source.image + b"\0", np.uint8)
    first, second = image[starts], image[starts + 1]
    table = np.full(256, STRING, np.uint8)
    table[[ord(mark) for mark in grammar.comments]] = COMMENT
    if grammar.characters:
        table[ord("'")] = CHARACTER
    kinds = table[first]
    if grammar.slash_literals:
        kinds[(first == ord("/")) & (second != ord("/")) & (second != ord("*"))] = REGEX
    kinds[(first == ord("#")) & (second == ord("!"))] = COMMENT
    return kinds
