"""Scores of a quantised model beside those of the same model in float32.

`builtin:small` is written as GGUF files in several formats and read again, each with the model's own tokenizer, so that
only the weights differ. The texts are functions of known dose. For each one-pass score: the correlation of the values
with those of float32, the mean change in standard deviations of the score over the texts, and the AUROC of functions
that were trained on against those that were not.
"""

import tempfile
from dataclasses import replace
from itertools import filterfalse
from operator import attrgetter
from pathlib import Path

import numpy as np

from assay.evaluation import auroc
from assay.ground_truth import known_dose_functions
from assay.models import TransformersModel, load_checkpoint
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.types import MEMBER, Float64Array, Sample
from assay_lab.columns import at_places, is_labelled
from assay_lab.evaluation.independent import spearman
from assay_lab.experiments.declaration import Data, Experiment, Result

FORMATS = ("F16", "Q8_0", "Q5_1", "Q4_1", "Q4_0")


def scores_of(model: TransformersModel, samples: list[Sample]) -> dict[str, Float64Array]:
    """Score → values of the samples, NaN where there is none; the scores that need nothing but one pass."""
    chosen = tuple(filterfalse(attrgetter("definition.needs_frequencies"), requests("one-pass")))
    return dict(score_samples(samples, plan(chosen, {"target": model})).values)


def run(scale: tuple[int, tuple[str, ...]], seed: int, data: Data) -> Result:
    """Scores of a quantised model beside those of the same model in float32."""
    # gguf is optional, and the list needs no extra
    from assay_lab.gguf_export import export_gguf

    most, formats = scale
    samples = list(known_dose_functions().samples)
    picked = np.random.default_rng(seed).permutation(len(samples))[:most]
    samples = at_places(samples, sorted(picked))
    positive = is_labelled(samples, MEMBER)
    original = load_checkpoint("builtin:small")
    exact = scores_of(TransformersModel(original), samples)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in formats:
            target = Path(folder) / f"{kind}.gguf"
            path = export_gguf(original.model, original.tokenizer, path=target, quantization=kind)
            # the tokenizer of the original, so that only the weights differ
            loaded = replace(load_checkpoint(str(path)), tokenizer=original.tokenizer)
            for score, numbers in scores_of(TransformersModel(loaded), samples).items():
                reference = exact[score]
                there = np.isfinite(numbers) & np.isfinite(reference)
                change = (numbers - reference)[there] / reference[there].std()
                rows.append(
                    {
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
                )
    return Result(rows)


EXPERIMENTS = (
    Experiment(
        name="performance/quantisation", run=run, scales={"smoke": (40, ("F16", "Q4_0")), "full": (400, FORMATS)}
    ),
)
