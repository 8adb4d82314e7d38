"""Detectors that learn from labels, on one checkpoint: from the calibration split; they judge all other texts."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from assay.scores import FittedDetector, detectors_of
from assay.testbed.plant import Planted
from assay.types import MEMBER, Generator

TEACHES = ("calibration-member", "calibration-nonmember")
"""Parts of the texts whose labels a detector may know."""


def supervised_values(
    planted: Planted, names: Iterable[str], generator: Generator, *, spare_unseen: bool, seed: int
) -> dict[str, NDArray[np.float64]]:
    """Detector → float64 [texts]; NaN where unscorable, where a text taught it, and where a clean one is spared.

    Raises:
        DataError: the calibration split is too small for them to learn from.
    """
    part = [str(sample.metadata["part"]) for sample in planted.samples]
    teach = [sample for sample, one in zip(planted.samples, part, strict=True) if one in TEACHES]
    places = [i for i, one in enumerate(part) if one not in TEACHES and not (spare_unseen and one == "unseen")]
    values = {}
    detectors = detectors_of(FittedDetector)
    for name in names:
        fitted = detectors[name](teach, [one.label == MEMBER for one in teach], generator, seed=seed)
        values[name] = np.full(len(part), np.nan)
        values[name][places] = [one.value for one in fitted.scores([planted.samples[i] for i in places])]
    return values
