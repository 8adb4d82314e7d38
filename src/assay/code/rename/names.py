"""The result of the analysis of a text, in any language: the names that may change, with their places."""

from collections.abc import Mapping
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
