"""The mean gradient of a set of texts: it decides whether a kernel divergence can be read.

Fine-tuning moves every embedding along the mean gradient of the set first. Where members were trained to convergence
that mean is near 0; where a model was stopped at a constant rate, members keep a common gradient, and the kernel
divergence inverts. The gradient is that of the LoRA weights at their start, by folds of texts: the mean of the products
of different folds estimates the squared norm without the bias that noise adds to it.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from assay.errors import DataError
from assay.evaluation import MeanGradient
from assay.models import TransformersModel, quiet
from assay.training.causal import CausalGradient
from assay.training.loop import Batches, Processes
from assay.training.settings import TrainingSettings
from assay.training.tuned_model import query_value_projections, texts_as_rows, with_lora

FOLDS = 32
"""Folds of texts: enough for a standard error, few enough to hold a gradient of each."""
FEWEST_FOLDS = 4


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
        # B of LoRA starts at zero, so only its gradient is not zero
        weights = [each for name, each in tuned.named_parameters() if "lora_B" in name]
        for each in weights:
            each.requires_grad_(requires_grad=True)
        batches = Batches(len(rows), len(rows) // count, seed)
        gradient = CausalGradient(
            model=tuned, rows=rows, batches=batches, processes=Processes(inner.device), micro=settings.micro
        )
        vectors = []
        # a fold is one step of the batches: disjoint sets of texts, whose gradients are independent
        for fold in range(count):
            for each in weights:
                each.grad = None
            gradient(fold)
            vectors.append(torch.cat([each.grad.flatten().float().cpu() for each in weights if each.grad is not None]))
    finally:
        with quiet():
            tuned.unload()
        inner.config.use_cache = use_cache
    # products of different folds have independent noise: their mean is the squared norm without bias
    matrix = torch.stack(vectors).double()
    return MeanGradient.from_products((matrix @ matrix.T).numpy())
