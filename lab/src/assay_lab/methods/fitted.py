"""Detectors that are fitted on texts of known membership, and judge other texts that a model only generates from.

A detector is an entry here and a module, which is imported when the detector is used: a list of scores waits for no
torch. Its rule is a value above 0.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from assay.errors import DataError
from assay.scores import Access, Detector, detectors_of
from assay.types import MEMBER, NONMEMBER, Generator, Sample, Score
from assay_lab.columns import among, is_labelled
from assay_lab.methods.labelled import TrainingTexts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Fitted(Protocol):
    """A fitted detector; a value above the rule of its entry speaks for the positive label."""

    @property
    def labels(self) -> int:
        """The number of labelled samples that it was fitted on."""
        ...

    def scores(self, samples: Sequence[Sample]) -> list[Score]:
        """Return one score a sample; higher is more like the positive samples."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedDetector(Detector):
    """A detector that learns from samples of known label.

    Attributes:
        module: has a function `fit` of samples, labels (True = positive), the audited model, and settings by keyword.
    """

    kind = "fitted"
    access: Access = "labelled"
    rule: float | None = 0.0
    module: str

    @property
    def settings(self) -> "DataclassInstance":
        """The settings of the paper: the default of the argument `settings` of `fit`."""
        default: DataclassInstance = inspect.signature(import_module(self.module).fit).parameters["settings"].default
        return default

    def __call__(
        self, samples: Sequence[Sample], labels: Sequence[bool], generator: Generator, **settings: object
    ) -> Fitted:
        """Fit the detector.

        Args:
            samples: the samples to learn from.
            labels: True for a positive sample.
            generator: the audited model.
            settings: the detector's own, among them `seed`.

        Raises:
            DataError: too few samples of a label.
            ModelError: a model cannot be opened or run.
        """
        fitted: Fitted = import_module(self.module).fit(samples, labels, generator, **settings)
        return fitted


dpdllm = FittedDetector(
    name="dpdllm",
    title="DPDLLM",
    formula="ln p(features of the generated text, member) - ln p(features, non-member)",
    reference="Zhou et al., Findings of ACL 2024",
    module="assay_lab.methods.dpdllm",
)
veil_probe = FittedDetector(
    name="veil_probe",
    title="VeilProbe",
    formula="distance to the prototype of the non-members - that to the prototype of the members",
    reference="Hu et al., IJCAI 2025",
    module="assay_lab.methods.veil_probe",
)


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
    labelled = among(samples, "label", (MEMBER, NONMEMBER))
    if not labelled:
        raise DataError(
            f"none of {len(samples)} texts to learn from is labelled: expected a column of labels, 1 = member"
        )
    labels = is_labelled(labelled, MEMBER).tolist()
    # before hours of generation
    TrainingTexts(tuple(labelled), tuple(labels), seed).refuse_overlap(unlabelled)
    return {
        name: detector(labelled, labels, generator, unlabelled=unlabelled, seed=seed)
        for name, detector in detectors_of(FittedDetector).items()
        if detector.positive == MEMBER
    }
