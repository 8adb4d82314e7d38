"""Results of an audit: plain values, no behaviour. The report draws them, the run folder stores them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from assay.evaluation import (
    BlindBaseline,
    DetectableLeak,
    DosePoint,
    Estimate,
    FlagRate,
    MeanGradient,
    Ranking,
    benjamini_hochberg,
    clearly_smaller,
    seen_share_bound,
)
from assay.leakage.form_test import FormTest
from assay.leakage.unseen_test import BOUND_AT, UnseenTest
from assay.reports import TabularResult
from assay.scores import DatasetScore
from assay.types import Decision, Float32Array, Int32Array, ReleaseEvidence, Sample, Verdict


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distribution of the values of one score over the scorable samples.

    Attributes:
        mean: arithmetic mean = the benchmark's dataset-level value of this score.
        std: standard deviation (ddof 1; NaN for fewer than two values).
        quantiles: value at each of the shares .05, .25, .5, .75, .95.
    """

    mean: float
    std: float
    quantiles: Mapping[float, float]


BEYOND, NO_MORE = 0.1, 0.15
"""Excess over the control from which a result is more than a difference of the texts, and below which it is no more:
the pair of three with no wrong verdict on the choice half of `assay lab run control/control_rule`."""


@dataclass(frozen=True, slots=True)
class NegativeControl:
    """The same audit with a model that certainly never saw the benchmark: same samples, unseen texts and score.

    It measures how much the score differs between the two sets of texts for a reason other than training.

    Attributes:
        model: name of that model.
        flagged: what it flags, with interval and chance level.
        excess: share that the audited model flags minus that of the control, with a 90 % interval over groups; None
            with weighted p-values.
    """

    model: str
    flagged: FlagRate
    excess: Estimate | None = None

    @property
    def is_flat(self) -> bool:
        """True if the whole interval of the flagged share is within alpha of chance (an equivalence test)."""
        rate, chance, margin = self.flagged.rate, self.flagged.chance, self.flagged.alpha
        return rate.has_interval and chance - margin <= rate.low and rate.high <= chance + margin

    @property
    def is_below_chance(self) -> bool:
        """True if the whole interval of the flagged share is below chance: the unseen text scores higher by itself."""
        return self.flagged.rate.high < self.flagged.chance

    def permits(self, *, significant: bool) -> bool:
        """Return True if a result is clearly more than the difference of the texts, or clearly no more than it.

        Args:
            significant: the audited model flags more than chance.
        """
        # flat: the difference of the texts does nothing to the score. Else the result stands only where the excess over
        # the control, in which that difference cancels out, is clear in either direction
        if self.is_flat:
            return True
        if self.excess is None or not self.excess.has_interval:
            return False
        return self.excess.low > BEYOND if significant else self.excess.high < NO_MORE


@dataclass(frozen=True, slots=True)
class PlantedDose:
    """Unseen texts that a copy of the model was trained on, all equally often.

    Attributes:
        dose: times; 0 for texts beside the planted ones, of the same groups.
        flagged: how many of them stand out under the tuned model.
        gain: mean rise of the mean log-probability of a token in nats; NaN where none was scored.
        detectable: smallest share of the benchmark that is called familiar with 80 % probability if it leaked at
            this dose; infinite where none is, NaN for dose 0.
    """

    dose: int
    flagged: FlagRate
    gain: float
    detectable: float


