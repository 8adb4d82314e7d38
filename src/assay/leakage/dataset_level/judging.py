"""Judging a whole benchmark: cost and power first, then the methods, the contaminated share and the verdict.

The verdict rests on one declared score, compared with unseen text by a permutation test over groups. Texts of a
project look familiar to a model that was trained on other texts of it, so "contaminated" needs more: the test is made
again after an allowance for that is taken off the scores. The methods are reported beside it: a reader sees how far
they agree, and none of them decides.
"""

import math
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.errors import DataError
from assay.evaluation import (
    MINIMUM_UNSEEN,
    PERMUTATIONS,
    TOP,
    BlindBaseline,
    ContaminatedShare,
    FlagRate,
    UnseenTail,
    blind_baseline,
    conformal_p_values,
    contaminated_share,
    detectable_share,
    flag_rate,
    robust_spread,
    set_test,
)
from assay.leakage.dataset_level.results import (
    BEYOND_FAMILIARITY,
    BOUND_AT,
    COVERED,
    FAMILIARITY,
    TIMES_SEEN,
    DatasetJudgement,
    GradientGate,
    JudgingCost,
    JudgingPreview,
    MethodResult,
)
from assay.leakage.deciding import LEVEL, Obstacle, comparability, decide, missing_interval, unfit_score
from assay.leakage.measured_model import MeasuredModel
from assay.leakage.negative_control import Control, control_scores
from assay.leakage.results import NegativeControl
from assay.leakage.summarising import groups_of, groups_of_both
from assay.reports import in_cases, named_p_value, percent
from assay.scores import EMBEDDINGS, SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN, DatasetInputs, DatasetRequest, Work
from assay.types import Decision, Float64Array, Undecided

COMPARED = "this benchmark and the unseen text"
MARGIN = 0.15
"""Largest upper bound on the share of texts seen `BOUND_AT` times with which "no evidence" may be said: the largest of
four margins with at most 5 % wrong verdicts on the choice half of the reliability grid."""
TRIAL_TEXTS = 4
ALPHA = 0.05
"""Level at which single samples stand out."""
COVERED_GROUPS = (
    "There is unseen text of the groups of the benchmark, so no allowance was made for projects that the model knows "
    "from other texts."
)
GRADIENTS = (Work("mean gradient", 3), Work("mean gradient", 3, "unseen"))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingSettings:
    """Declarations that a verdict on a benchmark is based on.

    Attributes:
        score: that carries the verdict; declared before any value is looked at.
        requests: the methods that stand beside it.
        seed: of every random draw.
        allow_confounded: decide although the result may have another cause than training.
    """

    score: str
    requests: tuple[DatasetRequest, ...]
    seed: int = 0
    allow_confounded: bool = False


class Compared(NamedTuple):
    """Values of the declared score and the groups behind them, of a benchmark and of unseen text."""

    values: Float64Array
    unseen: Float64Array
    groups: list[Hashable]
    unseen_groups: list[Hashable]

    def allowance(self, familiarity: float = FAMILIARITY) -> float:
        """Return by how many units of the score texts of trained-on projects may be higher.

        0 if the unseen text is of the same groups.

        Args:
            familiarity: the same in standard deviations of the unseen text.
        """
        return 0.0 if is_covered(self.groups, self.unseen_groups) else familiarity * robust_spread(self.unseen)

    def p_value(self, less: float = 0.0, *, permutations: int = PERMUTATIONS, seed: int = 0) -> float:
        """Return the p-value of the permutation test after so much is taken off the scores of the benchmark."""
        return set_test(self.values - less, *self[1:], top=TOP, permutations=permutations, seed=seed).p_value

    def p_beyond(self, familiarity: float = FAMILIARITY, *, permutations: int = PERMUTATIONS, seed: int = 0) -> float:
        """Return the p-value after the allowance is taken off; NaN where none is made."""
        less = self.allowance(familiarity)
        return self.p_value(less, permutations=permutations, seed=seed) if less else math.nan


def work_of(model: MeasuredModel, settings: JudgingSettings) -> tuple[Work, ...]:
    """Return everything that will be run, each thing once.

    Raises:
        MissingCapability: a method needs weights or hidden states, and the model shows none.
    """
    works = dict.fromkeys(work for request in settings.requests for work in request.work)
    if any("fine-tuning" in work.name or work == EMBEDDINGS for work in works):
        _ = model.weights
    if EMBEDDINGS in works and model.unseen:
        works |= dict.fromkeys(GRADIENTS)
    if any("fine-tuning" in work.name for work in works) and model.probe_share:
        works[Work("search for the learning rate", 8 * model.probe_share, "unseen")] = None
    works |= dict.fromkeys((SCORES_OF_BENCHMARK, SCORES_OF_UNSEEN))
    return tuple(work for work in works if work.on == "benchmark" or model.unseen)


