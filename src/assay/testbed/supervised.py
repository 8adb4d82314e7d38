"""Fitted detectors on one checkpoint: fitted on the calibration split, they judge all other texts."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from assay.scores import FittedDetector, detectors_of
from assay.testbed.plant import Planted
from assay.types import MEMBER, Generator

FITTED_ON = ("calibration-member", "calibration-nonmember")
"""Parts of the texts whose labels a detector may use."""


def supervised_values(
    planted: Planted, names: Iterable[str], generator: Generator, *, spare_unseen: bool, seed: int
) -> dict[str, NDArray[np.float64]]:
    """Return, for each detector, float64 [texts].

    NaN where a text is unscorable, where the detector was fitted on it, and where clean texts are spared.

    Raises:
        DataError: the calibration split is too small to fit a detector.
    """
    part = [str(sample.metadata["part"]) for sample in planted.samples]
    labelled = [sample for sample in planted.samples if sample.metadata["part"] in FITTED_ON]
    labels = [sample.label == MEMBER for sample in labelled]
    places = [i for i, p in enumerate(part) if p not in FITTED_ON and not (spare_unseen and p == "unseen")]
    judged = [planted.samples[i] for i in places]
    values = {}
    detectors = detectors_of(FittedDetector)
    for name in names:
        fitted = detectors[name](labelled, labels, generator, unlabelled=judged, seed=seed)
        values[name] = np.full(len(part), np.nan)
        values[name][places] = [score.value for score in fitted.scores(judged)]
    return values
