"""Do calibrated false-positive rates hold? About half a minute.

    python benchmarks/bench_calibration.py [--repeats 500]

The never-seen functions of `builtin:small` are split by module, again and again: 40 % calibrate, the others are
judged, as in `assay demo`. All of them are unseen, so whatever is flagged is a false positive. Over many splits the
mean says whether the rate is what it is said to be, and the quantiles how far a single one, the demo's, may be off.
"""

import time
from collections.abc import Mapping

import numpy as np
from measuring import arguments, write
from subjects import frequencies_of

from assay.api.selection import frequencies_for
from assay.datasets import split_by_group
from assay.evaluation.calibration import conformal_p_values
from assay.models import open_local
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.testbed.demo import CALIBRATION_SHARE, demo_functions
from assay.types import Sample

ALPHAS = (0.05, 0.1)
SPLITS, SMOKE_SPLITS = 500, 3
SMOKE_PER_DOSE = 20
WITHIN = (0.05, 0.95)
"""Quantiles of the splits' rates."""


def rates(values: Mapping[str, np.ndarray], samples: list[Sample], splits: int) -> Mapping[str, np.ndarray]:
    """Score → float64 [splits, alphas]: the share of judged samples that is flagged."""
    place = {sample.id: index for index, sample in enumerate(samples)}
    found: dict[str, list[list[float]]] = {name: [] for name in values}
    for seed in range(splits):
        shares = {"calibration": CALIBRATION_SHARE, "judged": 1 - CALIBRATION_SHARE}
        parts = split_by_group(samples, shares, seed=seed)
        calibration, judged = ([place[sample.id] for sample in parts[part]] for part in shares)
        for name, column in values.items():
            p_values = conformal_p_values(column[judged], column[calibration])
            found[name].append([float(np.mean(p_values <= alpha)) for alpha in ALPHAS])
    return {name: np.array(rows) for name, rows in found.items()}


def main() -> None:
    """Measure and write."""
    began = time.perf_counter()
    options = arguments(__doc__)
    samples = list(demo_functions(SMOKE_PER_DOSE if options.smoke else None).nonmembers)
    model = open_local("builtin:small", device=options.device)
    frequencies = frequencies_for(model, None) or frequencies_of(model, [sample.text for sample in samples])
    requested = requests("one-pass,lowercase")
    values = score_samples(samples, plan(requested, {"target": model}, frequencies)).values
    splits = options.repeats or (SMOKE_SPLITS if options.smoke else SPLITS)
    results = [
        {
            "score": name,
            "splits": splits,
            "functions": len(samples),
            "rates": [
                {
                    "alpha": alpha,
                    "mean": float(rows[:, column].mean()),
                    "standard_deviation": float(rows[:, column].std(ddof=1)),
                    "quantiles": [float(value) for value in np.quantile(rows[:, column], WITHIN)],
                }
                for column, alpha in enumerate(ALPHAS)
            ],
        }
        for name, rows in rates(values, samples, splits).items()
    ]
    for result in results:
        print(result["score"], result["rates"])
    print(write("calibration", options, results, began))


if __name__ == "__main__":
    main()
