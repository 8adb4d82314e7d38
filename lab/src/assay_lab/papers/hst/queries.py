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
        changed: whether the alteration changed anything.
    """

    text: str
    target: int
    group: str
    changed: bool


def _same(text: str, donors: Sequence[str], seed: int) -> str:  # noqa: ARG001  all alterations are called alike
    return text


def _adapted(text: str, donors: Sequence[str], seed: int) -> str:  # noqa: ARG001
    return adapt(text, seed=seed).text


def _renamed(text: str, donors: Sequence[str], seed: int) -> str:  # noqa: ARG001
    return rename_all(text, "python", seed=seed)


def _edited(text: str, donors: Sequence[str], seed: int) -> str:
    return edit_lines(text, donors, seed=seed)


ALTERATIONS: Mapping[Alteration, Callable[[str, Sequence[str], int], str]] = MappingProxyType(
    {"type 1": _same, "type 2": _adapted, "renamed": _renamed, "type 3": _edited}
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
        text = ALTERATIONS[kind](fragment, donors, seed + target.at)
        fragments.append(Query(text=text, target=target.at, group=target.group, changed=text != fragment))
    return fragments
