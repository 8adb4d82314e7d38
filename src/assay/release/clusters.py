"""Clusters: tasks that share text or names share their lot, and are drawn again as a whole.

Who knows the published copy of one task may prefer the copies of another that resemble it. Tasks are joined where they
have the same group, the same number in several languages ("CPP/7", "Java/7"), the same rare name of the function, or
half of the smaller text's shingles.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from assay.datasets import SourceRow
from assay.evaluation import ShingleIndex, shingles

NEAR = 0.5
"""Share of the smaller text's shingles from which on two tasks are joined."""
RARE = 5
"""Tasks that may share the name of a function before it says nothing, as `task_func` of BigCodeBench."""


def clusters_of(
    ids: Sequence[str], rows: Sequence[SourceRow], texts: Sequence[str], languages: Sequence[str], group: str | None
) -> list[str]:
    """Return the cluster of each task: the id of its first member."""
    first = list(range(len(ids)))

    def root(place: int) -> int:
        while first[place] != place:
            place = first[place]
        return place

    def join(places: Sequence[int]) -> None:
        for other in places[1:]:
            one, two = sorted((root(places[0]), root(other)))
            first[two] = one

    entries = Counter(str(row.get("entry_point")) for row in rows)
    keys: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(rows):
        if group and row.get(group) is not None:
            keys.setdefault(("group", str(row[group])), []).append(place)
        entry = str(row.get("entry_point"))
        if row.get("entry_point") and entries[entry] < RARE:
            keys.setdefault(("entry", entry), []).append(place)
        if len(set(languages)) > 1:
            keys.setdefault(("number", ids[place].rpartition("/")[2]), []).append(place)
    for places in keys.values():
        join(places)
    index = ShingleIndex(texts)
    known: dict[str, int] = {}
    for place, text in enumerate(texts):
        own = shingles(text, known)
        shared = index.shared(own)
        near = shared >= NEAR * np.maximum(np.minimum(index.sizes, len(own)), 1)
        join([place, *np.flatnonzero(near & (shared > 0)).tolist()])
    return [ids[root(place)] for place in range(len(ids))]
