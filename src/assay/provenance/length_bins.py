"""Best values of unrelated queries, counted by the length of the query."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.types import Float64Array, Int64Array

STEPS_OF_VALUE = 100
FEWEST = 20
"""Queries below which there is no rate."""

ENOUGH = 200
"""Queries that a bin needs; with fewer it is joined to the next shorter one, whose queries reach higher values."""


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Unrelated queries of about one length.

    Attributes:
        shortest: smallest length in it: fingerprints that are not boilerplate, tokens for vectors, or for the fused
            value 2^(channels with evidence - 1).
        reached: [101], number of queries with a best value of at least i / 100; the first is n, all of them.
    """

    shortest: int
    reached: tuple[int, ...]

    @property
    def n(self) -> int:
        """Number of unrelated queries."""
        return self.reached[0]

    def counts(self, values: Float64Array) -> Int64Array:
        """Return the number of queries that reach each of these values from 0 to 1, [c]."""
        # 0.29 * 100 is 28.999…: without the small term, floor would look up the wrong step
        steps = np.floor(values * STEPS_OF_VALUE + 1e-9).astype(np.int64)
        counts: Int64Array = np.array(self.reached, np.int64)[steps.clip(0, STEPS_OF_VALUE)]
        return counts

    def rates(self, values: Float64Array) -> Float64Array:
        """Return the rate of each of these values from 0 to 1, [c]."""
        return (self.counts(values) + 1) / np.float64(self.n + 1)

    def rate(self, value: float) -> float:
        """Return the rate of a single value."""
        return float(self.rates(np.array([value]))[0])


def bin_of(bins: Sequence[LengthBin], length: int) -> LengthBin | None:
    """Return the bin of a length; between two bins that is the shorter one, whose rates are the larger ones.

    Args:
        bins: ascending by length.
        length: of a query; one shorter than all bins gets the shortest.

    Returns:
        None where no bin has at least `FEWEST` queries.
    """
    chosen = None
    # from long to short: the first bin that fits
    for length_bin in reversed(bins):
        if length_bin.n >= FEWEST:
            chosen = length_bin
            if length_bin.shortest <= length:
                break
    return chosen


def binned(measured: Iterable[tuple[int, float]]) -> tuple[LengthBin, ...]:
    """Return bins of doubling length; those of few queries are joined to the shorter ones.

    Args:
        measured: length, at least 1, and best value of each unrelated query.
    """
    values: dict[int, list[int]] = {}
    for length, value in measured:
        # lengths from 2^power to 2^(power + 1) - 1 share a bin
        step = min(math.ceil(value * STEPS_OF_VALUE - 1e-9), STEPS_OF_VALUE)
        values.setdefault(length.bit_length() - 1, []).append(step)
    # from the longest down, so that a joined bin may be joined again if it is still too small
    for power, shorter in zip(sorted(values)[:0:-1], sorted(values)[-2::-1], strict=True):
        if len(values[power]) < ENOUGH:
            values[shorter] += values.pop(power)
    return tuple(
        LengthBin(1 << power, tuple(sum(value >= step for value in steps) for step in range(STEPS_OF_VALUE + 1)))
        for power, steps in sorted(values.items())
    )
