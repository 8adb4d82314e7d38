"""Scores of a quantised model beside those of the same model in float32: about 2 minutes.

    python benchmarks/bench_quantisation.py

`builtin:small` is written as GGUF files in several formats and read again, each with the model's own tokenizer, so that
only the weights differ. The texts are functions of known dose. For each one-pass score: the correlation of the values
with those of float32, the mean change in standard deviations of the score over the texts, and the AUROC of functions
that were trained on against those that were not.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from measuring import arguments, write

from assay.evaluation import auroc, spearman
from assay.models import TransformersModel, load_checkpoint
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.testbed import known_dose_functions
from assay.types import MEMBER, Float64Array, Sample

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))  # exporter of GGUF files, shared with the tests
from gguf_export import export_gguf

FORMATS = ("F16", "Q8_0", "Q5_1", "Q4_1", "Q4_0")
SMOKE_FORMATS = ("F16", "Q4_0")
TEXTS = 400


def scores_of(model: TransformersModel, samples: list[Sample]) -> dict[str, Float64Array]:
    """Score → values of the samples, NaN where there is none; the scores that need nothing but one pass."""
    chosen = tuple(request for request in requests("one-pass") if not request.definition.needs_frequencies)
    return dict(score_samples(samples, plan(chosen, {"target": model})).values)


def main() -> None:
    """Measure, print and write."""
    options, began = arguments(__doc__), time.perf_counter()
    samples = list(known_dose_functions().samples)
    picked = np.random.default_rng(0).permutation(len(samples))[: 40 if options.smoke else TEXTS]
    samples = [samples[index] for index in sorted(picked)]
    positive = np.array([sample.label == MEMBER for sample in samples])
    original = load_checkpoint("builtin:small")
    exact = scores_of(TransformersModel(original), samples)
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in SMOKE_FORMATS if options.smoke else FORMATS:
            path = export_gguf(original.model, original.tokenizer, Path(folder) / f"{kind}.gguf", kind)
            loaded = replace(load_checkpoint(str(path)), tokenizer=original.tokenizer)
            values = scores_of(TransformersModel(loaded), samples)
            for score, numbers in values.items():
                reference = exact[score]
                there = np.isfinite(numbers) & np.isfinite(reference)
                change = (numbers - reference)[there] / reference[there].std()
                row = {
                    "format": kind,
                    "bytes": path.stat().st_size,
                    "score": score,
                    "texts": int(there.sum()),
                    "rank_correlation": float(spearman(numbers[there], reference[there])),
                    "mean_change_sd": float(change.mean()),
                    "mean_absolute_change_sd": float(np.abs(change).mean()),
                    "auroc": float(auroc(numbers[there], positive[there])),
                    "auroc_float32": float(auroc(reference[there], positive[there])),
                }
                results.append(row)
                print(
                    f"{kind:5} {score:18} rank correlation {row['rank_correlation']:.4f}  "
                    f"change {row['mean_change_sd']:+.3f} SD  AUROC {row['auroc']:.3f} ({row['auroc_float32']:.3f})"
                )
    print(write("quantisation", options, results, began))


if __name__ == "__main__":
    main()
