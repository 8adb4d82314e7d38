"""Keys: the 48 bits of a fingerprint that an index distinguishes."""

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.hashing import BASE, Hashes

KEY_BITS = 48
"""Expected accidental matches of a query of q fingerprints in an index of F distinct ones: q · F / 2^48, which is
4 · 10^-5 for q = 100 and F = 10^8 (a million functions), and .03 for F = 10^11."""

Keys = NDArray[np.uint64]


def keys_of(hashes: Hashes) -> Keys:
    """Return the key of each fingerprint, below 2^48.

    Winnowing selects small hashes, so their leading bits are not uniform. Multiplication by an odd factor is a
    bijection modulo 2^64 whose leading bits depend on all bits, and different 16-bit hashes have different keys.
    """
    return (hashes * np.uint64(BASE)) >> np.uint64(64 - KEY_BITS)


def distinct(keys: Keys) -> Keys:
    """Return each key once, in the order of first occurrences."""
    _, first = np.unique(keys, return_index=True)
    return keys[np.sort(first)]
