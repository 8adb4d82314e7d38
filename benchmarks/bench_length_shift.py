"""False positives when unseen text and clean samples differ in length, with plain p-values and with weights by length.

    python benchmarks/bench_length_shift.py

Functions that `builtin:small` never saw are split into calibration and judged texts, so nothing judged has leaked. The
chance that a function is judged rises with its length: logistic in standard deviations of log characters, with the
given slope; the last split judges the longer half. A minute.
"""

import time
from typing import Any

import numpy as np
from measuring import arguments, write

import assay
from assay.evaluation import conformal_p_values, density_ratio, weighted_p_values
from assay.testbed.doses import known_dose_functions

SCORES = ("mid_pit", "min_k_plus_plus", "gap_k", "loss", "min_k", "zlib")
SLOPES = (0.0, 1.0, 2.0, 4.0)
ALPHAS = (0.05, 0.1)


def main() -> None:
    """Score once, split again and again, and write the mean shares."""
    began = time.perf_counter()
    options = arguments(__doc__)
    samples = [sample for sample in known_dose_functions().samples if not sample.metadata["dose"]]
    samples = samples[:120] if options.smoke else samples
    table = assay.score("builtin:small", samples, ",".join(SCORES), progress=False).to_arrow()
    values = {name: table[name].to_numpy(zero_copy_only=False) for name in SCORES}
    lengths = np.log([len(sample.text) for sample in samples])
    random = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for slope in (*SLOPES, None):
        draws = 1 if slope is None else options.repeats or (2 if options.smoke else 30)
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
            plain_5, plain_10, weighted_5, weighted_10 = np.mean(shares[name], axis=0).tolist()
            rows.append(
                {
                    "slope": "longer half" if slope is None else slope,
                    "score": name,
                    "draws": draws,
                    "texts": len(samples),
                    "effective_unseen": float(np.mean(sizes)),
                    "plain_at_0.05": plain_5,
                    "plain_at_0.1": plain_10,
                    "weighted_at_0.05": weighted_5,
                    "weighted_at_0.1": weighted_10,
                }
            )
    write("length_shift", options, rows, began)


if __name__ == "__main__":
    main()
