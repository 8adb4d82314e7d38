"""LLM Dataset Inference: learn on one half which scores separate a benchmark, test on the other (Maini et al. 2024)."""

import numpy as np
from numpy.typing import NDArray

from assay.leakage.detectors.mean import welch
from assay.scores import SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN, DatasetInputs, DatasetScore, Work, dataset_level
from assay.types import Float64Array

RULE = 0.1
"""The authors call a benchmark seen below this p-value."""
CLIPPED = 0.025
"""Share of each tail of a feature that is clipped, as outliers decide a linear regression."""
FEWEST = 10
"""Samples on each side of each half."""


def work() -> tuple[Work, ...]:
    """Return what is run: one pass over the benchmark and over the unseen text."""
    return SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN


@dataset_level(
    name="di",
    title="LLM Dataset Inference",
    formula="difference of the means of w · (s_1 … s_k), benchmark minus unseen text; w is learned on the other half",
    reference="Maini et al. 2024, arXiv 2406.06443; the features are the scores of one pass",
    access="gray",
    flags={"default"},
    work=work,
)
def dataset_inference(inputs: DatasetInputs) -> DatasetScore:
    """Learn a linear combination of scores on one half of both sets, and test it on the other half."""
    fewest = min(len(inputs.samples), len(inputs.unseen)) // 2
    if fewest < FEWEST:
        reason = f"{len(inputs.samples)} samples and {len(inputs.unseen)} unseen texts; each half needs {FEWEST}"
        return DatasetScore(value=np.nan, reason=reason)
    columns = [
        np.concatenate([inputs.model.scores(name, inputs.samples), inputs.model.scores(name, inputs.unseen)])
        for name in inputs.model.one_pass_scores
    ]
    # a score that no text has would make a feature of zeros
    features = np.column_stack([column for column in columns if not np.isnan(column).all()])
    suspect = np.arange(len(features)) < len(inputs.samples)
    fitted = half_of(suspect, inputs.seed)
    values = projected(features, suspect, fitted)
    rest = ~fitted
    p_value = welch(values[suspect & rest], values[~suspect & rest])
    difference = float(values[suspect & rest].mean() - values[~suspect & rest].mean())
    called = None if np.isnan(p_value) else p_value < RULE
    return DatasetScore(value=difference, p_value=p_value, called=called, samples=int((suspect & rest).sum()))


def half_of(suspect: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """Return which samples the weights are learned on: a random half of each side."""
    random = np.random.default_rng(seed)
    chosen = np.zeros(len(suspect), np.bool_)
    for side in (suspect, ~suspect):
        places = random.permutation(np.flatnonzero(side))
        chosen[places[: len(places) // 2]] = True
    return chosen


def projected(features: Float64Array, suspect: NDArray[np.bool_], fitted: NDArray[np.bool_]) -> Float64Array:
    """Return w · features of all samples, with w by least squares on the fitted half; all scaling comes from it.

    Args:
        features: [samples, k], NaN where unscorable.
        suspect: the benchmark.
        fitted: the half that the weights are learned on.
    """
    low, high = np.nanquantile(features[fitted], [CLIPPED, 1 - CLIPPED], axis=0)
    clipped = np.clip(features, low, high)
    centre, spread = np.nanmean(clipped[fitted], axis=0), np.nanstd(clipped[fitted], axis=0)
    scaled = np.nan_to_num((clipped - centre) / np.where(spread > 0, spread, 1))
    design = np.column_stack([scaled, np.ones(len(scaled))])
    # a regression on "is of the benchmark": its direction separates the sides best; Welch's test does not see its scale
    weights, *_ = np.linalg.lstsq(design[fitted], suspect[fitted].astype(np.float64), rcond=None)
    values: Float64Array = design @ weights
    return values
