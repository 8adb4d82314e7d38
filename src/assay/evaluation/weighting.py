"""Conformal p-values for a benchmark whose texts differ from the unseen ones, weighted by how they differ.

If the unseen texts have the density u and unleaked samples the density b, weights proportional to w = b / u make the
p-values valid again (Tibshirani, Foygel Barber, Candès and Ramdas 2019, "Conformal prediction under covariate shift";
Jin and Candès 2023, "Model-free selective inference under covariate shift"). The ratio is estimated here by a logistic
regression that separates the two sets by features, with squares, out of fold. The features are scores under a model
that saw neither set (a negative control), not words: words tell most pairs of sets apart, which leaves no overlap and
so no weight, while only differences that move scores matter for a p-value of a score. What the features do not show,
the weights do not repair.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import AssayError, DataError
from assay.evaluation.arrays import group_codes, scorable
from assay.evaluation.blind import grouped_folds, with_squares
from assay.evaluation.bootstrap import SEED
from assay.evaluation.calibration import MINIMUM_UNSEEN, UnseenTail, conformal_p_values
from assay.types import Float64Array

FOLDS = 5
"""At most; fewer where a set has fewer groups."""

LARGEST_LOG_RATIO = 5.0
"""Largest logarithm of a weight: one unseen text then counts for at most 150 of weight 1."""


@dataclass(frozen=True, slots=True, eq=False)
class DensityRatio:
    """Estimated density of the benchmark over that of the unseen text, up to a factor, for every text of both.

    Attributes:
        samples: float64 [n], NaN where a feature is NaN.
        unseen: float64 [m], NaN where a feature is NaN.
    """

    samples: Float64Array
    unseen: Float64Array

    @property
    def effective_unseen(self) -> float:
        """Unseen texts of equal weight with the same variance: (Σw)² / Σw² (Kish 1965)."""
        weights = self.unseen[~np.isnan(self.unseen)]
        return float(weights.sum() ** 2 / (weights**2).sum()) if len(weights) else 0.0

    @property
    def smallest_p_values(self) -> Float64Array:
        """Smallest p-value that each sample can get, at the highest score: its weight over the sum of all."""
        return self.samples / (self.samples + np.nansum(self.unseen))


def weighted_p_values(scores: ArrayLike, unseen_scores: ArrayLike, ratio: DensityRatio | None) -> Float64Array:
    """Return the weighted conformal p-value (w + Σ v[unseen >= s]) / (w + Σ v) of every score s.

    w is the weight of the sample and v those of the unseen texts. With equal weights these are the p-values of
    `conformal_p_values`. Conservative with ties.

    Args:
        scores: [n], higher = member; NaN (unscorable) gives NaN.
        unseen_scores: [m], the same score of text certainly not seen; NaN are left out.
        ratio: the weights of both; a NaN leaves a text out as a NaN score does. None for equal weights.

    Returns:
        float64 [n], in (0, 1].

    Raises:
        AssayError: fewer than `MINIMUM_UNSEEN` unseen samples have a score and a weight.
        DataError: lengths differ, or an array holds an infinity.
    """
    if ratio is None:
        return conformal_p_values(scores, unseen_scores)
    values, unseen = scorable(scores), scorable(unseen_scores, "unseen scores")
    own, weights = scorable(ratio.samples, "weights"), scorable(ratio.unseen, "weights of unseen text")
    if len(values) != len(own) or len(unseen) != len(weights):
        raise DataError(
            f"{len(own)} and {len(weights)} weights for {len(values)} scores and {len(unseen)} unseen scores"
        )
    usable = ~np.isnan(unseen) & ~np.isnan(weights)
    if usable.sum() < MINIMUM_UNSEEN:
        raise AssayError(f"{usable.sum()} unseen samples with a score and a weight; expected at least {MINIMUM_UNSEEN}")
    order = np.argsort(unseen[usable], kind="stable")
    ranked, below = unseen[usable][order], np.concatenate([[0.0], np.cumsum(weights[usable][order])])
    # weight of the unseen texts at or above each score, from one cumulated sum
    at_least = below[-1] - below[np.searchsorted(ranked, values, side="left")]
    p_values = np.minimum((own + at_least) / (own + below[-1]), 1.0)
    return np.where(np.isnan(values), np.nan, p_values)


def weighted_tail(
    unseen_scores: ArrayLike, groups: Sequence[Hashable] | None, alpha: float, ratio: DensityRatio | None
) -> UnseenTail:
    """Return the tail of unseen texts, counted by their effective number where they have weights.

    Args:
        unseen_scores: [m], NaN where unscorable.
        groups: [m]; None for independent texts.
        alpha: the nominal level.
        ratio: their weights; None for equal ones.
    """
    scores = np.asarray(unseen_scores, np.float64)
    if ratio is None:
        return UnseenTail.of(scores, groups, alpha)
    tail = UnseenTail.of(np.where(np.isnan(ratio.unseen), np.nan, scores), groups, alpha)
    # with unequal weights fewer texts decide, so the threshold is as uncertain as that of fewer
    return replace(tail, texts=min(tail.texts, int(ratio.effective_unseen)))


def density_ratio(
    features: ArrayLike, unseen_features: ArrayLike, groups: Sequence[Hashable], *, seed: int = SEED
) -> DensityRatio:
    """Estimate the density ratio by logistic regression on standard features and their squares.

    Every text is weighted by a fit on the other folds; a group is never divided between folds.

    Args:
        features: float64 [n, features] of the samples; a row with a NaN gets the weight NaN.
        unseen_features: float64 [m, features] of the unseen texts.
        groups: [n + m], of the samples and then of the unseen texts.
        seed: of the folds.

    Raises:
        AssayError: fewer than `MINIMUM_UNSEEN` texts of a set, or fewer than two of its groups, have all features.
        DataError: the arrays are not two-dimensional with the same number of columns.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  slow to import, needed only here

    first, second = np.asarray(features, np.float64), np.asarray(unseen_features, np.float64)
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:  # noqa: PLR2004  texts × features
        raise DataError(f"features of shapes {first.shape} and {second.shape}; expected [n, k] and [m, k]")
    both = np.vstack([first, second])
    codes = group_codes(groups, len(both))
    positive = np.arange(len(both)) < len(first)
    complete = ~np.isnan(both).any(axis=1)
    for side, name in ((positive, "samples"), (~positive, "unseen samples")):
        usable = complete & side
        if usable.sum() < MINIMUM_UNSEEN or len(np.unique(codes[usable])) < 2:  # noqa: PLR2004  a fold and the others
            raise AssayError(f"{usable.sum()} {name} with all features; weights need {MINIMUM_UNSEEN} in two groups")
    rows = np.flatnonzero(complete)
    logits = np.full(len(both), np.nan)
    for fitted, scored in grouped_folds(positive[rows], group=codes[rows], folds=FOLDS, seed=seed):
        design = with_squares(both[rows], fitted)
        model = LogisticRegression(max_iter=1000).fit(design[fitted], positive[rows[fitted]])
        # the log-odds of a fit are log density ratio + log prior odds; only the first is wanted
        prior = np.log(positive[rows[fitted]].mean() / (1 - positive[rows[fitted]].mean()))
        logits[rows[scored]] = model.decision_function(design[scored]) - prior
    weights = np.exp(np.clip(logits, -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO))
    return DensityRatio(weights[: len(first)], weights[len(first) :])
