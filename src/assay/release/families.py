"""Names that belong together: `l1` and `l2`, `x_min` and `y_min`, or the letters i and j. A copy changes all or none.

A reader takes `lst1, items2` for two kinds of thing, and j, x for no pair of indices. So names that differ in digits
and letters alone, in number or in the end of a range (`item`, `items`; `min_age`, `max_age`) get the same new words,
letters in a row stay in a row, and a word becomes one other word in a copy.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, product

from assay.code import Renamable, identifier

Names = tuple[str, ...]
ROWS = ("abcd", "ijk", "pqr", "xyz")
"""Letters that stand for one kind of thing where they stand together."""
ENDS = {"max": "min", "maximum": "minimum", "largest": "smallest", "highest": "lowest", "high": "low", "hi": "lo"}
"""Word for the upper end of a range → word for the lower one."""
SHORTEST_PLURAL = 4
COMBINED = 4096
"""Combinations of families that are looked at."""


def name_families(names: Sequence[Renamable], alone: Collection[str] = ()) -> list[list[int]]:
    """Return the places of the names of each family; most names, and those that are to stand alone, have their own."""
    families: dict[object, list[int]] = {}
    for place, name in enumerate(names):
        key: object = _stem(name.name)
        if name.name in alone:
            key = name.name
        elif len(name.name) == 1:
            key = next((row for row in ROWS if name.name in row), name.name)
        families.setdefault((name.kind, key), []).append(place)
    return list(families.values())


def _stem(name: str) -> Names:
    """Return the words of a name without its letters, in the singular; its letters where it has no words."""
    words = tuple(identifier(name).lowered)
    longer = tuple(word for word in words if len(word) > 1)
    return tuple(map(_kind_of, longer)) or words


def _kind_of(word: str) -> str:
    return singular(ENDS.get(word, word))


def singular(word: str) -> str:
    """Return the singular of a plural that an s makes; any other word as it is."""
    if len(word) < SHORTEST_PLURAL or not word.endswith("s") or word.endswith("ss"):
        return word
    return f"{word[:-3]}y" if word.endswith("ies") else word[:-1]


def evened(old: Names, drawn: Names, candidates: Sequence[Iterable[str]], families: Iterable[Sequence[int]]) -> Names:
    """Return new names of which a word changes to one other word alone, and those of a family change alike.

    Args:
        old: names.
        drawn: new ones, of which those that contradict an earlier one give way to another candidate, or stay.
        candidates: of each name.
        families: of the names.
    """
    words: dict[str, str] = {}
    names: list[str] = []
    for own, first, others in zip(old, drawn, candidates, strict=True):
        # the old name is the last resort: it changes no word
        for name in (first, *others, own):
            changes = _changes(own, name)
            if name not in names and all(words.get(word, new) == new for word, new in changes.items()):
                break
        words |= changes
        names.append(name)
    for family in families:
        if len({_change(old[place], names[place]) for place in family}) > 1:
            for place in family:
                names[place] = old[place]
    return tuple(names)


def _changes(old: str, new: str) -> dict[str, str]:
    """Return the words of a name that change."""
    pairs = zip(identifier(old).lowered, identifier(new).lowered, strict=False)
    # `pairs` ends with the shorter name, since a new name may have another number of words
    return {word: other for word, other in pairs if word != other}


def _change(old: str, new: str) -> object:
    # letters in a row stay in a row when all move by the same distance
    return ord(new) - ord(old) if len(old) == len(new) == 1 else _stem(new)


def partly_changed(
    old: Names, copies: Iterable[Names], families: Sequence[Sequence[int]], *, seed: int
) -> Iterator[Names]:
    """Yield copies in which each family stays, or changes as in one of the copies.

    A short task has few close synonyms: what stays in one copy and changes in another one makes more of them.
    """
    options: list[dict[Names, None]] = [{} for _ in families]
    for names in (old, *copies):
        for seen, family in zip(options, families, strict=True):
            seen[tuple(map(names.__getitem__, family))] = None
    combined = list(islice(product(*options), COMBINED))
    random.Random(seed).shuffle(combined)  # noqa: S311  reproducible, not secret
    for parts in combined:
        new = list(old)
        for family, words in zip(families, parts, strict=True):
            for place, word in zip(family, words, strict=True):
                new[place] = word
        # what `evened` leaves as it is contradicts nothing
        changed = tuple(new) != old and evened(old, tuple(new), candidates=[()] * len(old), families=families)
        if changed == tuple(new):
            yield changed
