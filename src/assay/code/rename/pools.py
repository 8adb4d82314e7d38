"""Pools of new names, in the style of the old ones."""

import functools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from assay.code.rename import words
from assay.code.rename.names import NameKind

_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|_+|.")


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name as words: `_maxCount2` is max, Count, 2 in camel case behind an underscore. "".join(pieces) is the name.

    Attributes:
        pieces: words, digits and underscores.
        words: indexes of the pieces that are words of letters.
    """

    pieces: tuple[str, ...]
    words: tuple[int, ...]

    def with_words(self, words: tuple[str, ...]) -> str:
        """Return the name with other words, each in the case of the word that it replaces."""
        pieces = list(self.pieces)
        for index, word in zip(self.words, words, strict=True):
            pieces[index] = _in_case_of(pieces[index], word)
        return "".join(pieces)


def identifier(name: str) -> Identifier:
    """Split a name into words, in snake, camel, Pascal or upper case."""
    pieces = tuple(_PIECES.findall(name))
    return Identifier(pieces, tuple(index for index, piece in enumerate(pieces) if piece.isalpha()))


def casing(name: str) -> str:
    """Return the style of a name: names of the same style may stand for one another."""
    bare = name.strip("_")
    lead = "_" * (len(name) - len(name.lstrip("_")))
    if len(bare) == 1:
        return lead + ("letter" if bare.islower() else "LETTER")
    if bare.isupper():
        return lead + "UPPER"
    if bare.islower():
        return lead + "lower"
    return lead + ("Pascal" if bare[:1].isupper() else "camel")


def _in_case_of(old: str, new: str) -> str:
    if old.isupper() and (len(old) > 1 or len(new) == 1):
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new.lower()


_SETS = {part: frozenset(vocabulary) for part, vocabulary in words.WORDS_BY_PART.items()}
_SHORT = 3
_IRREGULAR = {
    "child": "children",
    "people": "people",
    "data": "data",
    "vertex": "vertices",
    "axis": "axes",
    "leaf": "leaves",
    "matrix": "matrices",
    "basis": "bases",
    "series": "series",
    "index": "indices",
    "person": "persons",
}
CANDIDATES = 64
LEAST = 16
"""Candidates of a name to which a pool is filled up."""
REPLACED = 0.6
"""Chance that a word with synonyms is replaced in a draw."""


class NamePool(Protocol):
    """Proposes names. A pool is data: the same name always gets the same candidates."""

    def candidates(self, name: str, kind: NameKind) -> Sequence[str]:
        """Return names that may replace this name, in the same casing style; the name itself is not among them."""
        ...


@dataclass(frozen=True, slots=True)
class DictionaryPool:
    """Dictionary words of the same part: a verb for a verb, a plural for a plural, a letter for a letter.

    Attributes:
        size: number of candidates of a name at most.
    """

    size: int = CANDIDATES

    def candidates(self, name: str, kind: NameKind) -> tuple[str, ...]:
        """See `NamePool`."""
        return _dictionary_candidates(name, kind, self.size)


@dataclass(frozen=True, slots=True)
class SynonymPool:
    """Names in which some words give way to synonyms and the others stay: `max_count` may become `max_total`.

    Attributes:
        size: number of candidates of a name at most.
        fallback: for names without a word that has synonyms.
    """

    size: int = CANDIDATES
    fallback: NamePool | None = field(default_factory=DictionaryPool)

    def candidates(self, name: str, kind: NameKind) -> tuple[str, ...]:
        """See `NamePool`; names with fewer changed words first."""
        split_name = identifier(name)
        own = [split_name.pieces[index].lower() for index in split_name.words]
        choices = [(word, *words.SYNONYMS.get(word, ())) for word in own]
        if all(len(choice) == 1 for choice in choices):
            return tuple(self.fallback.candidates(name, kind)) if self.fallback else ()
        draw = random.Random(f"{kind} {name}")  # noqa: S311  see `_dictionary_candidates`
        drawn = [
            tuple(draw.choice(choice) if draw.random() < REPLACED else choice[0] for choice in choices)
            for _ in range(4 * self.size)
        ]
        # `sorted` is stable: among names with as many changed words, the order of the draws stays
        ordered = sorted(dict.fromkeys(drawn), key=lambda words: sum(a != b for a, b in zip(words, own, strict=True)))
        names = dict.fromkeys(split_name.with_words(words) for words in ordered)
        names.pop(name, None)
        return tuple(names)[: self.size]


@dataclass(frozen=True, slots=True)
class ProposedPool:
    """Names that a model proposed for one text, see `SampledNames`.

    Attributes:
        proposals: by name, in the model's order.
        fallback: fills up the names with fewer than `LEAST` proposals; None for the proposals alone.
    """

    proposals: Mapping[str, tuple[str, ...]]
    fallback: NamePool | None = None

    def candidates(self, name: str, kind: NameKind) -> tuple[str, ...]:
        """See `NamePool`."""
        proposals = self.proposals.get(name, ())
        if len(proposals) >= LEAST or self.fallback is None:
            return proposals
        return tuple(dict.fromkeys((*proposals, *self.fallback.candidates(name, kind))))[:LEAST]


@functools.lru_cache(maxsize=65536)
def _dictionary_candidates(name: str, kind: NameKind, size: int) -> tuple[str, ...]:
    split_name = identifier(name)
    lowered = [split_name.pieces[index].lower() for index in split_name.words]
    if not lowered:
        lowered, split_name = ["value"], Identifier(("value",), (0,))  # a name without a word of ASCII letters
    choices = [
        _words_like(word, first=not index, last=index == len(lowered) - 1, alone=len(lowered) == 1, kind=kind)
        for index, word in enumerate(lowered)
    ]
    if all(len(choice) == 1 for choice in choices):  # nothing but structural words: the last of them is replaced
        choices[-1] = words.WORDS_BY_PART["noun"]
    draw = random.Random(f"{kind} {name}")  # noqa: S311  the candidates of a name are the same in every process
    if len(choices) == 1:
        ordered: list[tuple[str, ...]] = [(word,) for word in draw.sample(choices[0], min(len(choices[0]), size))]
    else:
        ordered = [tuple(draw.choice(choice) for choice in choices) for _ in range(size)]
    names = dict.fromkeys(split_name.with_words(words_drawn) for words_drawn in ordered)
    names.pop(name, None)
    return tuple(names)


def _words_like(word: str, *, first: bool, last: bool, alone: bool, kind: NameKind) -> tuple[str, ...]:
    if len(word) == 1:
        return tuple(letter for letter in words.LETTERS if letter != word)
    if word in words.STRUCTURAL and not alone:
        return (word,)
    alike = _same_part(word, first=first, last=last, kind=kind)
    return tuple(candidate for candidate in alike if candidate != word) if word in alike else alike


@functools.lru_cache(maxsize=4096)
def _same_part(word: str, *, first: bool, last: bool, kind: NameKind) -> tuple[str, ...]:
    part = _part(word, first=first, last=last, kind=kind)
    return _plurals() if part == "plural" else words.WORDS_BY_PART[part]


@functools.cache
def _plurals() -> tuple[str, ...]:
    return tuple(map(plural, words.WORDS_BY_PART["noun"]))


def _part(word: str, *, first: bool, last: bool, kind: NameKind) -> str:  # noqa: PLR0911  a rule a line
    """Return the part that a word plays in a name: by the lists of words, else by its place and ending."""
    verb_first = kind == "function" and first
    if verb_first and word in _SETS["verb"]:
        return "verb"
    for part in (
        ("noun", "abbreviation", "participle", "adjective")
        if last
        else ("adjective", "participle", "abbreviation", "noun")
    ):
        if word in _SETS[part]:
            return part
    if word.endswith("s") and not word.endswith("ss") and len(word) > _SHORT:
        return "plural"
    if word in _SETS["verb"]:
        return "verb"
    if word.endswith("ed"):
        return "participle"
    if len(word) <= _SHORT:
        return "abbreviation"
    return "verb" if verb_first and not last else "noun"


def plural(noun: str) -> str:
    """Return the plural of an English noun: regular, or irregular from our list."""
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"
