"""How many functions, seen how often, does the test of a whole set need? Do more variants help strict-min?

Sets of functions that `builtin:small` saw a known number of times are held against never-seen functions of other
modules, drawn anew each time; dose 0 is the null. Then never-seen functions alone: how many the paper's strict rule
flags where the easiest of 5, 10, 20 or 40 variants counts, which is as natural as the names of that many get.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.code import variants
from assay.demo import CALIBRATION_SHARE
from assay.evaluation import set_test
from assay.ground_truth import demo_functions
from assay.models import TransformersModel, open_local
from assay.scores import mid_pit
from assay.types import Sample
from assay_lab.columns import group_column, text_column
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result

SIZES = (5, 10, 20, 40)
ALPHA, PERMUTATIONS = 0.05, 99
MADE, LONGEST = (5, 10, 20, 40), 700


def power(samples: Sequence[Sample], scores: NDArray[np.float64], repeats: int) -> list[dict[str, Any]]:
    """Share of sets called leaked, by dose and size."""
    groups = np.array(group_column(samples))
    doses = np.array([sample.metadata["dose"] for sample in samples])
    names = np.unique(groups[doses == 0])
    rows = []
    for dose, size in product(np.unique(doses).tolist(), SIZES):
        # dose 0 is judged on the modules that do not calibrate, so it is a true null
        random, significant = np.random.default_rng([dose, size]), 0
        for turn in range(repeats):
            calibrates = np.isin(groups, random.permutation(names)[: round(CALIBRATION_SHARE * len(names))])
            unseen = np.flatnonzero((doses == 0) & calibrates)
            pool = np.flatnonzero((doses == dose) & ((dose != 0) | ~calibrates))
            drawn = random.permutation(pool)[:size]
            result = set_test(
                scores[drawn],
                scores[unseen],
                groups=groups[drawn].tolist(),
                unseen_groups=groups[unseen].tolist(),
                permutations=PERMUTATIONS,
                seed=turn,
            )
            significant += bool(result.p_value <= ALPHA)
        rows.append({"dose": dose, "size": size, "sets": repeats, "found": ends(significant, repeats)})
    return rows


def ends(count: int, total: int) -> list[float]:
    """Return a share and the ends of its interval."""
    share = wilson(count, total)
    return [share.value, share.low, share.high]


def strict_min(samples: Sequence[Sample], model: TransformersModel, functions: int) -> list[dict[str, Any]]:
    """Share of never-seen functions that are easier than the easiest variant, by the number of variants."""
    flagged, judged = dict.fromkeys(MADE, 0), 0
    for sample in samples:
        if judged == functions or sample.metadata["dose"] or len(sample.text) > LONGEST:
            continue
        rewritings = variants(sample.text, max(MADE)).variants
        # fewer variants would judge some counts on other functions than the rest
        if len(rewritings) < max(MADE):
            continue
        own, *others = mean_nlls([sample.text, *text_column(rewritings)], model)
        judged += 1
        for count in MADE:
            flagged[count] += own < min(others[:count])
    rows = []
    for count, below in flagged.items():
        # chance: an original that is like its variants is the easiest of all with 1 / (count + 1)
        rows.append({"made": count, "functions": judged, "flagged": ends(below, judged), "chance": 1 / (count + 1)})
    return rows


def mean_nlls(texts: Sequence[str], model: TransformersModel) -> list[float]:
    """Return the mean negative log-likelihood of each text."""
    return [-float(statistics.log_probs.mean()) for statistics in model.token_statistics(texts)]


def run(scale: tuple[int, int, int], seed: int, data: Data) -> Result:
    """How many functions, seen how often, does the test of a whole set need? Do more variants help strict-min?"""
    per_dose, repeats, functions = scale
    samples = demo_functions(per_dose).samples
    model = open_local("builtin:small", device="cpu")
    statistics = model.token_statistics(text_column(samples))
    scores = np.array(list(map(mid_pit.function, statistics)))
    return Result(
        [
            {"part": "power", "rows": power(samples, scores, repeats)},
            {"part": "strict-min", "rows": strict_min(samples, model, functions)},
        ]
    )


EXPERIMENTS = (Experiment(name="statistics/set_power", run=run, scales={"smoke": (6, 2, 1), "full": (60, 60, 60)}),)
