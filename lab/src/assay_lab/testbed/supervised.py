"""Fitted detectors on one checkpoint: fitted on the calibration split, they judge all other texts."""

from collections.abc import Iterable
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from assay.scores import detectors_of
from assay.types import MEMBER, Generator
from assay_lab.columns import at_places, attributes, is_labelled
from assay_lab.methods.fitted import FittedDetector
from assay_lab.testbed.configuration import EvaluationSettings, configured
from assay_lab.testbed.plant import Planted, part_column

FITTED_ON = ("calibration-member", "calibration-nonmember")
"""Parts of the texts whose labels a detector may use."""


def supervised_values(
    planted: Planted, names: Iterable[str], generator: Generator, judging: EvaluationSettings, *, seed: int
) -> dict[str, NDArray[np.float64]]:
    """Return, for each detector, float64 [texts].

    NaN where a text is unscorable, where the detector was fitted on it, and where clean texts are spared.

    Args:
        planted: the texts.
        names: of fitted detectors.
        generator: the model of the checkpoint.
        judging: whether clean texts are spared, and the settings of detectors.
        seed: of every random draw.

    Raises:
        DataError: the calibration split is too small to fit a detector.
    """
    part = part_column(planted.samples).tolist()
    labelled = planted.part(*FITTED_ON)
    labels = is_labelled(labelled, MEMBER).tolist()
    # what a detector was fitted on is not judged by it
    spared = (*FITTED_ON, "unseen") if judging.unseen_one_pass else FITTED_ON
    places = [place for place, name in enumerate(part) if name not in spared]
    judged = at_places(planted.samples, places)
    values = {}
    detectors = detectors_of(FittedDetector)
    for name in names:
        own = judging.settings.get(name)
        settings = {"settings": configured(detectors[name], own)} if own else {}
        fitted = detectors[name](labelled, labels, generator, unlabelled=judged, seed=seed, **settings)
        values[name] = np.full(len(part), np.nan)
        values[name][places] = attributes(fitted.scores(judged), "value")
    return values


def settings_notes(judging: EvaluationSettings, names: Iterable[str]) -> list[str]:
    """Return a sentence on each of these detectors whose settings are not its defaults."""
    detectors, notes = detectors_of(FittedDetector), []
    for name in names:
        own = judging.settings.get(name, {})
        defaults = asdict(detectors[name].settings) if own else {}
        if changes := [f"{key} {value} ({defaults[key]})" for key, value in own.items() if value != defaults[key]]:
            notes.append(
                f"{detectors[name].title} has other settings than its defaults (in brackets), which follow the paper: "
                f"{', '.join(changes)}."
            )
    return notes
