"""Rarity of units: how many bits a unit carries after the units before it, in ordinary code and text.

The shipped table holds the frequent runs of units of many packages. The longest known run that ends at a unit gives its
bits, −log₂ of its share of the runs with the same beginning: an idiom costs next to nothing, however long it is, and a
sentence or a program that nobody else writes costs more with each word. The laboratory has the
procedure (scan/frequencies).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from assay.retrieval.compiled import compiled
from assay.scan.units import UnitForm, UnitHashes, grams
from assay.types import Float32Array

WIDTHS: Mapping[UnitForm, tuple[int, ...]] = {"words": (1, 2, 3, 4), "tokens": (1, 2, 4, 6, 8)}
"""Lengths of the runs in the table, ascending."""
SCALE = 10
"""Steps of a stored value in a bit."""
TABLE = "frequencies.npz"


@dataclass(frozen=True, eq=False)
class RarityTable:
    """Frequent runs of units of one form.

    Attributes:
        keys: uint32 [n], ascending: the lower half of the hash of a run, see `run_keys`.
        bits: uint8 [n], bits of its last unit after the others, times `SCALE`.
        unknown: bits of a unit that no run ends with.
    """

    form: UnitForm
    keys: NDArray[np.uint32]
    bits: NDArray[np.uint8]
    unknown: float

    @cached_property
    def _begins(self) -> NDArray[np.int64]:
        """Where the keys with each upper half begin, int64 [2^16]."""
        return np.searchsorted(self.keys, np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)).astype(np.int64)

    def of(self, hashes: UnitHashes) -> Float32Array:
        """Return the bits of each unit, float32 [n]."""
        values = np.full(len(hashes), self.unknown, np.float32)
        for width in WIDTHS[self.form]:  # a longer run that is known replaces what a shorter one says
            _known_bits((self.keys, self._begins, self.bits), run_keys(hashes, width), values[width - 1 :])
        return values


@compiled
def _known_bits(
    table: tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint8]], runs: NDArray[np.uint32], out: Float32Array
) -> None:
    keys, begins, bits = table
    # the upper half of a key leads to a bucket of a few keys, which are passed one by one: faster than a binary search
    for place in range(len(runs)):
        at = begins[runs[place] >> np.uint32(16)]
        while at < len(keys) and keys[at] < runs[place]:
            at += 1
        if at < len(keys) and keys[at] == runs[place]:
            out[place] = np.float32(bits[at] / SCALE)


def run_keys(hashes: UnitHashes, width: int) -> NDArray[np.uint32]:
    """Return the keys of all runs of `width` units, uint32 [n - width + 1]."""
    # the width is added, so that runs of different lengths with one hash have different keys
    return (grams(hashes, width) + np.uint64(width)).astype(np.uint32)


@cache
def rarity(form: UnitForm) -> RarityTable:
    """Return the shipped table of a form."""
    with (files("assay.scan") / TABLE).open("rb") as file, np.load(file) as stored:
        return RarityTable(
            form=form,
            keys=stored[f"{form}_keys"],
            bits=stored[f"{form}_bits"],
            unknown=float(stored[f"{form}_unknown"]),
        )


def fit_rarity(
    form: UnitForm, projects: Sequence[Sequence[UnitHashes]], *, most: int, least_projects: int = 3
) -> RarityTable:
    """Return the table of the runs that several projects share.

    Args:
        form: of the units.
        projects: the texts of each project.
        most: runs of each length, the most frequent ones.
        least_projects: that a run occurs in.
    """
    keys: list[NDArray[np.uint32]] = []
    bits: list[NDArray[np.uint8]] = []
    total = sum(map(len, chain.from_iterable(projects)))
    unknown = 0.0
    for width in WIDTHS[form]:
        runs, contexts, shared = [], [], []
        for texts in projects:
            every_run = [grams(text, width) for text in texts]
            runs += every_run
            if width > 1:
                contexts += [grams(text[:-1], width - 1) for text in texts]
            # each run once for a project: one that repeats itself is not many authors
            shared.append(np.unique(np.concatenate(every_run)))
        spread, projects_with = np.unique(np.concatenate(shared), return_counts=True)
        values, counts = np.unique(np.concatenate(runs), return_counts=True)
        kept = np.flatnonzero(projects_with[np.searchsorted(spread, values)] >= least_projects)
        kept = kept[np.argsort(-counts[kept], kind="stable")[:most]]
        if width == 1:
            context_counts = np.full(len(kept), total)
            unknown = min(16.0, float(np.log2(total / max(1, counts[kept].min()))) + 1)
        else:
            begins = _beginnings(projects, width, values[kept])
            before, before_counts = np.unique(np.concatenate(contexts), return_counts=True)
            context_counts = before_counts[np.searchsorted(before, begins)]
        keys.append((values[kept] + np.uint64(width)).astype(np.uint32))
        # −log₂ of the share of those that begin alike, in steps that a byte holds
        bits.append(np.clip(np.log2(context_counts / counts[kept]) * SCALE, 0, 255).astype(np.uint8))
    every, every_bits = np.concatenate(keys), np.concatenate(bits)
    order = np.argsort(every, kind="stable")
    return RarityTable(form, keys=every[order], bits=every_bits[order], unknown=unknown)


def _beginnings(projects: Sequence[Sequence[UnitHashes]], width: int, runs: UnitHashes) -> UnitHashes:
    """Return the hash of each run without its last unit."""
    begins = np.zeros(len(runs), np.uint64)
    order = np.argsort(runs)
    ascending = runs[order]
    for texts in projects:
        for text in texts:
            values = grams(text, width)
            at = np.minimum(np.searchsorted(ascending, values), len(runs) - 1)
            hit = ascending[at] == values
            begins[order[at[hit]]] = grams(text[:-1], width - 1)[hit]
    return begins
