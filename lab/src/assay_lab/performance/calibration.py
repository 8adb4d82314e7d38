"""Do calibrated false-positive rates hold?

The never-seen functions of `builtin:small` are split by module, again and again: 40 % calibrate, the others are
judged, as in `assay demo`. All of them are unseen, so whatever is flagged is a false positive. Over many splits the
mean says whether the rate is what it is said to be, and the quantiles how far a single one, the demo's, may be off.
"""

from collections.abc import Mapping

import numpy as np

from assay.datasets import split_by_group
from assay.demo import CALIBRATION_SHARE
from assay.evaluation import conformal_p_values
from assay.ground_truth import demo_functions
from assay.models import open_local
from assay.scores import requests
from assay.scoring import frequencies_for, plan, score_samples
from assay.types import Sample
from assay_lab.columns import at_places, id_column, text_column
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.mappings import numbered
from assay_lab.performance.subjects import frequencies_of

ALPHAS = (0.05, 0.1)
WITHIN = (0.05, 0.95)
"""Quantiles of the splits' rates."""


def rates(values: Mapping[str, np.ndarray], samples: list[Sample], splits: int) -> Mapping[str, np.ndarray]:
    """Score → float64 [splits, alphas]: the share of judged samples that is flagged."""
    place = numbered(id_column(samples))
    flagged = {name: np.zeros((splits, len(ALPHAS))) for name in values}
    shares = {"calibration": CALIBRATION_SHARE, "judged": 1 - CALIBRATION_SHARE}
    for split in range(splits):
        # by module: functions of one module are alike, and would make the judged ones look calibrated
        parts = split_by_group(samples, shares, seed=split)
        calibration = at_places(place, id_column(parts["calibration"]))
        judged = at_places(place, id_column(parts["judged"]))
        for name, column in values.items():
            p_values = conformal_p_values(column[judged], column[calibration])
            flagged[name][split] = (p_values[:, None] <= ALPHAS).mean(axis=0)
    return flagged


def run(scale: tuple[int | None, int], seed: int, data: Data) -> Result:
    """False positives of calibrated scores, over many splits of unseen text."""
    per_dose, splits = scale
    samples = list(demo_functions(per_dose).nonmembers)
    model = open_local("builtin:small", device="cpu")
    frequencies = frequencies_for(model, None) or frequencies_of(model, text_column(samples))
    requested = requests("one-pass,lowercase")
    values = score_samples(samples, plan(requested, {"target": model}, frequencies)).values
    rows = []
    for name, flagged in rates(values, samples, splits).items():
        described = list(map(described_rate, ALPHAS, flagged.T))
        rows.append({"score": name, "splits": splits, "functions": len(samples), "rates": described})
    return Result(rows)


def described_rate(alpha: float, shares: np.ndarray) -> dict[str, object]:
    """Return mean, spread and quantiles of the flagged shares of all splits."""
    return {
        "alpha": alpha,
        "mean": float(shares.mean()),
        "standard_deviation": float(shares.std(ddof=1)),
        "quantiles": np.quantile(shares, WITHIN).tolist(),
    }


EXPERIMENTS = (Experiment(name="performance/calibration", run=run, scales={"smoke": (20, 3), "full": (None, 500)}),)
