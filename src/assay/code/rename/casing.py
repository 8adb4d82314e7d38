"""Identifiers as words: `_maxCount2` is max, Count, 2 in camel case behind an underscore."""

import re
from dataclasses import dataclass

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|_+|.")


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name taken apart; "".join(pieces) is the name.

    Attributes:
        pieces: words, digits and underscores.
        words: indexes of the pieces that are words of letters.
    """

    pieces: tuple[str, ...]
    words: tuple[int, ...]

    def with_words(self, words: tuple[str, ...]) -> str:
        """The name with other words, each in the case of the one it stands for."""
        pieces = list(self.pieces)
        for index, word in zip(self.words, words, strict=True):
            pieces[index] = _in_case_of(pieces[index], word)
        return "".join(pieces)


def identifier(name: str) -> Identifier:
    """Takes a name apart, in snake, camel, Pascal or upper case."""
    pieces = tuple(_PARTS.findall(name))
    return Identifier(pieces, tuple(index for index, one in enumerate(pieces) if one.isalpha()))


def casing(name: str) -> str:
    """The style of a name: names of one style may stand for one another."""
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
