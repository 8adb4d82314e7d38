"""Winnowing: selection of the smallest k-gram hash of every window.

Schleimer, Wilkerson, Aiken: Winnowing: Local Algorithms for Document Fingerprinting, SIGMOD 2003,
DOI 10.1145/872757.872770.
"""

import numpy as np

from assay.retrieval.compiled import compiled
from assay.retrieval.hashing import GramHash, Hashes
from assay.retrieval.source import Offsets, Units

AT_ONCE = 1 << 15
"""Windows at a time."""

LONGEST_WINDOW = AT_ONCE


def winnow(units: Units, *, k: int, w: int, gram_hash: GramHash, chunk: int = AT_ONCE) -> tuple[Hashes, Offsets]:
    """Return the fingerprints of a sequence: the minimum of every window of w hashes, the rightmost of equal ones.

    Two sequences that share a run of w + k - 1 units share a fingerprint. Neighbouring fingerprints are at most w
    apart. About 2 of w + 1 grams of random units become fingerprints. A sequence of fewer than w grams is one window,
    so every sequence of at least k units has a fingerprint.

    The selection depends only on the window. The grams are processed in chunks, so that the memory beside the result is
    that of one chunk.

    Args:
        units: [n], n >= k.
        k: units in a gram, at least 1.
        w: grams in a window, 1 to `LONGEST_WINDOW`.
        gram_hash: the hash of a gram.
        chunk: windows at a time; the result does not depend on it.

    Returns:
        Hashes, uint64 [m], and positions of their first units, int64 [m], ascending; m >= 1.
    """
    grams = len(units) - k + 1
    w = min(w, grams)
    windows = grams - w + 1
    parts = []
    for start in range(0, windows, chunk):
        stop = min(start + chunk, windows)
        # neighbouring chunks share w + k - 2 units, so that every window lies whole in one of them
        hashes = gram_hash(units[start : stop + w + k - 2], k)
        chosen = window_minima(hashes, w)
        parts.append((hashes[chosen], chosen + start))
    if len(parts) == 1:
        return parts[0]
    hashes = np.concatenate([part for part, _ in parts])
    positions = np.concatenate([part for _, part in parts])
    # the last window of a chunk and the first of the next may have the same minimum
    new = np.diff(positions, prepend=-1) > 0
    return hashes[new], positions[new]


@compiled
def window_minima(hashes: Hashes, w: int) -> Offsets:
    """Return the positions of the distinct window minima.

    A window is searched again only after its minimum has left it: for random hashes once in (w + 1) / 2 windows.
    """
    chosen = np.empty(len(hashes) - w + 1, np.int64)
    best = 0
    for at in range(1, w):
        if hashes[at] <= hashes[best]:
            best = at
    chosen[0], lowest = best, hashes[best]
    count = 1
    for at in range(w, len(hashes)):
        # three cases: the new hash is the minimum; the minimum has just left the window, which is searched again; or
        # nothing changes, and the window has no fingerprint of its own
        if hashes[at] <= lowest:
            best, lowest = at, hashes[at]
        elif best == at - w:
            best, lowest = best + 1, hashes[best + 1]
            for other in range(best + 1, at + 1):
                if hashes[other] <= lowest:
                    best, lowest = other, hashes[other]
        else:
            continue
        chosen[count] = best
        count += 1
    return chosen[:count].copy()
