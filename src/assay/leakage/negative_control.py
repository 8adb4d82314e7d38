"""The negative control: the same audit with a model that certainly never saw the benchmark.

What it flags is the effect of the difference between the benchmark and the unseen text alone: a calibrated share may
carry a verdict although the texts differ if the score does not react to the difference. Its scores also give the
weights of weighted conformal p-values, see `assay.evaluation.weighting`.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import DataError
from assay.evaluation import (
    MINIMUM_UNSEEN,
    DensityRatio,
    density_ratio,
    flag_rate,
    flagged_excess,
    weighted_p_values,
    weighted_tail,
)
from assay.leakage.results import NegativeControl
from assay.scores import flagged
from assay.scoring import Plan, Progress, score_samples
from assay.types import BooleanArray, Float64Array, Sample, texts_of

TrainedOn = Callable[[Sequence[str]], BooleanArray]
"""Texts → True for each that the control was trained on."""


@dataclass(frozen=True, slots=True)
class Control:
    """A model that is believed never to have seen the benchmark.

    Attributes:
        plan: the scores of the audit, and those with the flag `weights`, under that model.
        trained_on: marks texts that the model was trained on after all; None where its training texts are unknown.
        is_parent: the audited model was trained from it.
    """

    plan: Plan
    trained_on: TrainedOn | None = None
    is_parent: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ControlScores:
    """Scores of an audit's texts under the control.

    Attributes:
        model: its name.
        samples: score → float64 [samples]; NaN where unscorable, or where the control was trained on the text.
        unseen: score → float64 [unseen texts], the same.
        note: how many texts were refused because the control was trained on them; None if none were.
        is_parent: the audited model was trained from it.
    """

    model: str
    samples: Mapping[str, Float64Array]
    unseen: Mapping[str, Float64Array]
    note: str | None = None
    is_parent: bool = False

    def weights(self, groups: Sequence[Hashable], *, seed: int) -> DensityRatio:
        """Return how much more frequent texts like each are in the benchmark than in the unseen text.

        Args:
            groups: of the samples and then of the unseen texts.
            seed: of the folds.

        Raises:
            DataError: the control has none of the standard scores.
            AssayError: too few texts have all standard scores.
        """
        # declared beforehand: weights by whatever a control scores could be chosen to fit
        names = [name for name in flagged("weights") if name in self.samples]
        if not names:
            raise DataError(f"weights need the token probabilities of the control {self.model}: expected --access gray")
        features, unseen = (np.column_stack(list(map(side.__getitem__, names))) for side in (self.samples, self.unseen))
        return density_ratio(features, unseen, groups, seed=seed)

    def flags(
        self,
        score: str,
        alpha: float,
        groups: tuple[Sequence[Hashable], Sequence[Hashable]],
        *,
        ratio: DensityRatio | None = None,
        audited: tuple[Float64Array, Float64Array] | None = None,
        seed: int = 0,
    ) -> NegativeControl | None:
        """Return what the control flags by a score; None where it has no value for too many texts.

        Args:
            score: its name.
            alpha: nominal false-positive rate.
            groups: of the samples and of the unseen texts.
            ratio: weights of the texts; None for equal ones.
            audited: values of the samples and of the unseen texts under the audited model.
            seed: of the resamples behind the excess.
        """
        if score not in self.samples:
            return None
        values, unseen = self.samples[score], self.unseen[score]
        scored = ~np.isnan(unseen)
        if ratio is not None:
            scored &= ~np.isnan(ratio.unseen)
        # with fewer values nothing could be flagged, and a control that cannot flag looks flat
        if scored.sum() < MINIMUM_UNSEEN or np.isnan(values).all():
            return None
        tail = weighted_tail(unseen, groups[1], alpha=alpha, ratio=ratio)
        flags = flag_rate(weighted_p_values(values, unseen, ratio), alpha, groups=groups[0], unseen=tail)
        excess = None
        if audited is not None and ratio is None:
            excess = flagged_excess(audited, second=(values, unseen), groups=groups, alpha=alpha, seed=seed)
        return NegativeControl(self.model, flags, excess=excess)


def divided(columns: Mapping[str, Float64Array], count: int) -> tuple[dict[str, Float64Array], dict[str, Float64Array]]:
    """Return the columns of the first texts, the benchmark, and those of the others, the unseen text."""
    own = {name: column[:count] for name, column in columns.items()}
    return own, {name: column[count:] for name, column in columns.items()}


def control_scores(
    control: Control, samples: Sequence[Sample], unseen: Sequence[Sample], *, progress: Progress | None = None
) -> ControlScores:
    """Score all texts under the control; texts that it was trained on get no value.

    Raises:
        ModelError: the control cannot be run.
    """
    texts = [*samples, *unseen]
    refused = np.zeros(len(texts), np.bool_)
    if control.trained_on is not None:
        refused = control.trained_on(texts_of(texts))
    table = score_samples(texts, control.plan, progress=progress)
    # a control that has read a text says nothing about what it looks like to a model that has not
    columns = {name: np.where(refused, np.nan, column) for name, column in table.values.items()}
    own, others = divided(columns, len(samples))
    note = None
    if refused.any():
        of_benchmark = refused[: len(samples)].sum()
        note = (
            f"The negative control {control.plan.name} was trained on {refused.sum()} of the {len(texts)} texts "
            f"({of_benchmark} of the benchmark, {refused.sum() - of_benchmark} unseen); they are left out of its share."
        )
    return ControlScores(control.plan.name, own, unseen=others, note=note, is_parent=control.is_parent)
