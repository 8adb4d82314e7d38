"""Hashes of all k-grams of a sequence of units."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.source import Units

Hashes = NDArray[np.uint64]
HashName = Literal["mixed-64", "sha1-16"]

BASE = (
    0x9E3779B97F4A7C15  # 2^64 / golden ratio (Knuth, TAOCP 3, 6.4); odd, so that no power of it loses a bit modulo 2^64
)
MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)


def mixed(values: Hashes) -> Hashes:
    """A bijection of the 64-bit numbers after which every bit depends on the low and on the high ones."""
    values = values ^ (values >> HALF)
    values *= MULTIPLIER
    values ^= values >> HALF
    return values


def mixed_64(units: Units, k: int) -> Hashes:
    """Mixed polynomial hash modulo 2^64, by doubling.

    P_1 is the unit itself, P_2m the polynomial P_m(the first m units) · BASE^m + P_m(the next m). Where k is no power
    of two, the last step joins the first and the last m units, m the largest power below k: they overlap, and cover
    the gram.

    Args:
        units: [n], n >= k.
        k: units in a gram.

    Returns:
        uint64 [n - k + 1].
    """
    polynomial, length = units.astype(np.uint64), 1
    while length < k:
        following = polynomial[min(length, k - length) :]
        joined = polynomial[: len(following)] * np.uint64(pow(BASE, length, 1 << 64))
        joined += following
        polynomial, length = joined, min(2 * length, k)
    return mixed(polynomial)


def sha1_16(units: Units, k: int) -> Hashes:
    """The last 16 bits of the SHA-1 digest of each k-gram in UTF-8.

    The digest leaves no room for vectors: SHA-1 in numpy, some 1,400 operations a gram, was no faster than this loop.

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


@dataclass(frozen=True, slots=True)
class GramHash:
    """A hash of k-grams and how many bits its values have."""

    of: Callable[[Units, int], Hashes]
    bits: int


GRAM_HASHES: dict[HashName, GramHash] = {"mixed-64": GramHash(mixed_64, 64), "sha1-16": GramHash(sha1_16, 16)}
"""By the name that a channel gives."""
