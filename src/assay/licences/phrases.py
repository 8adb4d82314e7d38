"""Phrases that state licences: the tables of `phrases.toml`, read and compiled once.

The words of a text, in lower case and without marks of comments, are searched for the phrases of a table.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Phrases = tuple[tuple[re.Pattern[str], str], ...]
"""Words, and the licence that they state."""

_TABLES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))


def _phrases(pairs: Iterable[tuple[str, str]]) -> Phrases:
    phrases = []
    for words, licence in pairs:
        pattern = words
        for name, part in _TABLES["parts"].items():
            pattern = pattern.replace(f"<{name}>", part)
        phrases.append((re.compile(pattern), licence))
    return tuple(phrases)


NOTICES = _phrases(_TABLES["notices"])
TITLES = _phrases(_TABLES["titles"])
README_NAMES = NOTICES + _phrases(_TABLES["readme"])
VARIANTS: Mapping[str, Phrases] = {licence: _phrases(pairs) for licence, pairs in _TABLES["variants"].items()}
CLASSIFIERS: Mapping[str, str] = _TABLES["classifiers"]
SPELLINGS: Mapping[str, str] = _TABLES["spellings"]
EXCEPTIONS: Mapping[str, str] = _TABLES["exceptions"]
VERSIONED: Sequence[Mapping[str, Any]] = _TABLES["versioned"]


def licences_in(words: str, phrases: Phrases) -> list[str]:
    """Return the licences whose phrases occur in words, in the order of the table."""
    return [licence for pattern, licence in phrases if pattern.search(words)]


def licence_variant(licence: str, words: str) -> str | None:
    """Return the licence that words make of a text that begins as that of `licence`; None where it stays that."""
    return next((other for pattern, other in VARIANTS.get(licence, ()) if pattern.search(words)), None)
