"""Confidence of a similarity: one minus the rate at which unrelated code of the same length reaches it.

The estimator is that of a conformal p-value. n unrelated queries of a length are traced; k of them find, anywhere in
the index, a document of at least the value v. Then rate(v) = (k + 1) / (n + 1): n queries never give a rate below
1 / (n + 1), and for a further unrelated query P(rate(its best value) <= a) <= a for every a. Values are rounded to
hundredths, up when they are measured and down when they are looked up, so rounding never makes a rate smaller. Where a
search has several channels, the value is the fused one, one rate for all of them together.

In each channel c a document has the rate p_c at which unrelated code reaches its value. Fisher (1932) combines
independent rates by the sum of their logarithms; the fused value is that sum, with no weight that is fitted:

    fused = - sum_c log10(p_c) / (channels * MOST_DECADES)

Characters, tokens and vectors of one document depend on each other, so the law of Fisher's sum does not hold here. Its
rate is measured instead, on the same unrelated queries: the largest fused value that any document of the index has. By
that rate a document that several channels support is surer than one that a single channel supports, and no correction
for the number of channels is needed.

A measured query is left out of the rates that are used for its own fused value. With n others, k of which reach a
value, a further query has the rate (k + 1) / (n + 1), and the query itself, which reaches its own value, k' / n with
k' = k + 1: the two are treated alike.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    def content(self) -> dict[str, object]:
        """Return the bin as JSON has it: of the counts, [step, count] for each step at which they change."""
        # the counts fall in few steps, so their changes are a tenth of the file that all of them would be
        changes = [[step, n] for step, n in enumerate(self.reached) if step == 0 or self.reached[step - 1] != n]
        return {"shortest": self.shortest, "reached": changes}

    @classmethod
    def of(cls, content: Any) -> "LengthBin":  # noqa: ANN401  JSON, checked by its reader
        """Return the bin from what `content` returned."""
        changes = dict(content["reached"])
        reached = [int(changes[0])]
        for step in range(1, STEPS_OF_VALUE + 1):
            reached.append(int(changes.get(step, reached[-1])))
        return cls(int(content["shortest"]), tuple(reached))


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
        # a bin of too few queries gives no rate; the next shorter one is on the safe side, its queries reach more
        if length_bin.n >= FEWEST:
            chosen = length_bin
            if length_bin.shortest <= length:
                break
    return chosen


def bin_values(measured: Iterable[tuple[int, float]]) -> tuple[LengthBin, ...]:
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
    return tuple(LengthBin(1 << power, _reached(steps)) for power, steps in sorted(values.items()))


def _reached(steps: Sequence[int]) -> tuple[int, ...]:
    """Return the number of values of at least each step, [101]."""
    counts = np.bincount(steps, minlength=STEPS_OF_VALUE + 1)
    return tuple(counts[::-1].cumsum()[::-1].tolist())


VECTOR = "vector"
MOST_DECADES = 4
"""Mean of -log10 of the rates from which the fused value is 1."""

ChannelValues = Mapping[str, tuple[int, Float64Array]]
"""Channel → length of the query there, and the values of the candidates, [c]. Channels without evidence are absent."""


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceRates:
    """Rates of the candidates of a query.

    Attributes:
        rates: float64 [c], at which unrelated code reaches as much; NaN for a candidate without any value in a
            channel that is calibrated.
        at_limit: bool [c], no unrelated query of the measurement reached as much.
    """

    rates: Float64Array
    at_limit: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class UnrelatedQuery:
    """The values that the documents of an index have for an unrelated query, for the channels in which it has evidence.

    Attributes:
        lengths: of the query, by channel.
        best: largest value of any document, by channel.
        steps: uint8 [channels, documents], values in hundredths, rounded down; documents that others surpass in every
            channel may be absent.
    """

    lengths: Mapping[str, int]
    best: Mapping[str, float]
    steps: NDArray[np.uint8]

    @classmethod
    def of(cls, values: ChannelValues) -> "UnrelatedQuery":
        """Return the values of a query; the channel of vectors is the last one, if there is one."""
        # of an unrelated query only its best document matters: that is what could be taken for a source
        lengths, best, steps = {}, {}, []
        for name, (length, column) in values.items():
            lengths[name] = length
            best[name] = float(column.max(initial=0.0))
            steps.append(np.floor(column * STEPS_OF_VALUE + 1e-9))
        return cls(lengths, best, _undominated(np.stack(steps)))


def fusion(channels: Iterable[str]) -> str:
    """Return the name of the fused value of these channels."""
    return "+".join(sorted(channels))


def fused_values(rates: Sequence[Float64Array], channels: int) -> Float64Array:
    """Return the fused values from 0 to 1, [c].

    Args:
        rates: of the channels in which the query has evidence, each [c].
        channels: of the search; the others count as a rate of 1.
    """
    # a channel without evidence has the rate 1, whose logarithm is 0: it adds nothing and still counts in the mean
    decades: Float64Array = -np.sum([np.log10(of_channel) for of_channel in rates], axis=0)
    return (decades / (channels * MOST_DECADES)).clip(0.0, 1.0)


def fused_key(channels: Collection[str]) -> int:
    """Return the length by which fused values are binned: 1, 2, 4 for one, two, three channels with evidence."""
    return 1 << (len(channels) - 1)


def measured_bins(
    queries: Sequence[UnrelatedQuery],
) -> tuple[dict[str, tuple[LengthBin, ...]], dict[str, tuple[LengthBin, ...]]]:
    """Return the bins of each channel, and those of the fused values with and without vectors."""
    names = sorted(set(chain.from_iterable(map(attrgetter("lengths"), queries))))
    bins = {}
    for name in names:
        bins[name] = bin_values((query.lengths[name], query.best[name]) for query in queries if name in query.lengths)
    fused = {}
    for chosen in ([name for name in names if name != VECTOR], names):
        if len(chosen) > 1:
            fused[fusion(chosen)] = bin_values(filter(None, (_best_fused(query, bins, chosen) for query in queries)))
    return bins, fused


def _best_fused(
    query: UnrelatedQuery, bins: Mapping[str, Sequence[LengthBin]], chosen: Collection[str]
) -> tuple[int, float] | None:
    """Return the bin and the largest fused value of a query; None where it has no evidence in these channels."""
    present, rates = [], []
    for steps, (name, length) in zip(query.steps, query.lengths.items(), strict=True):
        if name in chosen:
            present.append(name)
            length_bin = bin_of(bins[name], length)
            if length_bin is not None:
                # at least 1: where its own bin is too small, the query is looked up among others
                rates.append(length_bin.counts(steps / STEPS_OF_VALUE).clip(1) / length_bin.n)
    if not rates:
        return None
    return fused_key(present), float(fused_values(rates, len(chosen)).max(initial=0.0))


def _undominated(steps: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return distinct columns; of those that differ in the last row alone, the one with the largest value there."""
    # thousands of documents become a few columns: what another one surpasses in every channel never decides the maximum
    columns = np.unique(steps.clip(0, STEPS_OF_VALUE).astype(np.uint8), axis=1)
    # np.unique sorts by the first row, then the next: columns equal up to the last row are neighbours, ascending
    last = np.ones(columns.shape[1], np.bool_)
    last[:-1] = (columns[:-1, 1:] != columns[:-1, :-1]).any(axis=0)
    return columns[:, last]
