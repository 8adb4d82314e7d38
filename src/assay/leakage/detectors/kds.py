"""Kernel divergence score: how fine-tuning on a benchmark moves its samples against each other (Choi et al. 2025).

The values come from `assay.evaluation.divergence`; here the model is run.
"""

import math
from typing import Literal

from assay.errors import ScoreError
from assay.evaluation import Kernel, KernelSettings, displacement, kernel_divergence, mean_kernel
from assay.scores import EMBEDDINGS, Count, DatasetInputs, DatasetScore, FineTuning, Work, dataset_level, tuning_work

BatchKind = Literal["stochastic", "whole"]


def work(
    *, kernel: Kernel, gamma: str, tuning: bool, batch: BatchKind, epochs: int, gating: bool, **_: object
) -> tuple[Work, ...]:
    """Return what is run: embeddings, and a fine-tuning with one pass after it, shared by all score deviations.

    Raises:
        ScoreError: a gamma that is neither a positive number nor a rule.
    """
    settings_of(kernel, gamma, gating=gating)
    return (EMBEDDINGS, *(tuning_work(tuning_of(batch, epochs)) if tuning else ()))


@dataset_level(
    name="kds",
    title="Kernel divergence score",
    formula="-(1/E) Σ |Φ_ij ln(Φ_ij / Φ'_ij)|, E = sqrt(Σ Φ_ij), Φ = exp(-γ |z_i - z_j|²), ' after fine-tuning",
    reference="Choi et al. 2025, How Contaminated Is Your Benchmark?, Eqs. 2 to 5",
    access="gray",
    work=work,
)
def kernel_divergence_score(
    inputs: DatasetInputs,
    *,
    kernel: Kernel = "rbf",
    gamma: str = "shared",
    layer: int = -1,
    gating: bool = True,
    tuning: bool = True,
    batch: BatchKind = "stochastic",
    epochs: Count = 1,
) -> DatasetScore:
    """Compare the kernel matrix of a benchmark before and after fine-tuning on it.

    Scores compare at equal numbers of samples only. The direction of the score is that of the paper.
    """
    settings = settings_of(kernel, gamma, gating=gating)
    before = inputs.model.embeddings(inputs.samples, layer=layer)
    # nothing moves then: the mean kernel says how alike the embeddings are by themselves
    if not tuning:
        return DatasetScore(value=mean_kernel(before, settings), samples=len(before))
    after = inputs.model.embeddings(inputs.samples, layer=layer, tuning=tuning_of(batch, epochs))
    moved = displacement(before, after)
    return DatasetScore(
        value=kernel_divergence(before, after, settings, seed=inputs.seed),
        samples=len(before),
        details={"cdisp": -moved.spread, "median displacement": moved.median},
    )


def settings_of(kernel: Kernel, gamma: str, *, gating: bool) -> KernelSettings:
    """Return the settings of the kernel.

    Raises:
        ScoreError: a gamma that is neither a positive number nor a rule.
    """
    if gamma in ("shared", "per-side"):
        return KernelSettings(kernel, per_side=gamma == "per-side", gating=gating)
    try:
        number = float(gamma)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ScoreError(f"kds: gamma is {gamma!r}, expected shared, per-side or a positive number")
    return KernelSettings(kernel, gamma=number, gating=gating)


def tuning_of(batch: BatchKind, epochs: int) -> FineTuning:
    """Return the fine-tuning on the benchmark."""
    return FineTuning(epochs=epochs, whole_batch=batch == "whole")
