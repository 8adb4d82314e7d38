"""Preference for the fix: does a model find the fixed text likelier than the buggy one?

A bug is a pair, so every pair is its own control: topic, length and project are the same on both sides. The preference
is the mean log-likelihood of a token of the fixed text minus that of the buggy text. Correct code is likelier than
buggy code even for a model that never saw either. So the preference of a reference model, or of the pairs that the
corpus does not contain, is what a model's preference has to be compared with.

Source: arXiv:2601.10496, which groups the preference of a model by what its training corpus contains.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from assay.evaluation import Estimate, grouped_bootstrap, grouped_share, unknown
from assay.types import Float64Array
from assay_lab.bugs.exposure import EXPOSURES, Exposure


@dataclass(frozen=True, slots=True)
class Preference:
    """Preference for the fix over a set of bugs.

    Attributes:
        pairs: bugs with a value on both sides.
        share: share of them whose fixed side is likelier, ties left out; chance is .5.
        mean: mean preference, nats a token.
    """

    pairs: int
    share: Estimate
    mean: Estimate


def preferences(
    values: Float64Array, groups: Sequence[str | None], exposed: Sequence[Exposure] | None = None
) -> Mapping[str, Preference]:
    """Return the preference over all bugs, and for each exposure that has bugs.

    Args:
        values: float64 [bugs], preference for the fix; NaN where a side has no value.
        groups: [bugs], bugs of one project are not independent.
        exposed: [bugs], the exposure of each; None where no index was searched.
    """
    every = {"all": preference(values, groups)}
    if exposed is None:
        return every
    kinds = np.array(exposed)
    for kind in EXPOSURES:
        if kind in exposed:
            every[kind] = preference(values[kinds == kind], list(compress(groups, kinds == kind)))
    return every


def preference(values: Float64Array, groups: Sequence[str | None]) -> Preference:
    """Return the preference over a set of bugs; arguments as `preferences`."""
    is_scored = ~np.isnan(values)
    if not is_scored.any():
        return Preference(0, unknown(), unknown())
    scored, of_scored = values[is_scored], list(compress(groups, is_scored))
    # a tie prefers neither side
    decided = scored != 0
    share = grouped_share(scored[decided] > 0, list(compress(of_scored, decided)))
    return Preference(len(scored), share, mean_of(scored, of_scored))


def mean_of(values: Float64Array, groups: Sequence[str | None]) -> Estimate:
    """Return the mean of values [n] with an interval over their groups [n]; NaN values are left out."""
    is_scored = ~np.isnan(values)
    if not is_scored.any():
        return Estimate(math.nan, math.nan, math.nan, reason="not measured")
    scored = values[is_scored]

    def weighted(weights: Float64Array) -> Float64Array:
        total = weights.sum(axis=1, keepdims=True)
        return (weights @ scored)[:, None] / np.where(total > 0, total, np.nan)

    return grouped_bootstrap(weighted, list(compress(groups, is_scored)))[0]
