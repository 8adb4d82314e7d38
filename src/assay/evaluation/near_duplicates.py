"""Exact search for near-duplicate code.

The usual way is MinHash with locality-sensitive hashing, then exact Jaccard on the candidates. A few thousand functions
against tens of megabytes is small enough for an inverted index over all shingles, which gives the exact overlap of
every pair: nothing is missed by chance, and containment (a function copied into a long file) is found where Jaccard is
low.
"""

import re
import zlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"\w+|[^\w\s]")
SHINGLE = 5
"""Code tokens in a shingle."""


def shingles(text: str, crc_of: dict[str, int], *, size: int = SHINGLE) -> NDArray[np.uint64]:
    """Return the sorted unique hashes of the n-grams of code tokens; white space does not count.

    Args:
        text: any text.
        crc_of: filled with the tokens of the text, so that a caller with many texts hashes each distinct token once.
        size: n.
    """
    codes = []
    for token in _TOKEN.findall(text):
        code = crc_of.get(token)
        if code is None:
            code = crc_of[token] = zlib.crc32(token.encode("utf-8", "surrogatepass"))
        codes.append(code)
    hashed = np.array(codes, dtype=np.uint64)
    if len(hashed) < size:
        return np.empty(0, dtype=np.uint64)
    # all shingles at once: shifted copies of the token codes are mixed in one after the other
    mixed = np.zeros(len(hashed) - size + 1, dtype=np.uint64)
    for offset in range(size):
        mixed = (mixed ^ hashed[offset : offset + len(mixed)]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed)


class ShingleIndex:
    """Inverted index: shingle → the texts of a fixed set that have it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._crc_of: dict[str, int] = {}
        sets = [shingles(text, self._crc_of) for text in texts]
        self.sizes = np.array(list(map(len, sets)), dtype=np.int64)
        owners = np.repeat(np.arange(len(sets)), self.sizes)
        flat = np.concatenate([np.empty(0, dtype=np.uint64), *sets])
        order = np.argsort(flat, kind="stable")
        self._owners = owners[order]
        self._shingles, self._starts = np.unique(flat[order], return_index=True)
        self._ends = np.append(self._starts[1:], len(flat))
        self._sets = sets

    def shared(self, query: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return for each indexed text the number of its shingles in `query` (sorted, unique)."""
        if not len(self._shingles):
            return np.zeros(len(self.sizes), dtype=np.int64)
        # posting lists lie one behind the other in one array; starts and ends cut them out
        where = np.searchsorted(self._shingles, query)
        where = np.minimum(where, len(self._shingles) - 1)
        hits = where[self._shingles[where] == query]
        owners = [self._owners[self._starts[hit] : self._ends[hit]] for hit in hits]
        return np.bincount(np.concatenate([np.empty(0, dtype=np.int64), *owners]), minlength=len(self.sizes))

    def largest_containment(self, others: Iterable[str]) -> NDArray[np.float64]:
        """Return for each indexed text the largest share of its shingles that any single text of `others` has."""
        most = np.zeros(len(self.sizes), dtype=np.int64)
        for other in others:
            most = np.maximum(most, self.shared(shingles(other, self._crc_of)))
        return most / np.maximum(self.sizes, 1)

    def near_any(self, others: Iterable[str], threshold: float) -> NDArray[np.bool_]:
        """Mark the texts that share `threshold` or more of the smaller one's shingles with any of `others`."""
        near = np.zeros(len(self.sizes), dtype=np.bool_)
        for other in others:
            query = shingles(other, self._crc_of)
            near |= self.shared(query) >= threshold * np.maximum(np.minimum(self.sizes, len(query)), 1)
        return near

    def first_of_each_kind(self, threshold: float) -> NDArray[np.bool_]:
        """Mark a subset in which no two texts share `threshold` or more of the smaller one's shingles.

        Greedy in the order given: a text is kept unless it is a near-duplicate of one kept before. Containment is
        never below Jaccard, so no pair of the subset has a Jaccard similarity of `threshold` or more either.
        """
        kept = np.zeros(len(self.sizes), dtype=np.bool_)
        for i, own in enumerate(self._sets):
            smaller = np.minimum(self.sizes, self.sizes[i])
            near = kept & (self.shared(own) >= threshold * np.maximum(smaller, 1))
            kept[i] = not near.any()
        return kept
