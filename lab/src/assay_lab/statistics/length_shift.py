"""False positives when unseen text and clean samples differ in length, with plain p-values and with weights by length.

Functions that `builtin:small` never saw are split into calibration and judged texts, so nothing judged has leaked. The
chance that a function is judged rises with its length: logistic in standard deviations of log characters, with the
given slope; the last split judges the longer half.
"""

from typing import Any

import numpy as np

import assay
from assay.evaluation import conformal_p_values, density_ratio, weighted_p_values
from assay.ground_truth import known_dose_functions
from assay_lab.experiments.declaration import Data, Experiment, Result

SCORES = ("mid_pit", "min_k_plus_plus", "gap_k", "loss", "min_k", "zlib")
SLOPES = (0.0, 1.0, 2.0, 4.0)
ALPHAS = (0.05, 0.1)


def run(scale: tuple[int | None, int], seed: int, data: Data) -> Result:
    """False positives when unseen text and clean samples differ in length, without and with weights by length."""
    most, repeats = scale
    samples = [sample for sample in known_dose_functions().samples if not sample.metadata["dose"]][:most]
    table = assay.score("builtin:small", samples, ",".join(SCORES), progress=False).to_arrow()
    values = {name: table[name].to_numpy(zero_copy_only=False) for name in SCORES}
    lengths = np.log([len(sample.text) for sample in samples])
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for slope in (*SLOPES, None):
        draws = 1 if slope is None else repeats
        shares: dict[str, list[list[float]]] = {name: [] for name in SCORES}
        sizes = []
        for _ in range(draws):
            standard = (lengths - lengths.mean()) / lengths.std()
            judged = standard > np.median(standard)
            if slope is not None:
                judged = random.random(len(samples)) < 1 / (1 + np.exp(-slope * standard))
            features = lengths[:, None]
            ratio = density_ratio(features[judged], features[~judged], range(len(samples)))
            sizes.append(ratio.effective_unseen)
            for name, column in values.items():
                own, unseen = column[judged], column[~judged]
                ways = conformal_p_values(own, unseen), weighted_p_values(own, unseen, ratio)
                shares[name].append([float(np.mean(p <= alpha)) for p in ways for alpha in ALPHAS])
        for name in SCORES:
            means = np.mean(shares[name], axis=0).tolist()
            keys = [f"{way}_at_{alpha:g}" for way in ("plain", "weighted") for alpha in ALPHAS]
            about = {"slope": "longer half" if slope is None else slope, "score": name, "draws": draws}
            about |= {"texts": len(samples), "effective_unseen": float(np.mean(sizes))}
            rows.append(about | dict(zip(keys, means, strict=True)))
    return Result(rows)


EXPERIMENTS = (Experiment(name="statistics/length_shift", run=run, scales={"smoke": (120, 2), "full": (None, 30)}),)
