"""Weights of conformal p-values in an audit: by length, or by the scores of the negative control."""

from collections.abc import Sequence

import numpy as np

from assay.errors import AssayError, DataError
from assay.evaluation import MINIMUM_UNSEEN, DensityRatio, density_ratio
from assay.leakage.inputs import Weights
from assay.leakage.measuring import MeasuredAudit
from assay.leakage.texts import groups_of
from assay.reports import number_of
from assay.types import Float64Array, Sample

REACHABLE = 0.5
"""Smallest share of samples that have enough unseen texts of their kind to be flagged. With fewer, a clean result would
only show that nothing could be seen."""


def weights_of(measured: MeasuredAudit, *, alpha: float) -> DensityRatio | None:
    """Return the weights of an audit's texts; None for equal ones.

    "length" compares the logarithms of the numbers of characters, "control" the scores under the control.

    Args:
        measured: scores of the benchmark and of the unseen text.
        alpha: level at which samples are flagged.

    Raises:
        DataError: what the weights need is missing.
        AssayError: too few unseen texts are like the benchmark, or like most of its samples.
    """
    kind, seed = measured.inputs.decision.weights, measured.inputs.decision.seed
    if kind == "none":
        return None
    if not measured.fresh:
        raise DataError(f"weights by {kind} need unseen text: expected --unseen DATA")
    groups = [*measured.groups, *groups_of(measured.fresh, "unseen")]
    if kind == "length":
        ratio = density_ratio(_lengths(measured.inputs.samples), _lengths(measured.fresh), groups, seed=seed)
    elif measured.control is None:
        raise DataError("weights by control need a negative control: expected --control MODEL")
    else:
        ratio = measured.control.weights(groups, seed=seed)
    # Kish's effective size: (sum of weights)² / sum of squared weights
    if ratio.effective_unseen < MINIMUM_UNSEEN:
        raise AssayError(
            f"by {kind}, the {len(measured.fresh)} unseen texts count as {ratio.effective_unseen:.1f} like the "
            f"benchmark, expected at least {MINIMUM_UNSEEN}: give unseen text that is more like it, or --weights none"
        )
    # a sample with few unseen texts of its kind has a large weight of its own, which no p-value can go below
    reachable = float(np.mean(ratio.smallest_p_values <= alpha))
    if reachable < REACHABLE:
        raise AssayError(
            f"by {kind}, only {100 * reachable:.0f} % of the samples could be flagged at all, expected at least "
            f"{100 * REACHABLE:.0f} %: give unseen text that is more like the others, or --weights none"
        )
    return ratio


def _lengths(samples: Sequence[Sample]) -> Float64Array:
    """Return float64 [samples, 1], the logarithm of the number of characters."""
    return np.log([[max(1, len(sample.text))] for sample in samples])


def weights_note(kind: Weights, ratio: DensityRatio | None) -> tuple[str, ...]:
    """Return what the weights did to the size of the calibration set; nothing without weights."""
    if ratio is None:
        return ()
    note = (
        f"P-values are weighted by {kind}: the {len(ratio.unseen):,} unseen texts count as "
        f"{number_of(round(ratio.effective_unseen), 'text')} like the benchmark."
    )
    return (note,)
