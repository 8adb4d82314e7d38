"""Detectors of every kind: the entry of the registry, and the decorators that make one.

A detector is one function in one file:

- a sample-level score (`definition.score`): the inputs of one sample → one value;
- a dataset-level detector (`dataset_level`): a whole benchmark, often beside unseen text → one value.

A plug-in may have detectors of another kind, which a command of its own runs.

The entry of a detector holds all facts about it, so that no other module names a detector: lists are made of flags.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, Required, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from assay.errors import ScoreError
from assay.scores.parameters import defaults_of
from assay.types import Sample, TokenStatistics

Access = Literal["gray", "two models", "several models", "black", "labelled"]
"""What has to be available: token probabilities of the audited model, those of two models, those and models that fill,
revise or describe the text, only the text that the audited model generates, or that and samples of known label."""
GENERATED = "generated"
"""The positive label of a detector of machine-written text."""
Flag = Literal["ours", "headline", "verdict", "default", "demo", "weights", "rank", "naming"]
"""A declaration, made before any data is looked at.

- ours: proposed by this project.
- headline: the headline of a report, for its kind and access; the first requested one in the registry's order.
- verdict: may carry a verdict on a benchmark. Normalised scores and contrasts (with variants, or with a parent model)
  may; raw likelihoods may not, because they measure first of all how predictable a text is.
- default: in the default list of its access. Scores of one forward pass are, without the flag.
- demo: part of the demonstration.
- weights: describes a text for weighted p-values, under the control: how likely, surprising and varied it is.
- rank: the negated rank p-value of a text among its variants; on unseen text it measures how natural new names are.
- naming: names single samples where the score of the headline does not compare variants.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """An entry of the registry.

    Attributes:
        kind: "sample" if it judges a sample, "dataset" if it judges a whole benchmark, or that of a plug-in.
        name: public name.
        title: name in the literature.
        formula: one line, in the notation of the documentation.
        reference: where it was published.
        access: what has to be available of the model.
        positive: the label that a high value speaks for.
        flags: see `Flag`.
        rule: the value above which the paper itself decides for the positive label; None if it states no such value.
        aliases: other names that a request may use.
    """

    kind: ClassVar[str]
    name: str
    title: str
    formula: str
    reference: str
    access: Access
    positive: str = "member"
    flags: Collection[Flag] = frozenset()
    rule: float | None = None
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if "headline" in self.flags and "verdict" not in self.flags:
            raise ScoreError(f"detector {self.name}: a headline is a verdict; expected the flag verdict as well")


class EntryOptions(TypedDict, total=False):
    """Fields of the entry of any detector; see `Detector` for each."""

    title: Required[str]
    formula: Required[str]
    reference: Required[str]
    positive: str
    flags: Collection[Flag]
    aliases: tuple[str, ...]


class ScoreOptions(EntryOptions, total=False):
    """Fields of the entry of a score."""

    rule: float


class DatasetOptions(ScoreOptions):
    """Fields of the entry of a dataset-level detector."""

    access: Required[Access]


@dataclass(frozen=True, slots=True)
class FineTuning:
    """A fine-tuning of the audited model with LoRA, which is measured and then taken off again.

    Attributes:
        on: "benchmark" or "unseen", the texts that it is fine-tuned on.
        epochs: passes over the texts.
        whole_batch: one optimiser step an epoch over all texts (batch gradient descent), not one for every few.
    """

    on: Literal["benchmark", "unseen"] = "benchmark"
    epochs: int = 1
    whole_batch: bool = False


