"""The mean gradient of a set of texts: it decides whether a kernel divergence can be read.

Fine-tuning moves every embedding along the mean gradient of the set first. Where members were trained to convergence
that mean is near 0; where a model was stopped at a constant rate, members keep a common gradient, and the kernel
divergence inverts. The gradient is that of the LoRA weights at their start, by folds of texts: the mean of the products
of different folds estimates the squared norm without the bias that noise adds to it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.special import ndtr

from assay.errors import DataError
from assay.models import TransformersModel, quiet
from assay.training.causal import CausalGradient
from assay.training.loop import Batches
from assay.training.processes import Processes
from assay.training.settings import TrainingSettings
from assay.training.tuned_model import query_value_projections, texts_as_rows, with_lora
from assay.types import Float64Array

FOLDS = 32
"""Folds of texts: enough for a standard error, few enough to hold a gradient of each."""
FEWEST_FOLDS = 4


@dataclass(frozen=True, slots=True)
class MeanGradient:
    """Squared norm of the mean gradient of a set of texts.

    Attributes:
        squared: without the bias of noise; can be below 0 where the mean gradient is 0.
        error: standard error, by leaving out each fold.
        folds: of the texts.
    """

    squared: float
    error: float
    folds: int

    @property
    def norm(self) -> float:
        """Norm of the mean gradient, 0 where the square is below 0."""
        return math.sqrt(max(0.0, self.squared))


def mean_gradient(
    model: TransformersModel, texts: Sequence[str], settings: TrainingSettings, *, seed: int, folds: int = FOLDS
) -> MeanGradient:
    """Return the mean gradient of texts, in the LoRA weights of a seed.

    Args:
        model: as it is.
        texts: of the set.
        settings: with LoRA; without targets, the query and value projections count.
        seed: of LoRA's first weights: sets compare at the same seed only.
        folds: at most; fewer where there are fewer texts.

    Raises:
        DataError: fewer rows of tokens than `FEWEST_FOLDS`.
        ModelError: the model has no query and value projections.
    """
    rows = texts_as_rows(model, texts)
    count = min(folds, len(rows))
    if count < FEWEST_FOLDS:
        raise DataError(f"{len(rows)} texts; a mean gradient needs at least {FEWEST_FOLDS}")
    inner = model.checkpoint.model
    targets = settings.targets or query_value_projections(inner, model.name)
    use_cache = inner.config.use_cache
    inner.requires_grad_(requires_grad=False)
    tuned = with_lora(inner, replace(settings, targets=targets), seed)
    try:
        tuned.eval()  # without dropout: the gradient of the set, not of a draw
        weights = [each for name, each in tuned.named_parameters() if "lora_B" in name]
        for each in weights:
            each.requires_grad_(requires_grad=True)
        batches = Batches(len(rows), len(rows) // count, seed)
        gradient = CausalGradient(tuned, rows, batches, Processes("cpu", alone=inner.device), settings.micro)
        vectors = []
        for fold in range(count):
            for each in weights:
                each.grad = None
            gradient(fold)
            vectors.append(torch.cat([each.grad.flatten().float().cpu() for each in weights if each.grad is not None]))
    finally:
        with quiet():
            tuned.unload()
        inner.config.use_cache = use_cache
    matrix = torch.stack(vectors).double()
    return from_products((matrix @ matrix.T).numpy())


def from_products(products: Float64Array) -> MeanGradient:
    """Return the mean gradient from the products of the gradients of all pairs of folds, [folds, folds]."""
    count = len(products)
    own = np.diag(products)
    total, across = float(products.sum() - own.sum()), products.sum(axis=1) - own
    squared = total / (count * (count - 1))
    without = (total - 2 * across) / ((count - 1) * (count - 2))
    error = math.sqrt((count - 1) / count * float(((without - without.mean()) ** 2).sum()))
    return MeanGradient(squared, error, count)


def clearly_smaller(own: MeanGradient, unseen: MeanGradient, *, level: float = 0.05) -> bool:
    """Return True if the mean gradient of a set is smaller than that of unseen text, by a one-sided test."""
    error = math.hypot(own.error, unseen.error)
    if error == 0:
        return own.squared < unseen.squared
    return bool(ndtr((own.squared - unseen.squared) / error) < level)
