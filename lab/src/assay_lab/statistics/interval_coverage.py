"""How often does a 95 % interval hold the truth where samples come in groups?

Studies are drawn from known distributions: groups of unequal size whose samples share an effect, members and
non-members in separate groups or in the same. The part "choice" compares the methods, the part "confirmation" measures
the chosen method on other distributions, sizes, effects and seeds. Each cell says how many of its intervals hold
the true value and how wide they are on average. Resamples a study: 200.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import chain, product
from multiprocessing import get_context
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from assay.evaluation import GROUPS_FOR_INTERVAL, Estimate, Resamples, Sweep, auprc, auroc, rank_score, tpr_at_fpr
from assay_lab.evaluation.differences import auroc_of, paired_difference
from assay_lab.experiments.declaration import Data, Experiment, Result

Floats = NDArray[np.float64]

AUROCS, GROUPS = (0.5, 0.7, 0.9), (4, 10, 20, 50)
RESAMPLES = 200
LEVEL, TAIL = 0.95, 0.025
RATES = (0.01, 0.05)


@dataclass(frozen=True, slots=True)
class Family:
    """How the studies of one part are drawn.

    Attributes:
        part: "choice" or "confirmation".
        law: of group effects and of members' own variation; non-members' own variation is normal.
        effect: share of the variance that the samples of a group share.
        spread: standard deviation of the logarithm of the group sizes.
        seed: of the draws.
    """

    part: str
    law: str
    effect: float
    spread: float
    seed: int


FAMILIES = (
    Family(part="choice", law="normal", effect=0.3, spread=0.8, seed=1),
    Family(part="choice", law="skewed", effect=0.3, spread=0.8, seed=2),
    Family(part="confirmation", law="heavy-tailed", effect=0.15, spread=0.6, seed=101),
    Family(part="confirmation", law="lognormal", effect=0.4, spread=0.9, seed=102),
)
MEDIAN_SIZE = 3
SLOPE = 0.5
"""Of groups with both classes: standard deviation of the members' lead between groups, in units of the effect's."""
SECOND_NOISE = 0.6
"""The second score of a pair is the first with this much independent noise."""


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """One data set: two scores [n], truths [n] and groups [n]."""

    first: Floats
    second: Floats
    positive: NDArray[np.bool_]
    groups: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one row of the result is of."""

    family: Family
    shared: bool
    auroc: float
    groups: int


def deviates(random: np.random.Generator, law: str, size: int) -> Floats:
    """Mean 0 and variance 1."""
    if law == "skewed":
        return random.exponential(size=size) - 1
    if law == "heavy-tailed":
        # Student's distribution with four degrees of freedom has the variance 2
        return np.asarray(random.standard_t(4, size) / np.sqrt(2))
    if law == "lognormal":
        sigma = 0.7
        # of a lognormal: its mean is exp(σ²/2), its deviation that times √(exp(σ²) - 1)
        spread = np.sqrt(np.expm1(sigma**2)) * np.exp(sigma**2 / 2)
        return np.asarray((random.lognormal(0, sigma, size) - np.exp(sigma**2 / 2)) / spread)
    return random.standard_normal(size)


def study(random: np.random.Generator, cell: Cell, *, lead: float, sizes: Sequence[NDArray[np.intp]]) -> Study:
    """Members `lead` above non-members, in groups of these sizes (members', non-members')."""
    law, effect = cell.family.law, cell.family.effect
    members, others = (np.repeat(np.arange(len(size)), size) for size in sizes)
    common = deviates(random, law, len(sizes[1])) * np.sqrt(effect)
    own = common if cell.shared else deviates(random, law, len(sizes[0])) * np.sqrt(effect)
    slope = random.standard_normal(len(sizes[0])) * np.sqrt(effect) * SLOPE * (cell.shared and lead > 0)
    high = lead + (own + slope)[members] + deviates(random, law, len(members)) * np.sqrt(1 - effect)
    low = common[others] + random.standard_normal(len(others)) * np.sqrt(1 - effect)
    first = np.concatenate([high, low])
    if not cell.shared:
        others = others + len(sizes[0])
    noise = random.standard_normal(len(first)) * SECOND_NOISE
    return Study(
        first=first,
        second=first + noise,
        positive=np.arange(len(first)) < len(high),
        groups=np.concatenate([members, others]),
    )


