"""Detectors that are fitted on texts of known membership, fitted together."""

from collections.abc import Sequence

from assay.errors import DataError
from assay.leakage.labelled import TrainingTexts
from assay.scores import Fitted, FittedDetector, detectors_of
from assay.types import MEMBER, NONMEMBER, Generator, Sample


def fit_all(
    samples: Sequence[Sample], generator: Generator, *, unlabelled: Sequence[Sample] = (), seed: int = 0
) -> dict[str, Fitted]:
    """Fit every fitted detector of the registry on the samples that are labelled member or nonmember.

    Args:
        samples: labelled ones among others.
        generator: the audited model.
        unlabelled: the samples to be judged, whose texts, but not whose labels, a detector may use.
        seed: of every random draw.

    Raises:
        DataError: no sample is labelled, or too few of a class are.
        ModelError: a model cannot be run.
    """
    labelled = [sample for sample in samples if sample.label in (MEMBER, NONMEMBER)]
    if not labelled:
        raise DataError(
            f"none of {len(samples)} texts to learn from is labelled: expected a column of labels, 1 = member"
        )
    labels = [sample.label == MEMBER for sample in labelled]
    TrainingTexts(tuple(labelled), tuple(labels), seed).refuse_overlap(unlabelled)  # before hours of generation
    return {
        name: detector(labelled, labels, generator, unlabelled=unlabelled, seed=seed)
        for name, detector in detectors_of(FittedDetector).items()
        if detector.positive == MEMBER
    }
