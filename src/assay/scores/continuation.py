"""Cuts of a text, and continuations: a text is cut, a model continues it, units are compared.

A *unit* is a lexeme or a token id of the model; a score compares units and does not see where they came from.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

SuffixUnits = Literal["lexical", "model"]


@dataclass(frozen=True, slots=True)
class SuffixCut:
    """The text is cut once: the model reads the beginning, and its continuation is compared with the rest.

    Attributes:
        prefix: share of the text's lexemes that it reads.
        at: cut at the last line end within that share (the model generates the line end itself; behind the first
            line where no line ends earlier), or exactly there.
        units: of the comparison.
    """

    prefix: float
    at: Literal["line", "token"]
    units: SuffixUnits


@dataclass(frozen=True, slots=True)
class StartsCut:
    """The text is cut at five evenly spaced places in every `stride` tokens; n tokens are generated from each.

    Tokens are the model's where it shows its tokenizer, lexemes where it does not.
    """

    n: int
    stride: int


Cut = SuffixCut | StartsCut


@dataclass(frozen=True, slots=True)
class Continuation:
    """The units of the text behind a cut, and those that the model generated there."""

    truth: tuple[Hashable, ...]
    generated: tuple[Hashable, ...]
