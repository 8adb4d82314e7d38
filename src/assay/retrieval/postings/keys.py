"""Keys: the 48 bits of a fingerprint that the index tells apart."""

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.hashing import BASE, Hashes

KEY_BITS = 48
"""A query of q fingerprints meets q · F / 2^48 of F distinct ones in the index by accident: 4 · 10^-5 for q = 100 and
F = 10^8, a million functions; .03 for F = 10^11."""

Keys = NDArray[np.uint64]


def keys_of(hashes: Hashes) -> Keys:
    """The key of each fingerprint, below 2^48.

    Winnowing prefers small hashes, so their leading bits are far from uniform. An odd factor is a bijection modulo 2^64
    whose leading bits depend on all bits, and different 16-bit hashes keep different keys.
    """
    return (hashes * np.uint64(BASE)) >> np.uint64(64 - KEY_BITS)


def distinct(keys: Keys) -> Keys:
    """Each key once, in the order of its first occurrence."""
    _, first = np.unique(keys, return_index=True)
    return keys[np.sort(first)]