def judging_cost(model: MeasuredModel, settings: JudgingSettings) -> JudgingCost:
    """Return the cost of a run, from a trial with a few texts.

    Raises:
        AssayError: a method cannot be run with this model.
    """
    works = work_of(model, settings)
    trial = [sample.text for sample in model.samples[:TRIAL_TEXTS]]
    seconds = model.seconds_for(trial) / max(1, sum(map(len, trial)))
    lengths = {
        "benchmark": sum(len(sample.text) for sample in model.samples),
        "unseen": sum(len(sample.text) for sample in model.unseen),
    }
    counts = {"benchmark": len(model.samples), "unseen": len(model.unseen)}
    return JudgingCost(
        {f"{work.name}{' of unseen text' if work.on == 'unseen' else ''}": work.passes for work in works},
        sum(work.passes * counts[work.on] for work in works),
        sum(work.passes * lengths[work.on] for work in works) * seconds / 3600,
    )


def judging_preview(model: MeasuredModel, settings: JudgingSettings, cost: JudgingCost | None = None) -> JudgingPreview:
    """Return the cost of a run, and what it can reveal; the unseen text is scored for that.

    Args:
        model: the audited model with the benchmark and the unseen text.
        settings: score, methods, seed.
        cost: the result of `judging_cost`; None measures it.

    Raises:
        AssayError: a method cannot be run with this model.
    """
    cost = cost or judging_cost(model, settings)
    if not model.unseen:
        return JudgingPreview(cost)
    groups, unseen_groups = groups_of_both(model.samples, model.unseen)
    values = model.scores(settings.score, model.unseen)
    allowance = Compared(np.empty(0), values, groups, unseen_groups).allowance()
    effects = BEYOND_FAMILIARITY if allowance else TIMES_SEEN
    return JudgingPreview(
        cost,
        {
            times: detectable_share(groups, values, unseen_groups, effect, allowance=allowance)
            for times, effect in effects.items()
        },
    )


def judge_benchmark(
    model: MeasuredModel,
    settings: JudgingSettings,
    *,
    benchmark: str,
    unseen_source: str = "",
    control: Control | None = None,
    expected: JudgingPreview | None = None,
    notes: Sequence[str] = (),
) -> DatasetJudgement:
    """Judge a benchmark.

    Args:
        model: the audited model with the benchmark and the unseen text.
        settings: score, methods, seed.
        benchmark: its name.
        unseen_source: the unseen text in words.
        control: a model that certainly saw neither the benchmark nor the unseen text.
        expected: the result of `judging_preview`; None makes it.
        notes: sentences on the data that a reader needs.

    Raises:
        DataError: fewer than two samples.
        AssayError: a method cannot be run with this model.
    """
    if len(model.samples) < 2:  # noqa: PLR2004  a set
        raise DataError(f"{benchmark}: {len(model.samples)} samples; a verdict on a data set needs at least 2")
    expected = expected or judging_preview(model, settings)
    inputs = DatasetInputs(model.samples, model.unseen, model, settings.seed)
    methods = tuple(run_method(request, inputs) for request in settings.requests)
    values = model.scores(settings.score, model.samples)
    scored = int((~np.isnan(values)).sum())
    texts = Compared(values, np.empty(0), groups_of(model.samples), [])
    share, flagged, blind, p_value, p_beyond = None, None, None, math.nan, math.nan
    if model.unseen:
        both = groups_of_both(model.samples, model.unseen)
        texts = Compared(values, model.scores(settings.score, model.unseen), *both)
        share = contaminated_share(*texts, seed=settings.seed, allowance=texts.allowance())
        p_value, p_beyond = texts.p_value(seed=settings.seed), texts.p_beyond(seed=settings.seed)
        flagged, blind = flag_rate_of(texts), blind_of(model, settings.seed)
    saw_neither = None if control is None or not model.unseen else control_scores(control, model.samples, model.unseen)
    groups = texts.groups, texts.unseen_groups
    measured = (
        None
        if saw_neither is None
        else saw_neither.flags(settings.score, ALPHA, groups, audited=(texts.values, texts.unseen))
    )
    evidence = VerdictEvidence(settings.score, scored, p_value, p_beyond, share, flagged, blind, measured)
    strict = verdict_on(evidence, benchmark, model.name)
    decision = verdict_on(evidence, benchmark, model.name, allow_confounded=settings.allow_confounded)
    return DatasetJudgement(
        kind="dataset",
        model=model.name,
        benchmark=benchmark,
        score=settings.score,
        samples=len(model.samples),
        scored=scored,
        groups=len(set(texts.groups)),
        unseen=len(model.unseen),
        unseen_groups=len(set(texts.unseen_groups)),
        unseen_source=unseen_source,
        methods=methods,
        p_value=p_value,
        p_beyond=p_beyond,
        share=share,
        flagged=flagged,
        blind=blind,
        control=measured,
        gate=gate_of(model, settings),
        preview=expected,
        decision=decision,
        set_aside=None if decision == strict else strict.explanation,
        notes=(
            *notes,
            *((saw_neither.note,) if saw_neither and saw_neither.note else ()),
            *((COVERED_GROUPS,) if model.unseen and is_covered(*texts[2:]) else ()),
        ),
    )


