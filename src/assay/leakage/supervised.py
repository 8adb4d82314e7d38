"""Detectors that learn from texts of known membership, fitted together."""

from collections.abc import Sequence

from assay.errors import DataError
from assay.scores import Fitted, FittedDetector, detectors_of
from assay.types import MEMBER, NONMEMBER, Generator, Sample


def fit_all(samples: Sequence[Sample], generator: Generator, *, seed: int = 0) -> dict[str, Fitted]:
    """Fit every fitted detector of the registry on the samples that are labelled member or nonmember.

    Raises:
        DataError: there are none, or too few of a class.
        ModelError: a model cannot be run.
    """
    labelled = [sample for sample in samples if sample.label in (MEMBER, NONMEMBER)]
    if not labelled:
        raise DataError(
            f"none of {len(samples)} texts to learn from is labelled: expected a column of labels, 1 = member"
        )
    labels = [sample.label == MEMBER for sample in labelled]
    detectors = detectors_of(FittedDetector)
    return {
        name: detector(labelled, labels, generator, seed=seed)
        for name, detector in detectors.items()
        if detector.positive == MEMBER
    }
