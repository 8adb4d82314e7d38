"""The rules that remove a text: those of DECo (section 3), and those for the errors that its appendix C reports.

Every rule looks at one text, except the two that compare: copies among human texts, and the percentile of similarity.
Rules on the text itself hold for people and for generators alike, so that no rule tells the two apart.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.authorship import in_text
from assay.code import lexemes, parses
from assay.languages import languages_with, lexical_rules
from assay.licences import LicenceRules
from assay.retrieval import COMMENT, Source, find_regions
from assay.types import Sample


class RemovalRule(StrEnum):
    """The rules in the order in which they are applied; the value is the reason that the manifest counts."""

    ANOTHER_TIME = "of another time"
    LICENCE = "licence not allowed"
    TOO_FEW_TOKENS = "too few tokens"
    TOO_MANY_TOKENS = "too many tokens"
    DECLARED = "names a generator as its author"
    COPY = "copy of another text"
    NOT_DRAWN = "beyond the limit of a language or a repository"

    REFUSED = "refused by the generator"
    TOO_LONG = "longer than the generator's context"
    EMPTY = "empty reply"
    SEVERAL_BLOCKS = "several code blocks"
    BROKEN_FENCE = "broken code fence"

    NOT_ASCII = "not ASCII"
    REPETITIVE = "repeats itself"
    PROSE = "prose"
    ANOTHER_LANGUAGE = "another language"
    QUOTES = "unbalanced quotes"
    BRACKETS = "unbalanced brackets"
    UNPARSABLE = "does not parse"

    MOSTLY_LOST = "too short beside the original"
    SIMILAR = "too similar to the original"


REPETITION_PERIOD = 200
"""Visible characters of the longest unit whose repetition is looked for."""

REPETITIONS = 4
"""Least number of repetitions of the unit, one directly after the other."""

REPETITIVE_SHARE = 1 / 3
"""Share of the visible characters from which a repeated unit removes a text."""

PROSE_MARKS = 0.1
"""Share of brackets, semicolons and equals signs among the lexemes below which text that does not parse is prose."""

_SPACE = re.compile(r"\s+")
_MARKS = frozenset("(){}[];=<>")
_OPENING = {")": "(", "]": "[", "}": "{"}
_BRACKET = re.compile(r"[()\[\]{}]")
_LANGUAGES = languages_with("functions")


@dataclass(frozen=True, slots=True)
class HumanRules:
    """Limits of the texts of people.

    Attributes:
        fewest: tokens.
        most: tokens.
        licences: that are allowed.
    """

    fewest: int
    most: int
    licences: LicenceRules

    def fault(self, sample: Sample) -> RemovalRule | None:
        """Return the first rule that removes a text of a person, None if it stays.

        Args:
            sample: with its licence and its path in the metadata.
        """
        if self.licences.deny(str(sample.metadata["licence"])):
            return RemovalRule.LICENCE
        tokens = len(lexemes(sample.text))
        if tokens < self.fewest:
            return RemovalRule.TOO_FEW_TOKENS
        if tokens > self.most:
            return RemovalRule.TOO_MANY_TOKENS
        if any(in_text(sample.text, str(sample.metadata["path"]))):
            return RemovalRule.DECLARED
        return text_fault(sample.text, str(sample.language))


def text_fault(text: str, language: str) -> RemovalRule | None:
    """Return the first rule that removes any text, of a person or of a generator; None if it stays.

    Args:
        text: without fences.
        language: that it should have, one with a grammar.
    """
    if not text.isascii():
        return RemovalRule.NOT_ASCII
    if repeats_itself(text):
        return RemovalRule.REPETITIVE
    return None if parses(text, language) else syntax_fault(text, language)


def syntax_fault(text: str, language: str) -> RemovalRule:
    """Return the reason why a text does not parse, as far as it shows."""
    if is_prose(text):
        return RemovalRule.PROSE
    if any(parses(text, other) for other in _LANGUAGES if other != language):
        return RemovalRule.ANOTHER_LANGUAGE
    if has_open_quote(text, language):
        return RemovalRule.QUOTES
    if not brackets_match(text, language):
        return RemovalRule.BRACKETS
    return RemovalRule.UNPARSABLE


def is_prose(text: str) -> bool:
    """Return True if hardly any brackets, semicolons and equals signs stand among the words of a text."""
    units = lexemes(text)
    return sum(unit in _MARKS for unit in units) < PROSE_MARKS * len(units)


def repeats_itself(text: str) -> bool:
    """Return True if a unit that is repeated in a row makes up `REPETITIVE_SHARE` of the visible characters.

    Two places a period apart that agree belong to a repetition, so its length is that of the longest run of agreeing
    places, and one period.
    """
    # UTF-32 gives one number a character, so a period is a shift of the array
    characters = np.frombuffer(_SPACE.sub("", text).encode("utf-32-le", "surrogatepass"), np.uint32)
    enough = REPETITIVE_SHARE * len(characters)
    for period in range(1, min(REPETITION_PERIOD, len(characters) // REPETITIONS) + 1):
        differing = np.flatnonzero(characters[period:] != characters[:-period])
        # both ends count as differing, so that a run may touch them
        ends = np.concatenate([[-1], differing, [len(characters) - period]])
        longest = int(np.diff(ends).max()) - 1 + period
        if longest >= REPETITIONS * period and longest >= enough:
            return True
    return False


def has_open_quote(text: str, language: str) -> bool:
    """Return True if a literal or a block comment is never closed, or ends with its line."""
    source = Source.of(text)
    regions = find_regions(source, lexical_rules(language))
    if regions.unterminated:
        return True
    for start, stop, kind in zip(regions.starts.tolist(), regions.stops.tolist(), regions.kinds.tolist(), strict=True):
        quote = text[start]
        if kind != COMMENT and quote in "\"'`" and (stop - start < 2 or text[stop - 1] != quote):  # noqa: PLR2004  both quotes
            return True
    return False


def brackets_match(text: str, language: str) -> bool:
    """Return True if every bracket outside comments and literals has its partner."""
    waiting: list[str] = []
    for mark in brackets(text, language):
        if mark not in _OPENING:
            waiting.append(mark)
        elif not waiting or waiting.pop() != _OPENING[mark]:
            return False
    return not waiting


def brackets(text: str, language: str) -> Iterator[str]:
    """Yield the brackets of a text outside comments and literals."""
    regions = find_regions(Source.of(text), lexical_rules(language))
    end = 0
    for start, stop in zip(regions.starts.tolist(), regions.stops.tolist(), strict=True):
        yield from _BRACKET.findall(text, end, start)
        end = stop
    yield from _BRACKET.findall(text, end)