def run_method(request: DatasetRequest, inputs: DatasetInputs) -> MethodResult:
    """Run one method."""
    start = time.perf_counter()
    score = request(inputs)
    return MethodResult(request.name, request.detector.title, score, round(time.perf_counter() - start, 3))


def flag_rate_of(texts: Compared) -> FlagRate | None:
    """Return the share of samples that stand out one by one; None with too few unseen texts."""
    if (~np.isnan(texts.unseen)).sum() < MINIMUM_UNSEEN:
        return None
    tail = UnseenTail.of(texts.unseen, texts.unseen_groups, ALPHA)
    return flag_rate(conformal_p_values(texts.values, texts.unseen), ALPHA, groups=texts.groups, unseen=tail)


def blind_of(model: MeasuredModel, seed: int) -> BlindBaseline:
    """Return the baseline that separates the benchmark from the unseen text without the model."""
    both = [*model.samples, *model.unseen]
    positive = [True] * len(model.samples) + [False] * len(model.unseen)
    return blind_baseline([sample.text for sample in both], positive, groups_of(both), seed=seed)


def gate_of(model: MeasuredModel, settings: JudgingSettings) -> GradientGate | None:
    """Return the gate of the kernel divergence; None where that is not among the methods, or nothing is unseen."""
    if not model.unseen or not any(EMBEDDINGS in request.work for request in settings.requests):
        return None
    return GradientGate(model.mean_gradient(model.samples), model.mean_gradient(model.unseen))


@dataclass(frozen=True, slots=True)
class VerdictEvidence:
    """All that a verdict on a benchmark rests on; fields as in `DatasetJudgement`."""

    score: str
    scored: int
    p_value: float
    p_beyond: float
    share: ContaminatedShare | None
    flagged: FlagRate | None
    blind: BlindBaseline | None
    control: NegativeControl | None


def verdict_on(
    evidence: VerdictEvidence, benchmark: str, model: str, *, allow_confounded: bool = False, margin: float = MARGIN
) -> Decision:
    """Return the verdict: what stands in its way comes first, see `assay.leakage.deciding`.

    Args:
        evidence: what was measured.
        benchmark: its name.
        model: name of the audited model.
        allow_confounded: decide although the result may have another cause than training.
        margin: largest upper bound on the share seen `BOUND_AT` times with which "no evidence" is the verdict.
    """
    if not evidence.scored:
        explanation = f"No sample of {benchmark} could be scored by {evidence.score}."
        return decide("", [Obstacle(Undecided.NOT_MEASURED, explanation)], significant=False)
    if evidence.share is None:
        explanation = f"There is no unseen text to compare the scores of {model} with."
        return decide("", [Obstacle(Undecided.NO_UNSEEN_TEXT, explanation)], significant=False)
    significant = evidence.p_value <= LEVEL
    estimate = evidence.share.estimate
    chance = f"had nothing leaked, scores this high would come up {in_cases(evidence.p_value)}"
    value = f"{percent(estimate.value)} ({percent(estimate.level)} interval {percent(estimate.low)} to "
    finding = f"Under {model}, {value}{percent(estimate.high)}) of {benchmark} looks trained on; {chance}."
    obstacles = [
        unfit_score(evidence.score),
        None if estimate.has_interval else missing_interval(estimate.reason or "no interval"),
        comparability(evidence.blind, COMPARED, evidence.control, significant=significant),
        _within_allowance(evidence, benchmark) if significant else _too_wide(evidence.share, benchmark, margin),
    ]
    kept = [o for o in obstacles if o is not None and not (allow_confounded and o.is_confound)]
    return decide(finding, kept, significant=significant)


def is_covered(groups: Sequence[Hashable], unseen_groups: Sequence[Hashable]) -> bool:
    """Return True if there is unseen text of the groups of nearly all samples."""
    with_unseen_text = set(unseen_groups)
    return sum(group in with_unseen_text for group in groups) >= COVERED * len(groups)


def _within_allowance(evidence: VerdictEvidence, benchmark: str) -> Obstacle | None:
    """Return an obstacle where a benchmark shows no more than text of projects of which other texts were trained on."""
    if not evidence.p_beyond > LEVEL:  # NaN where no allowance is made
        return None
    return Obstacle(
        Undecided.FAMILIAR_PROJECTS,
        f"{benchmark} scores higher than the unseen text ({named_p_value(evidence.p_value)}), but a model that was "
        "trained on other texts of the same projects would show such a difference, too "
        f"({named_p_value(evidence.p_beyond)} after an allowance of {FAMILIARITY:g} standard deviations). Unseen text "
        "of the same projects, with the same groups, needs no allowance.",
        is_confound=True,
    )


def _too_wide(share: ContaminatedShare, benchmark: str, margin: float) -> Obstacle | None:
    """Return an obstacle where nothing shows, but a large part might have leaked unnoticed."""
    bound = share.upper_at(TIMES_SEEN[BOUND_AT].top)
    if bound <= margin:
        return None
    return Obstacle(
        Undecided.TOO_FEW,
        f"Nothing shows, but up to {percent(bound)} of {benchmark} could have been seen {BOUND_AT} times or more: the "
        f"texts are too few to say less than {percent(margin)}.",
    )
