"""Hashes of all k-grams of a sequence of units."""

import hashlib
from collections.abc import Callable
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.compiled import compiled
from assay.retrieval.source import Units

Hashes = NDArray[np.uint64]
Mixed = TypeVar("Mixed", Hashes, np.uint64)
HashName = Literal["mixed-64", "sha1-16"]
GramHash = Callable[[Units, int], Hashes]
"""Units [n] and k to the hashes of all grams, uint64 [n - k + 1]."""

BASE = (
    0x9E3779B97F4A7C15  # 2^64 / golden ratio (Knuth, TAOCP 3, 6.4); odd, so that no power of it loses a bit modulo 2^64
)
MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)


def mix(values: Mixed) -> Mixed:
    """Return a bijection of 64-bit numbers after which every bit depends on the low and on the high bits."""
    # xor with a shift spreads high bits downwards, a multiplication low bits upwards; both can be undone
    values = values ^ (values >> HALF)
    values *= MULTIPLIER
    values ^= values >> HALF
    return values


compiled_mix = compiled(mix)
"""The same for compiled loops, of an array or of one number."""


def mixed_64(units: Units, k: int) -> Hashes:
    """Return the mixed polynomial hashes of all k-grams, modulo 2^64.

    P_m(u_1 … u_m) = Σ u_i · BASE^(m - i), where m is the largest power of two that is at most k. If k is not a power of
    two, the hash of the gram is P_m(the first m units) · BASE^m + P_m(the last m units); the two overlap and cover the
    gram. Both are rolling hashes.

    Args:
        units: [n], n >= k.
        k: units in a gram.

    Returns:
        uint64 [n - k + 1].
    """
    return mixed_grams(units, k, np.uint64(BASE))


@compiled
def mixed_grams(units: Units, k: int, base: np.uint64) -> Hashes:
    """Return the hashes of `mixed_64`, with BASE as an argument because numba has no constant above 2^63."""
    # two rolling hashes of m units cover a gram of any k from m to 2m - 1, and cost the same for all of them
    m = 1
    while 2 * m <= k:
        m *= 2
    leading = np.uint64(1)  # base^(m - 1), the weight of a unit that leaves
    for _ in range(m - 1):
        leading *= base
    shift = leading * base
    first, last = np.uint64(0), np.uint64(0)
    for at in range(m):
        first = first * base + np.uint64(units[at])
        last = last * base + np.uint64(units[k - m + at])
    hashes = np.empty(len(units) - k + 1, np.uint64)
    for at in range(len(hashes)):
        hashes[at] = compiled_mix(first if m == k else first * shift + last)
        if at + k < len(units):  # roll: remove the first unit of each part, append the next one
            first = (first - np.uint64(units[at]) * leading) * base + np.uint64(units[at + m])
            last = (last - np.uint64(units[at + k - m]) * leading) * base + np.uint64(units[at + k])
    return hashes


def sha1_16(units: Units, k: int) -> Hashes:
    """Return the last 16 bits of the SHA-1 digest of each k-gram in UTF-8.

    A vectorised SHA-1 in numpy, about 1,400 operations a gram, was not faster than this loop.

    Args:
        units: [n], n >= k, code points.
        k: units in a gram.

    Returns:
        uint64 [n - k + 1], each below 2^16.
    """
    text = units.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    grams = (text[at : at + k].encode("utf-8", "surrogatepass") for at in range(len(text) - k + 1))
    ends = b"".join(hashlib.sha1(gram, usedforsecurity=False).digest()[-2:] for gram in grams)
    return np.frombuffer(ends, ">u2").astype(np.uint64)


GRAM_HASHES: dict[HashName, GramHash] = {"mixed-64": mixed_64, "sha1-16": sha1_16}
"""By name."""