@dataclass(frozen=True, slots=True)
class PlantedPower:
    """The power of an audit, from planted doses.

    Attributes:
        doses: in rising order, from 0.
        rate: learning rate of the training.
        held_out: unseen texts that calibrated under the tuned model.
        barred: category of what forbids the verdict at any share; "" where nothing does.
    """

    doses: tuple[PlantedDose, ...]
    rate: float
    held_out: int
    barred: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """One score calibrated on text that the audited model has certainly not seen (split-conformal).

    Attributes:
        source: where the unseen text came from.
        unseen: number m of scorable unseen texts.
        alpha: nominal false-positive rate of the decision.
        p_values: float64 [samples], (1 + number of unseen scores ≥ s) / (m + 1), or weighted; NaN where unscorable.
        q_values: float64 [samples], Benjamini-Hochberg over the benchmark; NaN where unscorable.
        flagged: samples with p ≤ alpha, with interval, chance level and the p-value of so many.
        threshold: the least value that is flagged at alpha; NaN where m is too small to flag anything, and where
            p-values are weighted, so that there is none for all samples.
        false_positives: the same rate over samples labelled nonmember; None without labels.
        true_positives: the same rate over samples labelled member; None without labels.
        by_dose: dose → the same rate over samples of that dose; empty where doses are unknown.
        flagged_at_half: samples with p ≤ .5, likewise; None in runs of before it was kept.
        unseen_groups: number of groups of the unseen texts; as many as texts where the groups are not known.
        detectable: the smallest leak that this audit would have detected; None in runs of before it was kept.
        control: the same for a model that never saw the benchmark; None where no such model was run.
        planted: power by planted doses, for the primary score alone; None where none were planted.
    """

    source: str
    unseen: int
    alpha: float
    p_values: NDArray[np.float64]
    q_values: NDArray[np.float64]
    flagged: FlagRate
    threshold: float
    false_positives: FlagRate | None = None
    true_positives: FlagRate | None = None
    by_dose: Mapping[int, FlagRate] = field(default_factory=dict)
    flagged_at_half: FlagRate | None = None
    unseen_groups: int = 0
    detectable: DetectableLeak | None = None
    control: NegativeControl | None = None
    planted: PlantedPower | None = None

    @property
    def seen_at_least(self) -> float:
        """Lower confidence bound (95 %) of the share of samples that are not like unseen text; NaN if there is none."""
        if self.flagged_at_half is None:
            return math.nan
        # a small shift of many scores shows at the median, a large one of few in the tail
        return seen_share_bound([self.flagged, self.flagged_at_half])

    @property
    def discoveries(self) -> int:
        """Number of samples with q ≤ alpha."""
        return int(np.sum(self.q_values <= self.alpha))

    @property
    def adaptive_discoveries(self) -> int:
        """The same with q-values that take Storey's estimate of the share of unseen samples into account."""
        return int(np.sum(benjamini_hochberg(self.p_values, adaptive=True) <= self.alpha))


@dataclass(frozen=True, slots=True)
class PartResult:
    """One part of the tasks of a benchmark, compared with the same part of the unseen texts.

    Attributes:
        part: "prompt", "solution" or "tests".
        flagged: tasks whose part has p ≤ alpha by the score of the headline.
        unseen: number of unseen texts whose part has a value.
    """

    part: str
    flagged: FlagRate
    unseen: int


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """One score over one benchmark.

    Attributes:
        score: the score's registered name.
        scored: number of samples with a value; `total - scored` have a reason instead.
        unscorable: reason → number of samples.
        ranking: members against non-members; None without labels of both classes.
        doses: one point per known dose against never-seen samples; empty where doses are unknown.
        dose_correlation: Spearman correlation of value and dose; None where doses are unknown.
        calibration: None without known-unseen text.
        test: of the whole benchmark against known-unseen text; None where something else decides, or nothing does.
        form: the residual of the benchmark beside placebos; None where it does not decide.
        release: what the lot of a randomised release shows; None without one.
        decision: the verdict by this score, made once, see `assay.leakage.verdict`.
        same_form: the unseen text has the form of the benchmark.
        level: largest p-value of a significant result, where the benchmark was looked at more than once; else None.
        closed: names of ways to decide that were taken already, or that this audit cannot take, see
            `assay.leakage.outlook`; empty in runs of before it was kept.
        notes: sentences on this score that a reader needs.
    """

    score: str
    scored: int
    total: int
    distribution: Distribution
    unscorable: Mapping[str, int]
    decision: Decision
    ranking: Ranking | None = None
    doses: tuple[DosePoint, ...] = ()
    dose_correlation: Estimate | None = None
    calibration: Calibration | None = None
    test: UnseenTest | None = None
    form: FormTest | None = None
    release: ReleaseEvidence | None = None
    same_form: bool = False
    level: float | None = None
    closed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def separation(self) -> Estimate | None:
        """How well the score separates seen from never-seen samples, of the largest dose where labels are missing."""
        return separation_of(self.ranking, self.doses)

    @property
    def control(self) -> NegativeControl | None:
        """Flags of the negative control by this score; None where none was run."""
        if self.calibration is None:
            return None
        return self.calibration.control

    @property
    def is_open(self) -> bool:
        """True if this score gives no verdict."""
        return self.decision.verdict is Verdict.CANNOT_TELL

    @property
    def share(self) -> Estimate | None:
        """Share that looks trained on; None without a verdict by the test, as it may then have another cause."""
        # where the texts may differ, a high share has other causes than training
        if self.test is None or self.is_open:
            return None
        return self.test.share.estimate


def separation_of(ranking: Ranking | None, doses: Sequence[DosePoint]) -> Estimate | None:
    """Return how well a score separates seen from never-seen samples, of the largest dose where labels are missing."""
    if ranking is not None:
        return ranking.auroc
    # a score that does not separate the largest dose separates no smaller one
    return max(doses, key=lambda point: point.dose).auroc if doses else None