def drawn_sizes(random: np.random.Generator, cell: Cell) -> list[NDArray[np.intp]]:
    """Group sizes of members and non-members, lognormal around `MEDIAN_SIZE`."""
    draws = random.lognormal(np.log(MEDIAN_SIZE), cell.family.spread, (2, cell.groups))
    return list(np.maximum(1, np.round(draws)).astype(np.intp))


@cache
def truth(family: Family, target: float, size: int, *, shared: bool) -> tuple[float, Mapping[str, float]]:
    """The lead that gives the AUROC, and the true value of every figure: of samples that are groups of their own."""
    cell, alone = Cell(family=family, shared=shared, auroc=target, groups=size), [np.ones(size, np.intp)] * 2

    def drawn(lead: float) -> Study:
        # in separate groups, so that no pair shares an effect
        members = study(np.random.default_rng(0), cell, lead=lead, sizes=alone)
        if not shared:
            return members
        others = study(np.random.default_rng(1), cell, lead=lead, sizes=alone)
        return replace(
            members,
            first=np.concatenate([members.first[:size], others.first[size:]]),
            second=np.concatenate([members.second[:size], others.second[size:]]),
        )

    # both classes have one distribution then, so the AUROC is 0.5 without a search
    if target == min(AUROCS) and family.law == "normal":
        return 0.0, figures_of(drawn(0.0))
    low, high = -2.0, 12.0
    # the AUROC rises with the lead: 16 halvings find it to 2e-4
    for _ in range(16):
        middle = (low + high) / 2
        at = drawn(middle)
        if auroc(at.first, at.positive) < target:
            low = middle
        else:
            high = middle
    lead = (low + high) / 2
    return lead, figures_of(drawn(lead))


def figures_of(data: Study) -> Mapping[str, float]:
    """Every figure of one study."""
    first, second = auroc(data.first, data.positive), auroc(data.second, data.positive)
    rates = {f"tpr at {rate:g}": tpr_at_fpr(data.first, data.positive, rate) for rate in RATES}
    return {"auroc": first, "auprc": auprc(data.first, data.positive), **rates, "difference": first - second}


def ours(data: Study) -> Mapping[str, Estimate]:
    """What assay says."""
    groups = data.groups.tolist()
    ranking = rank_score("first", data.first, data.positive, groups=groups, resamples=RESAMPLES)
    difference = paired_difference(data.first, data.second, positive=data.positive, groups=groups, resamples=RESAMPLES)
    rates = {f"tpr at {rate:g}": ranking.tpr_at_fpr[rate] for rate in RATES}
    return {"auroc": ranking.auroc, "auprc": ranking.auprc, **rates, "difference": difference.estimate}


def rivals(found: Study) -> Mapping[str, tuple[float, float]]:
    """Intervals of the AUROC by other methods."""
    sweep = Sweep.over(found.first, found.positive)
    draws = Resamples.of(found.groups.tolist(), found.positive, resamples=RESAMPLES)
    replicates = np.concatenate(list(map(partial(auroc_of, sweep), draws.weights())))
    replicates = replicates[~np.isnan(replicates)]
    names = np.unique(found.groups)
    # a row of weights for each group that is left out
    without = auroc_of(sweep, (found.groups[None, :] != names[:, None]).astype(np.float64))
    value = float(auroc_of(sweep, np.ones((1, len(found.first))))[0])
    return {
        "percentile": tuple(np.quantile(replicates, (TAIL, 1 - TAIL))),
        "BCa": _bca(value, replicates, without),
        "jackknife t, logit": _jackknife(value, without, found),
    }


