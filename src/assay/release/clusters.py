"""Clusters: tasks that share text or names share their lot, and are drawn again as a whole.

Who knows the published copy of one task may prefer the copies of another that resemble it. Tasks are joined where they
have the same group, the same number in several languages ("CPP/7", "Java/7"), the same rare name of the function, or
half of the smaller text's shingles.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

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
    joined = DisjointSet(range(len(ids)))
    for places in (*_alike(ids, rows=rows, languages=languages, group=group), *_near(texts)):
        for other in places[1:]:
            joined.merge(places[0], other)
    first: dict[int, str] = {}
    for cluster in joined.subsets():
        first |= dict.fromkeys(cluster, ids[min(cluster)])
    return list(map(first.__getitem__, range(len(ids))))


def _alike(
    ids: Sequence[str], rows: Sequence[SourceRow], languages: Sequence[str], group: str | None
) -> Iterator[list[int]]:
    """Yield the tasks of each group, each rare name of a function, and each number in several languages."""
    entries = Counter(str(row.get("entry_point")) for row in rows)
    keys: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(rows):
        if group and row.get(group) is not None:
            keys.setdefault(("group", str(row[group])), []).append(place)
        if row.get("entry_point") and entries[str(row["entry_point"])] < RARE:
            keys.setdefault(("entry", str(row["entry_point"])), []).append(place)
        # translations of a problem share its number; in a file of one language a number joins nothing
        if len(set(languages)) > 1:
            keys.setdefault(("number", ids[place].rpartition("/")[2]), []).append(place)
    yield from keys.values()


def _near(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield each task with those that share half of the smaller text's shingles."""
    index = ShingleIndex(texts)
    crc_of: dict[str, int] = {}
    for place, text in enumerate(texts):
        own = shingles(text, crc_of)
        shared = index.shared(own)
        near = shared >= NEAR * np.maximum(np.minimum(index.sizes, len(own)), 1)
        yield [place, *np.flatnonzero(near & (shared > 0)).tolist()]
