"""The result of the analysis of a text, in any language: the names that may change, with their places."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

NameKind = Literal["function", "variable"]
Pairs = frozenset[tuple[str, str]]
"""A renaming, as pairs of an old and a new name."""


@dataclass(frozen=True, slots=True)
class Renamable:
    """A name that may change.

    Attributes:
        name: as it stands in the text.
        kind: "function", or "variable" for variables and parameters.
        places: offsets where it stands, ascending.
        global_scope: it is a name of the module, file or class, which code after the text may use.
    """

    name: str
    kind: NameKind
    places: tuple[int, ...]
    global_scope: bool


def renamables(
    places: Mapping[tuple[str, NameKind], Collection[int]], global_names: Collection[tuple[str, NameKind]]
) -> tuple[Renamable, ...]:
    """Return names with their places, in the order of the mapping.

    Args:
        places: name and kind → offsets, in any order.
        global_names: those of them that code after the text may use.
    """
    names = []
    for entry, offsets in places.items():
        name, kind = entry
        names.append(Renamable(name, kind, places=tuple(sorted(offsets)), global_scope=entry in global_names))
    return tuple(names)


@dataclass(frozen=True, slots=True)
class Analysis:
    """The names of one text that can be renamed, and those that are kept.

    Attributes:
        text: the text.
        names: that may change.
        kept: names bound in the text that may not change, and why.
        words: every word of the text: a new name is none of these.
        refused: why the text as a whole cannot be renamed, or None.
    """

    text: str
    names: tuple[Renamable, ...]
    kept: Mapping[str, str]
    words: frozenset[str]
    refused: str | None = None

    @classmethod
    def refusal(cls, text: str, words: frozenset[str], reason: str) -> "Analysis":
        """Return the analysis of a text in which nothing can be renamed."""
        return cls(text, names=(), kept={}, words=words, refused=reason)
