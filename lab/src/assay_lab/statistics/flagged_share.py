"""How often is a clean benchmark accused, and how often does the interval of the flagged share hold the truth?

Benchmarks of 164 and 1,140 samples are compared with 100 and 1,000 unseen texts. Scores are normal; texts of a package
share a part of theirs. A leak moves a share of the samples by two standard deviations. Each row says how often each
rule fires, how often the interval of `flagged` holds its true value, and how often the lower bound of the seen share is
above the truth.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from assay.evaluation import FlagRate, UnseenTail, conformal_p_values, flag_rate, seen_share_bound
from assay_lab.experiments.declaration import Data, Experiment, Result

ALPHA, SHIFT = 0.05, 2.0
LEVELS = (ALPHA, 0.5)
LARGE_BOUND = 0.1


@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of study.

    Attributes:
        unseen: number of unseen texts.
        samples: of the benchmark.
        packages: groups of the unseen texts; 0: every text is independent.
        groups: of the benchmark; 0: every sample is independent.
        effect: share of the variance that texts of a group have in common.
        leaked: share of the benchmark that leaked.
    """

    unseen: int
    samples: int
    packages: int = 0
    groups: int = 0
    effect: float = 0.0
    leaked: float = 0.0


def settings(sizes: Sequence[int]) -> Iterator[Setting]:
    """Clean benchmarks first, then leaked ones."""
    for leaked in (0.0, 0.3):
        for unseen in (100, 1000):
            for samples in sizes:
                yield Setting(unseen, samples, leaked=leaked)
                yield Setting(unseen, samples, packages=30, effect=0.2, leaked=leaked)
                yield Setting(unseen, samples, packages=30, groups=samples // 8, effect=0.2, leaked=leaked)


def draw(random: np.random.Generator, size: int, groups: int, effect: float) -> tuple[NDArray[np.float64], list[int]]:
    """Return standard normal scores [size] and the group of each."""
    if not groups:
        return random.standard_normal(size), list(range(size))
    members = np.arange(size) % groups
    # texts of a group share a part of their score; the variance of a text stays 1
    common = random.standard_normal(groups)[members] * np.sqrt(effect)
    return common + random.standard_normal(size) * np.sqrt(1 - effect), members.tolist()


def rates(random: np.random.Generator, setting: Setting) -> tuple[FlagRate, FlagRate, FlagRate]:
    """Return what one study flags at both levels, and at the first level with every text counted as independent."""
    unseen, packages = draw(random, setting.unseen, setting.packages, effect=setting.effect)
    scores, groups = draw(random, setting.samples, setting.groups, effect=setting.effect)
    scores = scores + SHIFT * (random.random(setting.samples) < setting.leaked)
    p_values = conformal_p_values(scores, unseen)
    by_level = [
        flag_rate(p_values, level, groups=groups, unseen=UnseenTail.of(unseen, packages, level)) for level in LEVELS
    ]
    return by_level[0], by_level[1], flag_rate(p_values, ALPHA, unseen=setting.unseen)


def measure(setting: Setting, studies: int, seed: int) -> dict[str, object]:
    """Return the row of one setting."""
    key = [setting.unseen, setting.samples, setting.packages, setting.groups]
    if seed:
        key.append(seed)
    random = np.random.default_rng(key)
    # a leaked score is normal around SHIFT: it passes the threshold with the chance Φ(Φ⁻¹(α) + SHIFT)
    truth = (1 - setting.leaked) * ALPHA + setting.leaked * float(ndtr(ndtri(ALPHA) + SHIFT))
    totals: defaultdict[str, float] = defaultdict(float)
    for _ in range(studies):
        strict, half, independent = rates(random, setting)
        bound = seen_share_bound([strict, half])
        totals["low"] += strict.rate.low > ALPHA
        totals["p_value"] += strict.p_value < ALPHA
        totals["p_value_independent"] += independent.p_value < ALPHA
        totals["covered"] += strict.rate.low <= truth <= strict.rate.high
        totals["width"] += strict.rate.high - strict.rate.low
        totals["bound"] += bound > setting.leaked
        totals["large_bound"] += bound > setting.leaked + LARGE_BOUND
    return {**asdict(setting), "studies": studies} | {name: total / studies for name, total in totals.items()}


def run(scale: tuple[tuple[int, ...], int], seed: int, data: Data) -> Result:
    """How often is a clean benchmark accused, and how often does the interval of the flagged share hold the truth?"""
    sizes, studies = scale
    return Result([measure(setting, studies, seed) for setting in settings(sizes)])


EXPERIMENTS = (
    Experiment(name="statistics/flagged_share", run=run, scales={"smoke": ((164,), 5), "full": ((164, 1140), 1000)}),
)
