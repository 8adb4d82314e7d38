"""Fragments of known origin: as they stand, or altered as a copy is."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from assay_lab.clones import adapt, edit_lines, rename_all
from assay_lab.papers.hst.corpus import SearchSpace

Alteration = Literal["type 1", "type 2", "renamed", "type 3"]
WINDOWS: tuple[int, ...] = (7, 15, 30, 60, 120, 240, 480)
DONORS = 20


@dataclass(frozen=True, slots=True)
class Query:
    """A fragment that is searched for.

    Attributes:
        text: of the fragment, altered.
        target: position of the function that it was cut from.
        group: that the function stands in.
        language: of the function.
        changed: whether the alteration changed anything.
    """

    text: str
    target: int
    group: str
    changed: bool
    language: str | None = "python"


@dataclass(frozen=True, slots=True)
class Fragment:
    """A fragment before its alteration: its language, functions that lines may be added from, and a seed."""

    text: str
    language: str | None
    donors: Sequence[str]
    seed: int


ALTERATIONS: Mapping[Alteration, Callable[[Fragment], str]] = MappingProxyType(
    {
        "type 1": lambda cut: cut.text,
        "type 2": lambda cut: adapt(cut.text, seed=cut.seed).text,
        "renamed": lambda cut: rename_all(cut.text, cut.language, seed=cut.seed),
        "type 3": lambda cut: edit_lines(cut.text, cut.donors, seed=cut.seed),
    }
)
"""Type 1: as it stands. Type 2: Algorithm 1 of the paper. Renamed: every name by another one. Type 3: a quarter of the
lines added, removed or moved."""


def queries(space: SearchSpace, window: int, kind: Alteration, *, most: int, seed: int) -> list[Query]:
    """Return one fragment of `window` tokens from each target that has so many, in random order, at most `most`.

    Where the fragment begins depends on the target, the window and the seed, not on the kind: kinds are compared on the
    same fragments.
    """
    long_enough = [target for target in space.targets if len(target.cut) >= window]
    random.Random(seed).shuffle(long_enough)  # noqa: S311  a draw that can be repeated, no secret
    fragments = []
    for target in long_enough[:most]:
        # an own draw for each target, the same for every kind of alteration
        draw = random.Random(f"{seed} {target.at} {window}")  # noqa: S311
        fragment = target.cut.fragment(draw.randrange(len(target.cut) - window + 1), window)
        donors = [draw.choice(space.documents).text for _ in range(DONORS)]
        language = space.documents[target.at].language
        text = ALTERATIONS[kind](Fragment(text=fragment, language=language, donors=donors, seed=seed + target.at))
        query = Query(text=text, target=target.at, group=target.group, language=language, changed=text != fragment)
        fragments.append(query)
    return fragments