@dataclass(frozen=True, slots=True)
class MethodResult:
    """The result of a method of the literature for whole benchmarks.

    Attributes:
        name: as requested.
        title: in the literature.
        score: value, p-value, the authors' decision.
        seconds: that it took; work that another method had done already counts there.
    """

    name: str
    title: str
    score: DatasetScore
    seconds: float


@dataclass(frozen=True, slots=True)
class GradientGate:
    """Condition under which the direction of a kernel divergence can be trusted.

    Attributes:
        own: mean gradient of the benchmark.
        unseen: that of the unseen text.
    """

    own: MeanGradient
    unseen: MeanGradient

    @property
    def is_open(self) -> bool:
        """True if the mean gradient of the benchmark is clearly smaller than that of unseen text."""
        return clearly_smaller(self.own, self.unseen)


@dataclass(frozen=True, slots=True, eq=False)
class SampleTokens:
    """Token statistics of one sample for the heat map (arrays as in TokenStatistics)."""

    sample_id: str
    log_probs: Float32Array
    ranks: Int32Array
    tail_mass: Float32Array
    offsets: Int32Array


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit(TabularResult):
    """Everything one audit measured and decided.

    Attributes:
        kind: "demo" for the built-in ground-truth experiment, "audit" for a user's model and benchmark.
        values: score name → float64 [samples], NaN where unscorable; oriented, higher = member.
        reasons: score name → one reason or None per sample.
        primary: the score in the headline, declared before any value was looked at.
        blind: baseline that never sees the model; `blind_compares` says what it separates; None where there are not
            two sets of texts to separate.
        blind_compares: "members and non-members" or "this benchmark and the unseen text"; "" without a baseline.
        tokens: the samples that the heat map can show.
        notes: coverage, encodings, matched digests … one sentence each.
        parts: results by part of a task; empty where benchmark or unseen texts have no parts.
        methods: of the literature, in the order requested; empty where none were.
        gate: of the kernel divergence; None where it was not run, or there is no unseen text.
        left_out: number of samples that were not scored, because the answer was clear without them.
    """

    kind: Literal["audit", "demo"]
    model: str
    benchmark: str
    samples: tuple[Sample, ...]
    values: Mapping[str, NDArray[np.float64]]
    reasons: Mapping[str, tuple[str | None, ...]]
    summaries: tuple[ScoreSummary, ...]
    primary: str
    blind: BlindBaseline | None = None
    blind_compares: str = ""
    tokens: tuple[SampleTokens, ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple[PartResult, ...] = ()
    methods: tuple[MethodResult, ...] = ()
    gate: GradientGate | None = None
    left_out: int = 0

    @property
    def deciding(self) -> ScoreSummary:
        """The summary of the primary score."""
        return self.summary(self.primary)

    @property
    def decision(self) -> Decision:
        """The verdict on the benchmark, made once when the audit ended."""
        return self.deciding.decision

    @property
    def primary_first(self) -> list[str]:
        """The scores by name, the primary one first."""
        # the sort is stable, so the others keep their order
        return sorted(self.values, key=lambda name: name != self.primary)

    @property
    def test(self) -> UnseenTest | None:
        """The test behind the verdict; None where labels or flags decided, or nothing did."""
        return self.deciding.test

    @property
    def share(self) -> Estimate | None:
        """Share that looks trained on; None without a verdict by the test, as it may then have another cause."""
        return self.deciding.share

    def upper_bound(self, times: int = BOUND_AT) -> float | None:
        """Return the upper 95 % bound on the share of texts that were seen so often or more.

        None where the verdict is not "no evidence" by the test.
        """
        # a bound beside an accusation would read as its size
        if self.test is None or self.decision.verdict is not Verdict.NO_EVIDENCE:
            return None
        return self.test.upper_bound(times)

    def to_arrow(self) -> pa.Table:
        """Return one row per sample: `id`, `label`, `group`, each score, and `NAME_p`, `NAME_q` of calibrated scores.

        A value that could not be computed is null.
        """
        columns: dict[str, pa.Array] = {}
        for name in ("id", "label", "group"):
            columns[name] = pa.array(map(attrgetter(name), self.samples), pa.string())
        numbers = partial(pa.array, type=pa.float64(), from_pandas=True)  # NaN becomes null
        for name, column in self.values.items():
            columns[name] = numbers(column)
            calibration = self.summary(name).calibration
            if calibration is not None:
                columns |= {f"{name}_p": numbers(calibration.p_values), f"{name}_q": numbers(calibration.q_values)}
        return pa.table(columns)

    def summary(self, score: str) -> ScoreSummary:
        """Return the summary of one score by name."""
        return next(s for s in self.summaries if s.score == score)
