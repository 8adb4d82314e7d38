"""False positives when unseen text and clean samples differ in length, with plain p-values and with weights by length.

Functions that `builtin:small` never saw are split into calibration and judged texts, so nothing judged has leaked. The
chance that a function is judged rises with its length: logistic in standard deviations of log characters, with the
given slope; the last split judges the longer half.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

import assay
from assay.evaluation import conformal_p_values, density_ratio, weighted_p_values
from assay.ground_truth import known_dose_functions
from assay.types import BooleanArray, Float64Array
from assay_lab.columns import text_column
from assay_lab.experiments.declaration import Data, Experiment, Result

SCORES = ("mid_pit", "min_k_plus_plus", "gap_k", "loss", "min_k", "zlib")
SLOPES = (0.0, 1.0, 2.0, 4.0)
ALPHAS = (0.05, 0.1)


KEYS = ("plain_at_0.05", "plain_at_0.1", "weighted_at_0.05", "weighted_at_0.1")
"""False positives by p-values and level, in the order of `false_positives`."""


def run(scale: tuple[int | None, int], seed: int, data: Data) -> Result:
    """False positives when unseen text and clean samples differ in length, without and with weights by length."""
    most, repeats = scale
    samples = [sample for sample in known_dose_functions().samples if not sample.metadata["dose"]][:most]
    table = assay.score("builtin:small", samples, ",".join(SCORES), progress=False).to_arrow()
    values = {name: table[name].to_numpy(zero_copy_only=False) for name in SCORES}
    lengths = np.log(list(map(len, text_column(samples))))
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for slope in (*SLOPES, None):
        # the longer half is no draw: one split says all
        splits = [judged_by_length(lengths, slope, random) for _ in range(repeats if slope is not None else 1)]
        sizes, shares = false_positives(values, lengths[:, None], splits)
        for name in SCORES:
            row = {
                "slope": "longer half" if slope is None else slope,
                "score": name,
                "draws": len(splits),
                "texts": len(samples),
                "effective_unseen": float(np.mean(sizes)),
            }
            means = np.mean(shares[name], axis=0).tolist()
            rows.append(row | dict(zip(KEYS, means, strict=True)))
    return Result(rows)


def judged_by_length(lengths: Float64Array, slope: float | None, random: np.random.Generator) -> BooleanArray:
    """Draw the texts that are judged, bool [texts].

    Args:
        lengths: logarithms of the characters.
        slope: of the chance in standard deviations; None judges the longer half.
        random: of the draw.
    """
    standard = (lengths - lengths.mean()) / lengths.std()
    if slope is None:
        longer: BooleanArray = standard > np.median(standard)
        return longer
    judged: BooleanArray = random.random(len(lengths)) < 1 / (1 + np.exp(-slope * standard))
    return judged


def false_positives(
    values: Mapping[str, Float64Array], features: Float64Array, splits: Sequence[BooleanArray]
) -> tuple[list[float], dict[str, list[list[float]]]]:
    """Return the effective number of unseen texts of each split, and score → shares that are flagged, [splits, 4]."""
    sizes = []
    shares: dict[str, list[list[float]]] = {name: [] for name in values}
    for judged in splits:
        ratio = density_ratio(features[judged], features[~judged], range(len(judged)))
        sizes.append(ratio.effective_unseen)
        for name, column in values.items():
            own, unseen = column[judged], column[~judged]
            ways = conformal_p_values(own, unseen), weighted_p_values(own, unseen, ratio)
            shares[name].append([float(np.mean(p_values <= alpha)) for p_values, alpha in product(ways, ALPHAS)])
    return sizes, shares


EXPERIMENTS = (Experiment(name="statistics/length_shift", run=run, scales={"smoke": (120, 2), "full": (None, 30)}),)
