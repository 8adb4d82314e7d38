"""How many functions, seen how often, does the test of a whole set need? Do more variants help strict-min?

Sets of functions that `builtin:small` saw a known number of times are held against never-seen functions of other
modules, drawn anew each time; dose 0 is the null. Then never-seen functions alone: how many the paper's strict rule
flags where the easiest of 5, 10, 20 or 40 variants counts, which is as natural as the names of that many get.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.code import variants
from assay.evaluation import set_test
from assay.ground_truth import demo_functions
from assay.ground_truth.demo import CALIBRATION_SHARE
from assay.models import TransformersModel, open_local
from assay.scores import mid_pit
from assay.types import Sample
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import Data, Experiment, Result

SIZES = (5, 10, 20, 40)
ALPHA, PERMUTATIONS = 0.05, 99
MADE, LONGEST = (5, 10, 20, 40), 700


def power(samples: Sequence[Sample], scores: NDArray[np.float64], repeats: int) -> list[dict[str, Any]]:
    """Share of sets called leaked, by dose and size."""
    groups = np.array([sample.group for sample in samples])
    doses = np.array([sample.metadata["dose"] for sample in samples])
    names = np.unique(groups[doses == 0])
    rows = []
    for dose in np.unique(doses).tolist():
        for size in SIZES:
            random, found = np.random.default_rng([dose, size]), 0
            for turn in range(repeats):
                calibrates = np.isin(groups, random.permutation(names)[: round(CALIBRATION_SHARE * len(names))])
                known = np.flatnonzero((doses == 0) & calibrates)
                pool = np.flatnonzero((doses == dose) & ((dose != 0) | ~calibrates))
                drawn = random.permutation(pool)[:size]
                labels = groups[drawn].tolist(), groups[known].tolist()
                one = set_test(scores[drawn], scores[known], *labels, permutations=PERMUTATIONS, seed=turn)
                found += one.p_value <= ALPHA
            share = wilson(int(found), repeats)
            rows.append({"dose": dose, "size": size, "sets": repeats, "found": [share.value, share.low, share.high]})
    return rows


def strict_min(samples: Sequence[Sample], model: TransformersModel, functions: int) -> list[dict[str, Any]]:
    """Share of never-seen functions that are easier than the easiest variant, by the number of variants."""
    flagged, held = dict.fromkeys(MADE, 0), 0
    for sample in samples:
        if held == functions or sample.metadata["dose"] or len(sample.text) > LONGEST:
            continue
        made = variants(sample.text, max(MADE)).variants
        if len(made) < max(MADE):
            continue
        texts = [sample.text, *(one.text for one in made)]
        nll = [-float(one.log_probs.mean()) for one in model.token_statistics(texts)]
        held += 1
        for count in MADE:
            flagged[count] += nll[0] < min(nll[1 : 1 + count])
    shares = {count: wilson(found, held) for count, found in flagged.items()}
    return [
        {"made": count, "functions": held, "flagged": [one.value, one.low, one.high], "chance": 1 / (count + 1)}
        for count, one in shares.items()
    ]


def run(scale: tuple[int, int, int], seed: int, data: Data) -> Result:
    """How many functions, seen how often, does the test of a whole set need? Do more variants help strict-min?"""
    per_dose, repeats, functions = scale
    samples = demo_functions(per_dose).samples
    model = open_local("builtin:small", device="cpu")
    scores = np.array([mid_pit.function(one) for one in model.token_statistics([sample.text for sample in samples])])
    return Result(
        [
            {"part": "power", "rows": power(samples, scores, repeats)},
            {"part": "strict-min", "rows": strict_min(samples, model, functions)},
        ]
    )


EXPERIMENTS = (Experiment(name="statistics/set_power", run=run, scales={"smoke": (6, 2, 1), "full": (60, 60, 60)}),)
