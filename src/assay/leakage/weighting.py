"""Weights of conformal p-values in an audit: by length, or by the scores of the negative control."""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

from assay.errors import AssayError, DataError
from assay.evaluation import MINIMUM_UNSEEN, DensityRatio, density_ratio
from assay.leakage.negative_control import ControlScores
from assay.types import Sample

Weights = Literal["none", "length", "control"]

REACHABLE = 0.5
"""Smallest share of samples that have enough unseen texts of their kind to be flagged. With fewer, a clean result would
only show that nothing could be seen."""


def weights_of(
    kind: Weights,
    samples: Sequence[Sample],
    unseen: Sequence[Sample],
    control: ControlScores | None,
    groups: Sequence[Hashable],
    *,
    alpha: float,
    seed: int,
) -> DensityRatio | None:
    """Return the weights of an audit's texts; None for equal ones.

    Args:
        kind: "length" compares the logarithms of the numbers of characters, "control" the control's scores.
        samples: the benchmark.
        unseen: texts that calibrate.
        control: scores of both under the control; None where there is none.
        groups: of the samples and then of the unseen texts.
        alpha: level at which samples are flagged.
        seed: of the folds behind the weights.

    Raises:
        DataError: what the weights need is missing.
        AssayError: too few unseen texts are like the benchmark, or like most of its samples.
    """
    if kind == "none":
        return None
    if not unseen:
        raise DataError(f"weights by {kind} need unseen text: expected --unseen DATA")
    if kind == "length":
        logarithms = [np.log([[max(1, len(sample.text))] for sample in side]) for side in (samples, unseen)]
        ratio = density_ratio(logarithms[0], logarithms[1], groups, seed=seed)
    elif control is None:
        raise DataError("weights by control need a negative control: expected --control MODEL")
    else:
        ratio = control.weights(groups, seed=seed)
    if ratio.effective_unseen < MINIMUM_UNSEEN:
        raise AssayError(
            f"by {kind}, the {len(unseen)} unseen texts count as {ratio.effective_unseen:.1f} like the benchmark, "
            f"expected at least {MINIMUM_UNSEEN}: give unseen text that is more like it, or --weights none"
        )
    reachable = float(np.mean(ratio.smallest_p_values <= alpha))
    if reachable < REACHABLE:
        raise AssayError(
            f"by {kind}, only {100 * reachable:.0f} % of the samples could be flagged at all, expected at least "
            f"{100 * REACHABLE:.0f} %: give unseen text that is more like the others, or --weights none"
        )
    return ratio


def weights_note(kind: Weights, ratio: DensityRatio | None) -> tuple[str, ...]:
    """Return what the weights did to the size of the calibration set; nothing without weights."""
    if ratio is None:
        return ()
    note = (
        f"P-values are weighted by {kind}: the {len(ratio.unseen):,} unseen texts count as "
        f"{ratio.effective_unseen:.0f} texts like the benchmark."
    )
    return (note,)
