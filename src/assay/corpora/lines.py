"""Lines of a text: their numbers, and those that hold code."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np

from assay.languages import lexical_rules
from assay.retrieval import Source, find_regions, tokens

_LINE_END = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")


@dataclass(frozen=True, slots=True, order=True)
class LineRange:
    """Lines of a file from 1, both ends included."""

    first: int
    last: int

    @property
    def numbers(self) -> range:
        """The numbers of the lines."""
        return range(self.first, self.last + 1)

    def __str__(self) -> str:
        if self.first == self.last:
            return str(self.first)
        return f"{self.first}-{self.last}"


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends: LF, CRLF or a CR alone, as `Source` counts them."""
    return _LINE_END.split(text)


def merge_lines(ranges: Iterable[LineRange]) -> tuple[LineRange, ...]:
    """Return the same lines as ascending ranges with a gap between any two."""
    merged: list[LineRange] = []
    for lines in sorted(ranges):
        if merged and lines.first <= merged[-1].last + 1:
            merged[-1] = LineRange(merged[-1].first, max(merged[-1].last, lines.last))
        else:
            merged.append(lines)
    return tuple(merged)


def line_numbers(ranges: Iterable[LineRange]) -> Iterator[int]:
    """Yield the number of each line."""
    return chain.from_iterable(map(attrgetter("numbers"), ranges))


def lines_text(lines: Iterable[LineRange]) -> str:
    """Return line numbers as `4-10, 12`."""
    return ", ".join(map(str, lines))


def code_lines(text: str, language: str | None) -> Mapping[int, tuple[str, bytes]]:
    """Return the lines at which a token begins, neither blank nor a comment, by number.

    Returns:
        The characters of each line without layout, and its tokens with names and literals made equal.
    """
    source, rules = Source.of(text), lexical_rules(language)
    canonical = tokens(source, find_regions(source, rules), rules)
    numbers = source.places(canonical.starts)[0]
    lines = lines_of(text)
    # tokens ascend: a line of code begins where the number of the line changes
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    stops = np.append(starts[1:], len(numbers))
    return {
        int(numbers[start]): ("".join(lines[numbers[start] - 1].split()), canonical.units[start:stop].tobytes())
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=False)
    }
