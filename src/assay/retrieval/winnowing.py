"""Winnowing: of every window of k-gram hashes, the smallest.

Schleimer, Wilkerson, Aiken: Winnowing: Local Algorithms for Document Fingerprinting, SIGMOD 2003,
DOI 10.1145/872757.872770.
"""

import numpy as np

from assay.retrieval.compiled import compiled
from assay.retrieval.hashing import GramHash, Hashes
from assay.retrieval.source import Offsets, Units

CHUNK = 1 << 15
LONGEST_WINDOW = CHUNK


def winnow(units: Units, *, k: int, w: int, gram_hash: GramHash, chunk: int = CHUNK) -> tuple[Hashes, Offsets]:
    """Fingerprints of a sequence: the hashes that are the minimum of some window of w, the rightmost one on ties.

    Two sequences that share a run of w + k - 1 units share a fingerprint; neighbouring fingerprints are at most w
    apart; of random units about 2 in w + 1 become one. A sequence of fewer than w grams is one window, so every
    sequence of at least k units has a fingerprint.

    What is chosen depends on nothing outside the window. Works through the grams in chunks: beside the answer it needs
    the memory of one chunk.

    Args:
        units: [n], n >= k.
        k: units in a gram, at least 1.
        w: grams in a window, 1 to `LONGEST_WINDOW`.
        gram_hash: the hash of a gram.
        chunk: windows at a time; no result depends on it.

    Returns:
        Hashes, uint64 [m], and positions of their first units, int64 [m], ascending; m >= 1.
    """
    grams = len(units) - k + 1
    w = min(w, grams)
    windows = grams - w + 1
    parts = []
    for start in range(0, windows, chunk):
        stop = min(start + chunk, windows)
        hashes = gram_hash(units[start : stop + w + k - 2], k)
        chosen = window_minima(hashes, w)
        parts.append((hashes[chosen], chosen + start))
    if len(parts) == 1:
        return parts[0]
    hashes = np.concatenate([part for part, _ in parts])
    positions = np.concatenate([part for _, part in parts])
    new = np.diff(positions, prepend=-1) > 0  # the last window of a chunk and the first of the next may agree
    return hashes[new], positions[new]


@compiled
def window_minima(hashes: Hashes, w: int) -> Offsets:
    """Positions of the distinct window minima.

    A window is looked through anew only where its minimum has just left it: of hashes once in (w + 1) / 2 windows.
    """
    chosen = np.empty(len(hashes) - w + 1, np.int64)
    best = 0
    for at in range(1, w):
        if hashes[at] <= hashes[best]:
            best = at
    chosen[0], lowest = best, hashes[best]
    found = 1
    for at in range(w, len(hashes)):
        if hashes[at] <= lowest:
            best, lowest = at, hashes[at]
        elif best == at - w:
            best, lowest = best + 1, hashes[best + 1]
            for other in range(best + 1, at + 1):
                if hashes[other] <= lowest:
                    best, lowest = other, hashes[other]
        else:
            continue
        chosen[found] = best
        found += 1
    return chosen[:found].copy()