class DatasetModel(Protocol):
    """The audited model as a dataset-level detector runs it. Each text is run once, however many detectors ask."""

    @property
    def context(self) -> int | None:
        """Tokens that the model reads at most; None where it does not tell."""
        ...

    @property
    def one_pass_scores(self) -> tuple[str, ...]:
        """Names of the scores that one forward pass of this model gives."""
        ...

    def scores(self, score: str, samples: Sequence[Sample], tuning: FineTuning | None = None) -> NDArray[np.float64]:
        """Return a sample-level score, float64 [samples], NaN where unscorable.

        Args:
            score: as in a request, `min_k:k=0.1`.
            samples: of the benchmark or of the unseen text.
            tuning: of the model; None for the model as it is.
        """
        ...

    def statistics(self, texts: Sequence[str]) -> Iterator[TokenStatistics]:
        """Yield the statistics of other texts, such as joined samples, in their order."""
        ...

    def embeddings(
        self, samples: Sequence[Sample], *, layer: int = -1, tuning: FineTuning | None = None
    ) -> NDArray[np.float32]:
        """Return the hidden state of the last token of each sample, float32 [samples, d]."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DatasetInputs:
    """Everything that a dataset-level detector may use.

    Attributes:
        samples: the benchmark.
        unseen: text of the same kind that the model has certainly not seen; may be empty.
        model: runs what a detector asks for.
        seed: of every random draw.
    """

    samples: Sequence[Sample]
    unseen: Sequence[Sample]
    model: DatasetModel
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetScore:
    """The result of a dataset-level detector.

    Attributes:
        value: higher = more contaminated; NaN where there is none, for a `reason`.
        p_value: one-sided, of a value this high where nothing leaked; NaN where the method has no null distribution.
        unseen_value: the same of the unseen text, for comparison; NaN where it was not computed.
        called: the authors' own decision; None where their method states no rule.
        samples: number of samples behind the value.
        details: name → further figures.
        reason: why there is no value; None where there is one.
    """

    value: float
    p_value: float = math.nan
    unseen_value: float = math.nan
    called: bool | None = None
    samples: int = 0
    details: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """One thing that a dataset-level detector has run; detectors that need equal work share it.

    Attributes:
        name: in words.
        passes: forward passes over the texts; a pass with a gradient counts three.
        on: the texts.
    """

    name: str
    passes: float
    on: Literal["benchmark", "unseen"] = "benchmark"


SCORES_OF_BENCHMARK = Work("scores", 1)
SCORES_OF_UNSEEN = Work("scores", 1, "unseen")
EMBEDDINGS = Work("embeddings", 1)


def tuning_work(tuning: FineTuning) -> tuple[Work, ...]:
    """Return the work of a fine-tuning and of the one pass after it, which gives scores and embeddings."""
    # equal works are shared, so the name holds all that tells two fine-tunings apart
    way = f"{tuning.epochs} epochs{' of one step' if tuning.whole_batch else ''}"
    return (
        Work(f"fine-tuning on the {tuning.on}, {way}", 3 * tuning.epochs, tuning.on),
        Work(f"pass tuned on the {tuning.on}, {way}", 1),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDetector(Detector):
    """A detector that judges a benchmark as a whole.

    Attributes:
        judge: the inputs, and its parameters by keyword → the result; the parameters have the paper's defaults.
        work: parameters by keyword → what has to be run.
        defaults: parameter → its default.
    """

    kind = "dataset"
    judge: Callable[..., DatasetScore]
    work: Callable[..., Sequence[Work]]
    defaults: Mapping[str, object] = field(default_factory=dict)

    def __call__(self, inputs: DatasetInputs, **parameters: object) -> DatasetScore:
        """Judge a benchmark."""
        return self.judge(inputs, **parameters)


def dataset_level(
    *, name: str, work: Callable[..., Sequence[Work]], **options: Unpack[DatasetOptions]
) -> Callable[[Callable[..., DatasetScore]], DatasetDetector]:
    """Make a function a dataset-level detector; its keyword-only parameters are the detector's own.

    Args:
        name: public name.
        work: see `DatasetDetector`; takes the same parameters.
        options: further fields of `Detector`.
    """

    def define(judge: Callable[..., DatasetScore]) -> DatasetDetector:
        return DatasetDetector(name=name, judge=judge, work=work, defaults=defaults_of(judge), **options)

    return define
