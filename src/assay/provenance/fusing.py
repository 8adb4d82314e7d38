"""One value from the evidence of all channels, with one rate that is measured for it.

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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.provenance.length_bins import STEPS_OF_VALUE, LengthBin, bin_of, binned
from assay.types import Float64Array

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
        best = {name: float(column.max(initial=0.0)) for name, (_, column) in values.items()}
        steps = np.stack([np.floor(column * STEPS_OF_VALUE + 1e-9) for _, column in values.values()])
        return cls({name: length for name, (length, _) in values.items()}, best, _undominated(steps))


def fusion(channels: Iterable[str]) -> str:
    """Return the name of the fused value of these channels."""
    return "+".join(sorted(channels))


def fused_values(rates: Sequence[Float64Array], channels: int) -> Float64Array:
    """Return the fused values from 0 to 1, [c].

    Args:
        rates: of the channels in which the query has evidence, each [c].
        channels: of the search; the others count as a rate of 1.
    """
    decades: Float64Array = -np.sum([np.log10(of_channel) for of_channel in rates], axis=0)
    return (decades / (channels * MOST_DECADES)).clip(0.0, 1.0)


def fused_key(channels: Collection[str]) -> int:
    """Return the length by which fused values are binned: 1, 2, 4 for one, two, three channels with evidence."""
    return 1 << (len(channels) - 1)


def measured_bins(
    queries: Sequence[UnrelatedQuery],
) -> tuple[dict[str, tuple[LengthBin, ...]], dict[str, tuple[LengthBin, ...]]]:
    """Return the bins of each channel, and those of the fused values with and without vectors."""
    names = sorted({name for query in queries for name in query.lengths})
    bins = {
        name: binned((query.lengths[name], query.best[name]) for query in queries if name in query.lengths)
        for name in names
    }
    combinations = {fusion(chosen): chosen for chosen in ([name for name in names if name != VECTOR], names)}
    return bins, {
        fusion_name: binned(pair for query in queries if (pair := _best_fused(query, bins, chosen)))
        for fusion_name, chosen in combinations.items()
        if len(chosen) > 1
    }


def _best_fused(
    query: UnrelatedQuery, bins: Mapping[str, Sequence[LengthBin]], chosen: Collection[str]
) -> tuple[int, float] | None:
    """Return the bin and the largest fused value of a query; None where it has no evidence in these channels."""
    rates = []
    for row, (name, length) in enumerate(query.lengths.items()):
        length_bin = bin_of(bins[name], length) if name in chosen else None
        if length_bin is not None:
            # at least 1: where its own bin is too small, the query is looked up among others
            counts = length_bin.counts(query.steps[row] / STEPS_OF_VALUE).clip(1)
            rates.append(counts / length_bin.n)
    present = [name for name in query.lengths if name in chosen]
    if not rates or not present:
        return None
    return fused_key(present), float(fused_values(rates, len(chosen)).max(initial=0.0))


def _undominated(steps: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return distinct columns; of those that differ in the last row alone, the one with the largest value there."""
    columns = np.unique(steps.clip(0, STEPS_OF_VALUE).astype(np.uint8), axis=1)
    # np.unique sorts by the first row, then the next: columns equal up to the last row are neighbours, ascending
    last = np.ones(columns.shape[1], np.bool_)
    last[:-1] = (columns[:-1, 1:] != columns[:-1, :-1]).any(axis=0)
    return columns[:, last]
