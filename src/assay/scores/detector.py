"""Detectors of every kind: the entry of the registry, and the decorators that make one.

A detector is one of three kinds, and each is one function in one file:

- a sample-level score (`definition.score`): the inputs of one sample → one value;
- a fitted detector (`fitted`): samples of known label and the audited model → an object that scores other samples;
- a dataset-level detector (`dataset_level`): a whole benchmark beside unseen text → one p-value.

The entry of a detector holds all facts about it, so that no other module names a detector: lists are made of flags.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.errors import ScoreError
from assay.types import Generator, Sample, Score

DetectorKind = Literal["sample", "fitted", "dataset"]
Access = Literal["gray", "two models", "black", "labelled"]
"""What has to be available: token probabilities of the audited model, those of two models, only the text that the
audited model generates, or that and samples of known label."""
SRDETECTION = "SrDetection"
"""Li et al., SrDetection: A Self-Referential Framework for Data Leakage Detection in Code LLMs."""
Flag = Literal["ours", "baseline", "contender", "headline", "verdict", "default", "filter", "figure", "demo"]
"""A declaration, made before any data is looked at.

- ours: proposed by this project.
- baseline: the detectors that contenders are compared with.
- contender: compared with every baseline, on the same samples.
- headline: the headline of a report, for its kind and access; the first requested one in the registry's order.
- verdict: may carry a verdict on a benchmark. Normalised scores and contrasts (with variants, or with a parent model)
  may; raw likelihoods may not, because they measure first of all how predictable a text is.
- default: in the default list of its access. Scores of one forward pass are, without the flag.
- filter: a text whose value under the model before training is negative passes the filter of the testbed.
- figure: drawn where only a few detectors fit into a figure.
- demo: part of the demonstration.
"""


@dataclass(frozen=True, slots=True)
class Preset:
    """Parameters under which a detector is also compared in experiments.

    Attributes:
        parameters: as in a request after the name, `k=1.0`.
        title: of the detector with these parameters.
        flags: its own; those of the detector do not hold for it.
    """

    parameters: str
    title: str
    flags: Collection[Flag] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """An entry of the registry.

    Attributes:
        name: public name.
        title: name in the literature.
        formula: one line, in the notation of the documentation.
        reference: where it was published.
        access: what has to be available of the model.
        positive: the label that a high value speaks for.
        flags: see `Flag`.
        rule: the value above which the paper itself decides for the positive label; None if it states no such value.
        names_in: paper → the name of this detector in its tables.
        presets: parameters under which it is also compared.
        aliases: other names that a request may use.
    """

    name: str
    title: str
    formula: str
    reference: str
    access: Access
    positive: str = "member"
    flags: Collection[Flag] = frozenset()
    rule: float | None = None
    names_in: Mapping[str, str] = field(default_factory=dict)
    presets: tuple[Preset, ...] = ()
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if "headline" in self.flags and "verdict" not in self.flags:
            raise ScoreError(f"detector {self.name}: a headline is a verdict; expected the flag verdict as well")

    @property
    def kind(self) -> DetectorKind:
        """Its kind: it judges a sample, a sample after it was fitted, or a whole dataset."""
        raise NotImplementedError


class DetectorOptions(TypedDict, total=False):
    """Optional fields of an entry; see `Detector` for each."""

    positive: str
    flags: Collection[Flag]
    rule: float
    names_in: Mapping[str, str]
    presets: tuple[Preset, ...]
    aliases: tuple[str, ...]


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
        fit: samples, labels (True = positive), the audited model, and settings by keyword → the fitted detector.
    """

    fit: Callable[..., Fitted]

    @property
    def kind(self) -> DetectorKind:
        """See `Detector`."""
        return "fitted"

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
        return self.fit(samples, labels, generator, **settings)


@dataclass(frozen=True, slots=True, eq=False)
class DatasetInputs:
    """Everything that a dataset-level detector may use.

    Attributes:
        samples: the benchmark.
        values: float64 [samples], a score that may carry a verdict; NaN where unscorable.
        unseen: text of the same kind that the model has certainly not seen.
        unseen_values: float64 [unseen], the same score.
        seed: of every random draw.
    """

    samples: Sequence[Sample]
    values: NDArray[np.float64]
    unseen: Sequence[Sample]
    unseen_values: NDArray[np.float64]
    seed: int = 0


class DatasetVerdict(Protocol):
    """The result of a dataset-level detector."""

    @property
    def p_value(self) -> float:
        """One-sided, of a result this strong where nothing leaked; NaN where it cannot be computed."""
        ...


Verdict_co = TypeVar("Verdict_co", bound=DatasetVerdict, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDetector(Detector, Generic[Verdict_co]):
    """A detector that judges a benchmark as a whole.

    Attributes:
        judge: the inputs → the verdict.
    """

    judge: Callable[[DatasetInputs], Verdict_co]

    @property
    def kind(self) -> DetectorKind:
        """See `Detector`."""
        return "dataset"

    def __call__(self, inputs: DatasetInputs) -> Verdict_co:
        """Judge a benchmark."""
        return self.judge(inputs)


def fitted(
    *,
    name: str,
    title: str,
    formula: str,
    reference: str,
    positive: str = "member",
    flags: Collection[Flag] = frozenset(),
    names_in: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Fitted]], FittedDetector]:
    """Make a function a fitted detector; its own rule is a value above 0."""

    def define(fit: Callable[..., Fitted]) -> FittedDetector:
        return FittedDetector(
            name=name,
            title=title,
            formula=formula,
            reference=reference,
            access="labelled",
            positive=positive,
            flags=frozenset(flags),
            rule=0.0,
            names_in=dict(names_in or {}),
            fit=fit,
        )

    return define


def dataset_level(
    *,
    name: str,
    title: str,
    formula: str,
    reference: str,
    access: Access,
    positive: str = "member",
    flags: Collection[Flag] = frozenset(),
) -> Callable[[Callable[[DatasetInputs], Verdict_co]], DatasetDetector[Verdict_co]]:
    """Make a function a dataset-level detector."""

    def define(judge: Callable[[DatasetInputs], Verdict_co]) -> DatasetDetector[Verdict_co]:
        return DatasetDetector(
            name=name,
            title=title,
            formula=formula,
            reference=reference,
            access=access,
            positive=positive,
            flags=frozenset(flags),
            judge=judge,
        )

    return define
