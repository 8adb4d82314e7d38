"""A test of a whole benchmark: one p-value, against text that was certainly not seen.

A difference too weak to flag any sample may show in all of them together. The statistic is Wilcoxon's: the difference
of the mean ranks of both sets, over its standard error. Samples of a group (package, task, project) are not
independent, so a group counts once in the standard error (Liang and Zeger 1986) and is permuted as one; where a group
has samples on both sides, they are permuted within it. Studentising keeps the level where groups differ in size from
side to side (Janssen 1997; Chung and Romano 2013).

A few texts that were seen often lift the mean rank little, but they fill the top of the ranking. With `top` the
statistic is the larger of two, the second being the difference of the shares of both sets among the highest `top` of
all texts, over its own standard error. Both are computed on the same permutations, so the level holds.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import DataError
from assay.evaluation.arrays import Indices, group_codes, scorable
from assay.types import BooleanArray, Float64Array

PERMUTATIONS = 1999
TOP = 0.1
"""Part of the ranking whose share is the second statistic."""
MINIMUM_GROUPS = 5
"""On either side: with fewer a standard error over groups is not reliable."""
SIDES_AT_ONCE = 1 << 19
"""Labels of sides in memory at a time, so that memory does not grow with the number of permutations."""


@dataclass(frozen=True, slots=True)
class SetTest:
    """Result of the comparison of a whole benchmark with unseen text.

    Attributes:
        p_value: one-sided, of scores this much higher if the benchmark was not seen either; NaN with too few groups.
        superiority: probability that a sample of the benchmark scores above an unseen text, ties counting half; by
            chance .5.
        samples: of the benchmark, with a score; `groups` is the number of their groups.
        unseen: unseen texts with a score; `unseen_groups` likewise.
    """

    p_value: float
    superiority: float
    samples: int
    groups: int
    unseen: int
    unseen_groups: int


def set_test(
    scores: ArrayLike,
    unseen_scores: ArrayLike,
    groups: Sequence[Hashable],
    unseen_groups: Sequence[Hashable],
    *,
    top: float = 0.0,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> SetTest:
    """Test whether a benchmark scores higher than text certainly not seen.

    Args:
        scores: [n], higher = seen; NaN (unscorable) is left out.
        unseen_scores: [m], the same score of unseen text of the same kind.
        groups: [n], samples of one group are not independent; None is a group of its own. A group may be on both sides.
        unseen_groups: [m].
        top: also compare the shares among so large a part of the highest ranks; 0 compares mean ranks alone.
        permutations: behind the p-value, which is at least 1 / (permutations + 1).
        seed: of the permutations.

    Raises:
        DataError: an array is not one-dimensional or holds an infinity, lengths differ, permutations below 1, or a
            `top` outside 0 and 1.
    """
    from scipy.stats import rankdata  # noqa: PLC0415  slow to import, needed only here

    values, unseen = scorable(scores), scorable(unseen_scores, "unseen scores")
    if not 0 <= top < 1:
        raise DataError(f"a top part of {top:g}; expected at least 0 and below 1")
    if permutations < 1:
        raise DataError(f"{permutations} permutations; expected at least 1")
    if len(groups) != len(values):
        raise DataError(f"{len(groups)} groups for {len(values)} scores; expected one group a score")
    pooled = np.concatenate([values, unseen])
    codes = group_codes([*groups, *unseen_groups], len(pooled))
    scored = ~np.isnan(pooled)
    codes = np.unique(codes[scored], return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    group, ranks = codes[order], rankdata(pooled[scored])[order]
    inside = (np.arange(len(pooled)) < len(values))[scored][order]
    counts = tuple(len(np.unique(group[side])) for side in (inside, ~inside))
    n, m = int(inside.sum()), int((~inside).sum())
    superiority = float((ranks[inside].mean() - (n + 1) / 2) / m) if n and m else np.nan
    p_value = np.nan
    if min(counts) >= MINIMUM_GROUPS:
        # samples are sorted by group, so a group is a stretch and its sum one `reduceat`
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        compared = [ranks]
        if top:
            compared.append((ranks > len(ranks) * (1 - top)).astype(np.float64))

        def statistic(sides: BooleanArray) -> Float64Array:
            largest: Float64Array = np.max([studentised(sides, values, starts) for values in compared], axis=0)
            return largest

        observed = statistic(inside[None, :])[0]
        random = np.random.default_rng(seed)
        # in blocks, so that memory does not grow with the number of permutations
        reached, left, most = 0, permutations, max(1, SIDES_AT_ONCE // len(ranks))
        while left:
            drawn = min(left, most)
            statistics = statistic(permuted(inside, group=group, count=drawn, random=random))
            # a tie counts as reached, whatever rounding makes of it
            reached += int((statistics >= observed - 1e-12).sum())
            left -= drawn
        p_value = (1 + reached) / (permutations + 1)
    return SetTest(p_value, superiority=superiority, samples=n, groups=counts[0], unseen=m, unseen_groups=counts[1])


def studentised(inside: BooleanArray, values: Float64Array, starts: Indices) -> Float64Array:
    """Return the difference of means over its standard error by group, for each row of sides [r, n].

    Samples are ordered by group; `starts` is where each group begins. Without any spread a difference is infinite.
    """
    n = inside.sum(axis=1)[:, None]
    m = inside.shape[1] - n
    mean_in, mean_out = (inside @ values)[:, None] / n, (~inside @ values)[:, None] / m
    # what each sample adds to the difference of means; summed by group, their squares give its variance
    influence = np.where(inside, (values - mean_in) / n, (mean_out - values) / m)
    spread = np.sqrt((np.add.reduceat(influence, starts, axis=1) ** 2).sum(axis=1))
    difference = (mean_in - mean_out)[:, 0]
    surest = np.where(difference, np.copysign(np.inf, difference), 0.0)
    errors: Float64Array = np.divide(difference, spread, out=surest, where=spread > 0)
    return errors


def permuted(inside: BooleanArray, group: Indices, count: int, random: np.random.Generator) -> BooleanArray:
    """Return sides [count, n] with whole groups swapped, and samples swapped within groups that are on both sides."""
    sizes = np.bincount(group)
    of_set = np.bincount(group, weights=inside)
    pure = (of_set == 0) | (of_set == sizes)
    sides = np.zeros((count, len(sizes)), np.bool_)
    # a group of one set changes sides as a whole; the rows keep the number of groups of each side
    sides[:, pure] = random.permuted(np.tile(of_set[pure] > 0, (count, 1)), axis=1)
    drawn = sides[:, group]
    for mixed in np.flatnonzero(~pure):
        samples = group == mixed
        drawn[:, samples] = random.permuted(np.tile(inside[samples], (count, 1)), axis=1)
    return drawn
