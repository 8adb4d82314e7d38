"""Words that programmers name things with, from `words.toml`: by the part they play in a name, and synonyms."""

import tomllib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

_LISTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))

WORDS_BY_PART: Mapping[str, tuple[str, ...]] = {
    part: tuple(_LISTS[part].split()) for part in ("verb", "noun", "adjective", "participle", "abbreviation")
}
"""Part of a name → its words, in an order that draws depend on."""
LETTERS = tuple("ijkmnabcdefghpqrstuvwxyz")
"""Without l and o, which look like digits."""
STRUCTURAL = frozenset(_LISTS["structural"].split())
"""Words that hold a name together; they stay."""


def _synonyms() -> dict[str, tuple[str, ...]]:
    alike: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for group in _LISTS["synonyms"].splitlines():
        words = group.split()
        for word in words:
            alike[word] |= dict.fromkeys(other for other in words if other != word)
    return {word: tuple(others) for word, others in alike.items()}


SYNONYMS = _synonyms()
"""Word → words that may replace it."""
