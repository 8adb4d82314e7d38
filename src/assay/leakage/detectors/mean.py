"""The mean of a sample-level score over a benchmark, as a dataset-level detector (Choi et al., Eqs. 7 to 10)."""

import numpy as np
from scipy.stats import ttest_ind_from_stats

from assay.scores import SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN, DatasetInputs, DatasetScore, Work, dataset_level
from assay.types import Float64Array

ROUNDING = 1e-12
"""Standard deviation, relative to the largest value, below which values are the same."""


def work(**_: object) -> tuple[Work, ...]:
    """Return what is run: one pass over the benchmark, and over the unseen text where there is any."""
    return SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN


@dataset_level(
    name="mean",
    title="Mean of a score",
    formula=(
        "mean of a score (`loss` if none is named) over the samples that have a value; "
        "p-value by Welch's t-test against the unseen text"
    ),
    reference="Choi et al. 2025, appendix A.2 (perplexity, zlib, Min-K %, Min-K %++ as scores of a data set)",
    access="gray",
    flags={"default"},
    work=work,
)
def mean_score(inputs: DatasetInputs, *, score: str = "loss") -> DatasetScore:
    """Average a sample-level score, in its own orientation: higher = member."""
    values = scored(inputs.model.scores(score, inputs.samples))
    others = np.empty(0)
    if inputs.unseen:
        others = scored(inputs.model.scores(score, inputs.unseen))
    if not len(values):
        return DatasetScore(value=np.nan, reason=f"no sample has a value of {score}")
    return DatasetScore(
        value=float(values.mean()),
        p_value=welch(values, others),
        unseen_value=float(others.mean()) if len(others) else np.nan,
        samples=len(values),
        details={"coverage": len(values) / len(inputs.samples)},
    )


def scored(values: Float64Array) -> Float64Array:
    """Return the values that are not NaN."""
    return values[~np.isnan(values)]


def welch(values: Float64Array, others: Float64Array) -> float:
    """Return the one-sided p-value of a mean this much higher, by Welch's t-test.

    NaN where a side has fewer than two values, or where neither side varies by more than rounding.
    """
    if min(len(values), len(others)) < 2:  # noqa: PLR2004  no variance
        return float("nan")
    sides = [(float(side.mean()), spread_of(side), len(side)) for side in (values, others)]
    # two constants have no distribution by which their difference could be judged
    if not any(spread for _, spread, _ in sides):
        return float("nan")
    return float(ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False, alternative="greater").pvalue)


def spread_of(values: Float64Array) -> float:
    """Return the standard deviation (n - 1); 0 where the values differ by rounding alone."""
    spread = float(values.std(ddof=1))
    return spread if spread > ROUNDING * float(np.abs(values).max()) else 0.0