def _bca(value: float, replicates: Floats, without: Floats) -> tuple[float, float]:
    """Bias-corrected and accelerated (Efron 1987)."""
    influence = np.nanmean(without) - without[~np.isnan(without)]
    cubes, squares = (influence**3).sum(), (influence**2).sum()
    acceleration = cubes / (6 * squares**1.5) if squares else 0.0
    # replicates that equal the value count half
    below = ((replicates < value).mean() + (replicates <= value).mean()) / 2
    # clipped, because a share of 0 or 1 has no finite deviate
    bias = ndtri(np.clip(below, 1e-3, 1 - 1e-3))
    ends = bias + ndtri([TAIL, 1 - TAIL])
    low, high = np.quantile(replicates, ndtr(bias + ends / (1 - acceleration * ends)))
    return float(low), float(high)


def _jackknife(value: float, without: Floats, found: Study) -> tuple[float, float]:
    """Leave one group out; Student's quantile of the fewest groups less one, on the logit scale."""
    known = without[~np.isnan(without)]
    error = np.sqrt(((known - value) ** 2).sum() * (len(known) - 1) / len(known))
    fewest = min(len(np.unique(found.groups[side])) for side in (found.positive, ~found.positive))
    if not 0 < value < 1:
        return value, value
    # by the delta method: the derivative of the logit is 1 / (p (1 - p))
    half = stdtrit(fewest - 1, 1 - TAIL) * error / (value * (1 - value))
    return float(expit(logit(value) - half)), float(expit(logit(value) + half))


def measure(cell: Cell, studies: int, size: int) -> list[dict[str, Any]]:
    """One row a method and figure."""
    lead, true = truth(cell.family, cell.auroc, size, shared=cell.shared)
    # seeded by the cell, so that no process and no order of the pool changes its draws
    random = np.random.default_rng([cell.family.seed, cell.shared, round(100 * cell.auroc), cell.groups])
    intervals: defaultdict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for _ in range(studies):
        at = study(random, cell, lead=lead, sizes=drawn_sizes(random, cell))
        for figure, estimate in ours(at).items():
            intervals["assay", figure].append((estimate.low, estimate.high))
        others = rivals(at) if cell.family.part == "choice" else {}
        for method, ends in others.items():
            intervals[method, "auroc"].append(ends)
    about = asdict(cell.family) | {"shared": cell.shared, "auroc": cell.auroc, "groups": cell.groups}
    del about["seed"]
    rows = []
    for (method, figure), ends_of_all in intervals.items():
        summary = _summary(np.array(ends_of_all), true[figure])
        rows.append({**about, "method": method, "figure": figure, "true": true[figure], **summary})
    return rows


def _summary(ends: Floats, true: float) -> dict[str, Any]:
    bounded = ends[~np.isnan(ends).any(axis=1)]
    if not len(bounded):
        return {"studies": len(ends), "intervals": 0, "coverage": None, "above": None, "below": None, "width": None}
    return {
        "studies": len(ends),
        "intervals": len(bounded),
        "coverage": float(((bounded[:, 0] <= true) & (true <= bounded[:, 1])).mean()),
        "above": float((bounded[:, 0] > true).mean()),
        "below": float((bounded[:, 1] < true).mean()),
        "width": float((bounded[:, 1] - bounded[:, 0]).mean()),
    }


def cells(sizes: Sequence[int], targets: Sequence[float]) -> Iterator[Cell]:
    """All cells, the largest first."""
    # the longest tasks begin first, so that no worker is left with one at the end
    largest_first = sorted(sizes, reverse=True)
    for groups, family, shared, target in product(largest_first, FAMILIES, (False, True), targets):
        if groups >= GROUPS_FOR_INTERVAL or family.part == "choice":
            yield Cell(family=family, shared=shared, auroc=target, groups=groups)


def run(scale: tuple[tuple[int, ...], tuple[float, ...], int, int], seed: int, data: Data) -> Result:
    """How often does a 95 % interval hold the truth where samples come in groups?"""
    sizes, targets, studies, size = scale
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(measure, cell, studies=studies, size=size) for cell in cells(sizes, targets)]
        return Result(list(chain.from_iterable(map(methodcaller("result"), tasks))))


EXPERIMENTS = (
    Experiment(
        name="statistics/interval_coverage",
        run=run,
        scales={"smoke": ((10,), (0.7,), 3, 2000), "full": (GROUPS, AUROCS, 300, 100_000)},
    ),
)
