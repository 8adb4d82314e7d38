"""The result of judging a whole benchmark: plain values that the report draws and the run folder stores."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from assay.evaluation import (
    BlindBaseline,
    ContaminatedShare,
    Effect,
    Estimate,
    FlagRate,
    MeanGradient,
    clearly_smaller,
)
from assay.leakage.results import NegativeControl
from assay.reports import Report, TabularResult
from assay.scores import DatasetScore
from assay.types import Decision, Verdict

TIMES_SEEN: Mapping[int, Effect] = {
    1: Effect(0.625, 0.175),
    2: Effect(0.753, 0.375),
    4: Effect(0.886, 0.717),
    8: Effect(0.990, 0.975),
}
"""By `mid_pit` under `builtin:small`: 120 functions of each number against 700 of other numbers never seen
(`benchmarks/bench_dataset.py`). Other models remember more or less of a text that they saw as often."""
FAMILIARITY = 0.5
"""Allowance for texts that were not trained on, of projects of which other texts were: so many standard deviations of
the unseen text higher may they score. The smallest of six values with at most 5 % of the benchmarks of such texts
called contaminated, on the seeds of the reliability grid that chose (docs/dataset-verdicts-measured.md)."""
BEYOND_FAMILIARITY: Mapping[int, Effect] = {
    1: Effect(0.481, 0.075),
    2: Effect(0.639, 0.233),
    4: Effect(0.814, 0.542),
    8: Effect(0.973, 0.917),
}
"""As `TIMES_SEEN`, after the allowance is taken off the scores of the functions that were seen."""
COVERED = 0.9
"""Part of a benchmark of whose groups there is unseen text, from which on no allowance is made: that text has become
familiar as well."""
BOUND_AT = 4
"""Times seen of the sentence on the upper bound."""


@dataclass(frozen=True, slots=True)
class MethodResult:
    """The result of one method.

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
        own: of the benchmark.
        unseen: of the unseen text.
    """

    own: MeanGradient
    unseen: MeanGradient

    @property
    def is_open(self) -> bool:
        """True if the mean gradient of the benchmark is clearly smaller than that of unseen text."""
        return clearly_smaller(self.own, self.unseen)


@dataclass(frozen=True, slots=True)
class JudgingCost:
    """Estimate of the work, made before it begins.

    Attributes:
        passes: name of the work → forward passes over the benchmark or the unseen text; a training step counts three.
        texts: number of passes of single texts in all.
        hours: at the speed of a short trial.
    """

    passes: Mapping[str, float]
    texts: float
    hours: float


@dataclass(frozen=True, slots=True)
class JudgingPreview:
    """All that is known before a benchmark is judged.

    Attributes:
        cost: of the run.
        detectable: times seen → the smallest share of such texts that the test reveals with 80 % power; infinite where
            none does; empty without unseen text.
    """

    cost: JudgingCost
    detectable: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DatasetJudgement(TabularResult):
    """A verdict on a whole benchmark, with everything that it rests on.

    Attributes:
        kind: "dataset".
        score: sample-level score that carries the verdict.
        samples: of the benchmark; `scored` have a value, `groups` is the number of their groups.
        unseen: unseen texts; `unseen_groups` likewise.
        unseen_source: the unseen text in words.
        methods: results in the order requested.
        p_value: of the permutation test by group, with `score`; NaN where it could not be made.
        share: contaminated share; None without unseen text.
        flagged: share of samples that stand out one by one, at 5 %; None without unseen text.
        blind: baseline that never sees the model; None without unseen text.
        control: the same comparison under a model that saw neither set; None where none was run.
        gate: of the kernel divergence; None where it was not run, or there is no unseen text.
        preview: what was known before the run.
        decision: the verdict.
        notes: one sentence each.
        set_aside: why the verdict would be "cannot tell" without `--allow-confounded`; None where it would not.
        p_beyond: of the permutation test after the allowance for familiar projects is taken off the scores of the
            benchmark; NaN where none is made, and in runs of earlier versions.
    """

    kind: Literal["dataset"]
    model: str
    benchmark: str
    score: str
    samples: int
    scored: int
    groups: int
    unseen: int
    unseen_groups: int
    unseen_source: str
    methods: tuple[MethodResult, ...]
    p_value: float
    share: ContaminatedShare | None
    flagged: FlagRate | None
    blind: BlindBaseline | None
    control: NegativeControl | None
    gate: GradientGate | None
    preview: JudgingPreview
    decision: Decision
    notes: tuple[str, ...] = ()
    set_aside: str | None = None
    p_beyond: float = math.nan

    @property
    def reported_share(self) -> Estimate | None:
        """Estimated share; None without a verdict, as it may then have another cause than training."""
        return None if self.share is None or self.decision.verdict is Verdict.CANNOT_TELL else self.share.estimate

    def upper_bound(self, times: int = BOUND_AT) -> float | None:
        """Return the upper 95 % bound on the share of texts that were seen so often or more.

        None where the verdict is not "no evidence", or without an interval.
        """
        no_evidence = self.decision.verdict is Verdict.NO_EVIDENCE
        if self.share is None or not no_evidence or not self.share.top.has_interval:
            return None
        return self.share.upper_at(TIMES_SEEN[times].top)

    def to_arrow(self) -> pa.Table:
        """Return one row per method: name, value, p-value, value of the unseen text, the authors' decision, reason."""
        scores = [method.score for method in self.methods]
        return pa.table(
            {
                "method": pa.array([method.name for method in self.methods], pa.string()),
                "value": pa.array([score.value for score in scores], pa.float64(), from_pandas=True),
                "p_value": pa.array([score.p_value for score in scores], pa.float64(), from_pandas=True),
                "unseen_value": pa.array([score.unseen_value for score in scores], pa.float64(), from_pandas=True),
                "called": pa.array([score.called for score in scores], pa.bool_()),
                "reason": pa.array([score.reason for score in scores], pa.string()),
            }
        )

    def describe(self) -> Report:
        """Return the report of the judgement."""
        from assay.leakage.dataset_level.describing import describe_judgement  # noqa: PLC0415  made from this value

        return describe_judgement(self)
