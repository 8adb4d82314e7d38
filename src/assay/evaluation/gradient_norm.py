"""The norm of the mean gradient of a set of texts, without the bias that noise adds to it."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtr

from assay.evaluation.interval import SIGNIFICANCE
from assay.types import Float64Array


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

    @classmethod
    def from_products(cls, products: Float64Array) -> Self:
        """Return the mean gradient from the products of the gradients of all pairs of folds, [folds, folds]."""
        count = len(products)
        own = np.diag(products)
        total, across = float(products.sum() - own.sum()), products.sum(axis=1) - own
        # products of different folds alone: noise is independent there, while a fold with itself adds its square
        squared = total / (count * (count - 1))
        # the same without each fold, for the jackknife
        without = (total - 2 * across) / ((count - 1) * (count - 2))
        error = math.sqrt((count - 1) / count * float(((without - without.mean()) ** 2).sum()))
        return cls(squared, error, count)


def clearly_smaller(own: MeanGradient, unseen: MeanGradient) -> bool:
    """Return True if the mean gradient of a set is smaller than that of unseen text, by a one-sided test."""
    error = math.hypot(own.error, unseen.error)
    if error == 0:
        return own.squared < unseen.squared
    return bool(ndtr((own.squared - unseen.squared) / error) < SIGNIFICANCE)
