"""Semicolons between statements, in languages where the end of a line does the same: joined lines read as others."""

import re
from functools import lru_cache

from assay.languages import LexicalRules
from assay.retrieval.scanning import find_regions
from assay.retrieval.source import Source


def without_separators(text: str, rules: LexicalRules) -> str:
    """Return the text with a blank for each semicolon that a line end could replace; the length stays."""
    if not rules.headers or ";" not in text:
        return text
    regions = find_regions(Source.of(text), rules)
    code, letters = list(text), list(text)
    for start, stop in zip(regions.starts.tolist(), regions.stops.tolist(), strict=True):
        code[start:stop] = " " * (stop - start)
    for match in _header_or_separator(rules.headers).finditer("".join(code)):
        if match[0] == ";":
            letters[match.start()] = " "
    return "".join(letters)


@lru_cache
def _header_or_separator(headers: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(headers))})\b[^{{]{{0,400}}\{{|;")
