"""Inputs of an audit: the texts, the plan, what they are compared with, and how that is decided."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self, TypedDict

from assay.evaluation import RESAMPLES, BlindBaseline
from assay.leakage.calibration_file import UnseenScores
from assay.leakage.looks import looks_at
from assay.leakage.negative_control import Control
from assay.leakage.texts import doses_of, is_labelled
from assay.models import CachedLogProbScorer
from assay.scores import ScoreRequest
from assay.scoring import Plan, Progress
from assay.types import ReleaseEvidence, Sample

if TYPE_CHECKING:
    from assay.leakage.cost import WholeWork
    from assay.leakage.literature import Literature
    from assay.leakage.planting import Planting

Ties = Literal["strict", "inclusive"]
Weights = Literal["none", "length", "control"]


class Draws(TypedDict):
    """The resamples behind every interval: the same for all scores, so that these can be compared."""

    seed: int
    resamples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonData:
    """Texts, or scores of texts, that the benchmark is compared with.

    Attributes:
        unseen: text of the same kind that the model has certainly not seen; it calibrates every score.
        unseen_source: source of that text, for the report.
        same_form: the unseen text has the form of the benchmark.
        blind: how well the texts alone tell both apart; None if that was not measured beforehand.
        release: what the lot of a randomised release shows; None without one.
        calibration: instead of `unseen`: scores of such text, from a file.
        control: model that never saw the benchmark, for the same audit; used with `unseen` alone.
        planting: power by doses that are planted in a copy of the model; None for none. Used with `unseen` alone.
        literature: methods of the literature for whole benchmarks; None for none.
        closed: see `ScoreSummary`.
    """

    unseen: Sequence[Sample] = ()
    unseen_source: str = ""
    same_form: bool = False
    blind: BlindBaseline | None = None
    release: ReleaseEvidence | None = None
    calibration: UnseenScores | None = None
    control: Control | None = None
    planting: "Planting | None" = None
    literature: "Literature | None" = None
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSettings:
    """Settings of decisions and intervals.

    Attributes:
        primary: score of the verdict; None for the declared one, see `headline_of`.
        ties: "inclusive" if a paper's own rule calls a sample leaked that only equals its best variant: SrDetection's
            equations are strict, its Algorithm 1 is inclusive.
        seed: of every resampling.
        resamples: number behind each interval of rankings.
        weights: difference of the texts by which p-values are weighted.
        allow_confounded: decide although the result may have another cause than training.
        level: largest p-value of a significant result; None for that of one test.
        whole: score all texts, even where the answer is clear after a part.
    """

    primary: str | None = None
    ties: Ties = "strict"
    seed: int = 0
    resamples: int = RESAMPLES
    weights: Weights = "none"
    allow_confounded: bool = False
    level: float | None = None
    whole: bool = False

    @property
    def draws(self) -> Draws:
        """The resamples behind every interval of rankings."""
        return {"seed": self.seed, "resamples": self.resamples}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLabels:
    """Words of an audit that nothing is computed from.

    Attributes:
        kind: "demo" for the built-in experiment.
        model: its name for people; None for the name of the plan.
        notes: sentences on the data that a reader needs.
    """

    kind: Literal["audit", "demo"] = "audit"
    model: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditInputs:
    """All that an audit begins with.

    Attributes:
        samples: the benchmark; at least one.
        plan: scores and models.
        benchmark: its name, for the report.
        comparison: what it is compared with.
        decision: settings of decisions and intervals.
        labels: kind, name of the model and notes, for the report.
        progress: called after every batch.
        phase: called with the name of each part of the work before it begins.
        work: the parts of the work as one; None where `progress` is called for each part.
    """

    samples: tuple[Sample, ...]
    plan: Plan
    benchmark: str
    comparison: ComparisonData
    decision: DecisionSettings
    labels: AuditLabels
    progress: Progress | None = None
    phase: Callable[[str], None] | None = None
    work: "WholeWork | None" = None

    @property
    def primary(self) -> str:
        """Score of the verdict."""
        return self.decision.primary or headline_of(self.plan.requests)

    @property
    def headline(self) -> ScoreRequest | None:
        """The score of the verdict as it was requested."""
        return next((entry for entry in self.plan.requests if entry.name == self.primary), None)

    @property
    def model(self) -> str:
        """Name of the audited model, for people."""
        return self.labels.model or self.plan.name

    @property
    def can_end_early(self) -> bool:
        """True if the permutation test or the residual decides, and no result needs all texts.

        Without a cache the texts of a first part would run twice.
        """
        comparison, decision = self.comparison, self.decision
        # doses, methods of the literature and a lot are about the benchmark as a whole
        if not comparison.unseen or comparison.planting or comparison.literature or comparison.release:
            return False
        if decision.whole or decision.weights != "none":
            return False
        # an interval of a ranking has no level that looks could share
        if is_labelled(self.samples) or doses_of(self.samples) is not None:
            return False
        if next(looks_at(len(self.samples), 1.0)).texts == len(self.samples):
            return False
        # flags of generated text have no test of groups, so nothing could be spent on looks
        tested = self.headline is not None and self.headline.definition.access != "black"
        return tested and isinstance(self.plan.models["target"], CachedLogProbScorer)

    def part(self, own: Sequence[int], unseen: Sequence[int], *, level: float) -> Self:
        """Return the audit of some samples and some unseen texts, by their places."""
        comparison = replace(self.comparison, unseen=[self.comparison.unseen[place] for place in sorted(unseen)])
        # in the order of the benchmark, as names and tables have it
        samples = tuple(self.samples[place] for place in sorted(own))
        return replace(self.at_level(level), samples=samples, comparison=comparison)

    def at_level(self, level: float) -> Self:
        """Return the same at another level of significance."""
        return replace(self, decision=replace(self.decision, level=level))

    def with_release(self, release: ReleaseEvidence) -> Self:
        """Return the same with what the lot of a randomised release shows."""
        return replace(self, comparison=replace(self.comparison, release=release))

    def progress_of(self, plan: Plan, texts: Sequence[Sample]) -> Progress | None:
        """Return what is called after every batch of texts under a plan."""
        return self.progress if self.work is None else self.work.part(plan, texts)

    def begin(self, part: str) -> None:
        """Name the part of the work that begins."""
        if self.phase is not None:
            self.phase(part)


def headline_of(requests: Sequence[ScoreRequest]) -> str:
    """Return the score of the headline: one that is declared for it, token probabilities first; else the first one."""
    declared = [entry for entry in requests if "headline" in entry.definition.flags]
    return min(declared or requests[:1], key=lambda entry: entry.definition.access == "black").name
