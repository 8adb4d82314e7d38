"""Winnowing: of every window of k-gram hashes, the smallest.

Schleimer, Wilkerson, Aiken: Winnowing: Local Algorithms for Document Fingerprinting, SIGMOD 2003,
DOI 10.1145/872757.872770.
"""

import numpy as np

from assay.retrieval.hashing import GramHash, Hashes
from assay.retrieval.source import Offsets, Units

POSITION_BITS = 16
CHUNK = 1 << 15
POSITIONS = np.uint64((1 << POSITION_BITS) - 1)
LONGEST_WINDOW = CHUNK
# counted backwards: of equal hashes the rightmost then has the smallest key
BACKWARDS = POSITIONS - np.arange(1 << POSITION_BITS, dtype=np.uint64)


def winnow(units: Units, *, k: int, w: int, gram_hash: GramHash, chunk: int = CHUNK) -> tuple[Hashes, Offsets]:
    """Fingerprints of a sequence: the hashes that are the minimum of some window of w, the rightmost one on ties.

    Two sequences that share a run of w + k - 1 units share a fingerprint; neighbouring fingerprints are at most w
    apart; of random units about 2 in w + 1 become one. A sequence of fewer than w grams is one window, so every
    sequence of at least k units has a fingerprint.

    Windows compare the leading 48 bits of a hash, so that hash and position fit one 64-bit key: the minimum of the
    keys is the rightmost minimum of the hashes, and a new key is a new fingerprint. What is chosen depends on nothing
    outside the window. Works through the grams in chunks: beside the answer it needs the memory of one chunk.

    Args:
        units: [n], n >= k.
        k: units in a gram, at least 1.
        w: grams in a window, 1 to `LONGEST_WINDOW`.
        gram_hash: the hash of a gram.
        chunk: windows at a time, at most 2^16 - w; no result depends on it.

    Returns:
        Hashes, uint64 [m], and positions of their first units, int64 [m], ascending; m >= 1.
    """
    grams = len(units) - k + 1
    w = min(w, grams)
    windows = grams - w + 1
    parts = []
    for start in range(0, windows, chunk):
        stop = min(start + chunk, windows)
        hashes = gram_hash.of(units[start : stop + w + k - 2], k)
        leading = hashes if gram_hash.bits == 64 else hashes << np.uint64(64 - gram_hash.bits)  # noqa: PLR2004
        chosen = _window_minima(leading, w)
        parts.append((hashes[chosen], chosen + start))
    if len(parts) == 1:
        return parts[0]
    hashes = np.concatenate([part for part, _ in parts])
    positions = np.concatenate([part for _, part in parts])
    new = np.diff(positions, prepend=-1) > 0  # the last window of a chunk and the first of the next may agree
    return hashes[new], positions[new]


def _window_minima(hashes: Hashes, w: int) -> Offsets:
    """Positions of the distinct window minima."""
    keys = hashes & ~POSITIONS
    keys |= BACKWARDS[: len(hashes)]
    span = 1
    while 2 * span <= w:  # by doubling: minima over 2, 4, 8, …
        keys = np.minimum(keys[:-span], keys[span:])
        span *= 2
    if span < w:
        keys = np.minimum(keys[: span - w], keys[w - span :])
    changes = np.flatnonzero(keys[1:] != keys[:-1])
    chosen = np.empty(len(changes) + 1, np.int64)
    chosen[0] = keys[0] & POSITIONS
    chosen[1:] = keys[changes + 1] & POSITIONS
    np.subtract(int(POSITIONS), chosen, out=chosen)
    return chosen
