"""The results of a controlled experiment, as plain values that reports draw and the run folder stores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.evaluation import Estimate, FlagRate
from assay_lab.columns import attributes
from assay_lab.evaluation.differences import Difference

SampleView = Literal["all", "filtered"]
"""All samples, or those that pass the paper's filter: under the base model some variant is at least as easy."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Decisions at a threshold, compared with the truth (macro means over the two classes).

    Attributes:
        threshold: at or above is positive; for the paper's rule the least float above it.
        fitted_on: labelled calibration texts that it was fitted on; 0 for a rule that its paper states.
    """

    threshold: float
    fitted_on: int
    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate


@dataclass(frozen=True, slots=True)
class Null:
    """Conformal decisions at a nominal level, against the held-out texts of the calibration split.

    Attributes:
        alpha: nominal false-positive rate.
        calibrated_on: unseen texts behind the p-values.
        clean: share flagged of the texts that nothing was trained or fitted on (held-out and unseen ones).
        members: share flagged of the texts that were trained on.
    """

    alpha: float
    calibrated_on: int
    clean: FlagRate
    members: FlagRate


@dataclass(frozen=True, slots=True)
class DetectorResult:
    """One detector on one checkpoint.

    Attributes:
        detector: its name.
        epoch: 0 is the base model, which saw no member more than any other text.
        view: which samples.
        members, nonmembers: judged samples with a value.
        unscorable: judged samples without one.
        auroc: members against non-members, as are the next.
        tpr_at_fpr: FPR → TPR.
        decided: None where there is no threshold (one class is missing).
        rule_on_unseen: share of the clean texts that the paper's own rule calls leaked; None where there is no rule.
        nulls: conformal decisions at each level; empty where too few texts calibrate.
    """

    detector: str
    epoch: int
    view: SampleView
    members: int
    nonmembers: int
    unscorable: int
    auroc: Estimate
    tpr_at_fpr: Mapping[float, Estimate]
    decided: Decided | None
    rule_on_unseen: Estimate | None
    nulls: tuple[Null, ...]

    @property
    def coverage(self) -> float:
        """Share of the judged samples with a value."""
        scored = self.members + self.nonmembers
        return scored / (scored + self.unscorable) if scored + self.unscorable else float("nan")


@dataclass(frozen=True, slots=True)
class Contest:
    """AUROC of a candidate minus that of a rival, on the samples that both can score."""

    candidate: str
    rival: str
    epoch: int
    view: SampleView
    difference: Difference


@dataclass(frozen=True, slots=True)
class Blind:
    """The better of two baselines that separate the classes without the model."""

    view: SampleView
    kind: str
    auroc: Estimate
    separates: bool


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that one run measured.

    Attributes:
        name: of the configuration.
        model: the base model.
        seed: of the run.
        parts: part → texts planted.
        passed_filter: part → texts of it that pass the paper's filter; empty without variants.
        cells: detectors × checkpoints × views.
        contests: candidates against rivals.
        blind: one a view, where it could be measured.
        notes: what a reader should know, one sentence each.
    """

    name: str
    model: str
    seed: int
    parts: Mapping[str, int]
    passed_filter: Mapping[str, int]
    cells: tuple[DetectorResult, ...]
    contests: tuple[Contest, ...]
    blind: tuple[Blind, ...]
    notes: tuple[str, ...]

    def cell(self, detector: str, epoch: int, view: SampleView = "all") -> DetectorResult | None:
        """Return the result of a detector on a checkpoint; None where it was not measured."""
        matches = (c for c in self.cells if (c.detector, c.epoch, c.view) == (detector, epoch, view))
        return next(matches, None)

    @property
    def epochs(self) -> tuple[int, ...]:
        """The checkpoints, the base model first."""
        return tuple(sorted(set(attributes(self.cells, "epoch"))))

    @property
    def detectors(self) -> tuple[str, ...]:
        """Names of the detectors, in the order of the table."""
        return tuple(dict.fromkeys(attributes(self.cells, "detector")))
