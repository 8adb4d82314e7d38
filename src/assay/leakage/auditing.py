"""The audit: scores of every sample, compared with labels, doses and known-unseen text where there are any."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.errors import DataError
from assay.evaluation import RESAMPLES, DensityRatio
from assay.leakage.audit_notes import (
    LABELLED,
    Ties,
    calibration_notes,
    group_notes,
    one_class_note,
    rule_notes,
    tier_notes,
)
from assay.leakage.calibration_file import UnseenScores
from assay.leakage.form_test import TESTED_SCORE, FormTest, form_test
from assay.leakage.heat_map import TokenKeeper
from assay.leakage.naturalness import naturalness_notes
from assay.leakage.negative_control import Control, ControlScores, control_scores
from assay.leakage.parts import PartGroups, PartKeeper, by_part
from assay.leakage.results import Audit, Calibration, ScoreSummary
from assay.leakage.summarising import (
    ALPHA,
    Draws,
    Judging,
    UnseenSide,
    blind_check,
    calibration_of,
    file_groups,
    groups_of,
    summaries,
)
from assay.leakage.texts import AuditedTexts, without
from assay.leakage.unseen_test import Compared
from assay.leakage.verdict import unfit_score
from assay.leakage.weighting import Weights, weights_note, weights_of
from assay.models import CachedLogProbScorer, StatisticsCache
from assay.scores import SCORES, DatasetRequest, FrequencyTable, ScoreRequest, request
from assay.scoring import Plan, Progress, has_parts, score_samples
from assay.types import Float64Array, ReleaseEvidence, Sample

if TYPE_CHECKING:
    from assay.leakage.literature import Literature
    from assay.leakage.planting import Planting

SAME_FORM = (
    "The unseen text counts as text of the same form. That is exact if it was drawn at random from the same tasks; "
    "where it was written later, it supposes that it is alike."
)
COVERED_GROUPS = (
    "There is unseen text of the groups of the benchmark, so no allowance was made for projects that the model knows "
    "from other texts."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonData:
    """Texts, or scores of texts, that the benchmark is compared with.

    Attributes:
        unseen: text of the same kind that the model has certainly not seen; it calibrates every score.
        unseen_source: source of that text, for the report.
        same_form: the unseen text has the form of the benchmark.
        release: what the lot of a randomised release shows; None without one.
        calibration: instead of `unseen`: scores of such text, from a file.
        control: model that never saw the benchmark, for the same audit; used with `unseen` alone.
        planting: power by doses that are planted in a copy of the model; None for none. Used with `unseen` alone.
        literature: methods of the literature for whole benchmarks; None for none.
    """

    unseen: Sequence[Sample] = ()
    unseen_source: str = ""
    same_form: bool = False
    release: ReleaseEvidence | None = None
    calibration: UnseenScores | None = None
    control: Control | None = None
    planting: "Planting | None" = None
    literature: "Literature | None" = None


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
    """

    primary: str | None = None
    ties: Ties = "strict"
    seed: int = 0
    resamples: int = RESAMPLES
    weights: Weights = "none"
    allow_confounded: bool = False


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


def audit(
    samples: Sequence[Sample],
    plan: Plan,
    *,
    benchmark: str,
    comparison: ComparisonData | None = None,
    decision: DecisionSettings | None = None,
    labels: AuditLabels = AuditLabels(),
    progress: Progress | None = None,
    phase: Callable[[str], None] | None = None,
) -> Audit:
    """Score a benchmark, compare it, and decide, once.

    Args:
        samples: the benchmark. Labels "member" / "nonmember" give rankings; a whole number `dose` in every sample's
            metadata gives dose-response curves.
        plan: scores and models, see `assay.scoring.planning`.
        benchmark: its name, for the report.
        comparison: what it is compared with; None for nothing.
        decision: settings of decisions and intervals; None for the defaults.
        labels: kind, name of the model and notes, for the report.
        progress: called after every batch, see `assay.scoring.run`.
        phase: called with the name of each part of the work before it begins.

    Raises:
        DataError: nothing to audit, or all unseen texts are in the benchmark.
        AssayError: too few unseen texts, see `assay.evaluation.calibration`.
        ModelError: when the model cannot be run.
    """
    if not samples:
        raise DataError(f"{benchmark}: no samples; expected at least one")
    comparison, decision = comparison or ComparisonData(), decision or DecisionSettings()
    calibration = comparison.calibration
    names = [request.name for request in plan.requests]
    primary = decision.primary or headline_of(plan.requests)
    draws = Draws(seed=decision.seed, resamples=decision.resamples)
    audited = tuple(samples)
    fresh, overlap = without(comparison.unseen, audited)
    keeper = TokenKeeper(audited)
    headline = next((entry for entry in plan.requests if entry.name == primary), None)
    in_question = bool(fresh) and all(sample.label not in LABELLED for sample in audited)
    parts = (
        PartKeeper([*audited, *fresh], headline, plan.frequencies)
        if in_question and headline is not None and has_parts(headline)
        else None
    )
    begin = phase or (lambda _: None)
    begin(f"scoring {benchmark}")
    table = score_samples([*audited, *fresh], plan, progress=progress, observe=(keeper, parts) if parts else (keeper,))
    values = {name: table.values[name][: len(audited)] for name in names}
    references = {name: table.values[name][len(audited) :] for name in names if fresh}
    if calibration and not fresh:
        references = {name: calibration.values[name] for name in names if name in calibration.values}
    side = unseen_side(comparison, fresh)
    control = None
    if comparison.control is not None and fresh:
        begin(f"scoring {benchmark} under the control")
        control = control_scores(comparison.control, audited, fresh, progress=progress)
    both = [*groups_of(audited), *groups_of(fresh, "unseen")]
    ratio = weights_of(decision.weights, audited, fresh, control, both, alpha=ALPHA, seed=decision.seed)
    calibrated = {
        name: calibration_of(values[name], references[name], audited, side, ratio=ratio) for name in references
    }
    if control is not None:
        sides = (groups_of(audited), side.groups)
        calibrated = with_control(
            calibrated, control, (values, references), sides, primary=primary, ratio=ratio, seed=decision.seed
        )
    compared = {
        name: Compared(values[name], references[name], groups_of(audited), side.groups, comparison.same_form)
        for name in references
        if ratio is None and is_tested(name, primary)
    }
    blind, compares = blind_check(audited, fresh, calibration, draws)
    begin(f"testing {benchmark} against unseen text")
    name = labels.model or plan.name
    forms = residuals_of(compared, control, audited, fresh)
    judging = Judging(
        benchmark,
        name,
        compared,
        blind,
        compares,
        decision.allow_confounded,
        forms=forms,
        same_form=comparison.same_form,
        releases={} if comparison.release is None else {primary: comparison.release},
    )
    concluded = summaries(audited, table, values, calibrated, draws=draws, judging=judging)
    if comparison.planting is not None and headline is not None and primary in compared:
        begin("planting doses")
        concluded = with_planted_power(
            concluded, comparison.planting, headline, judging, fresh=fresh, frequencies=plan.frequencies
        )
    literature = comparison.literature
    if literature:
        begin("methods of the literature")
    return Audit(
        kind=labels.kind,
        model=name,
        benchmark=benchmark,
        samples=audited,
        values=values,
        reasons={name: table.reasons[name][: len(audited)] for name in names},
        summaries=concluded,
        primary=primary,
        blind=blind,
        blind_compares=compares,
        tokens=keeper.shown(values[primary]),
        parts=(
            by_part(parts.values, PartGroups(groups_of(audited), groups_of(fresh, "unseen")), ALPHA)
            if parts and ratio is None
            else ()
        ),
        methods=literature.run(seed=decision.seed) if literature else (),
        gate=literature.gate() if literature else None,
        notes=(
            *labels.notes,
            *one_class_note(audited),
            *tier_notes(plan),
            *rule_notes(plan, audited, values, references, ties=decision.ties, fresh=fresh),
            *(naturalness_notes(plan, references, side.groups) if references else ()),
            *overlap,
            *((control.note,) if control and control.note else ()),
            *(covered_note(compared[primary]) if primary in compared else ()),
            *weights_note(decision.weights, ratio),
            *calibration_notes(len(references[primary]) if references else 0, calibration),
            *(group_notes(audited, fresh, calibration) if references else ()),
        ),
    )


def residuals_of(
    compared: Mapping[str, Compared], control: ControlScores | None, audited: Sequence[Sample], fresh: Sequence[Sample]
) -> dict[str, FormTest]:
    """Return the residual of the score that has placebos, where a second model scored the texts."""
    if control is None or TESTED_SCORE not in compared or compared[TESTED_SCORE].same_form:
        return {}
    own = compared[TESTED_SCORE]
    measured = form_test(
        (own.values, own.unseen),
        (control.samples, control.unseen),
        (audited, fresh),
        (own.groups, own.unseen_groups),
        control.model,
        parent=control.is_parent,
    )
    return {} if measured is None else {TESTED_SCORE: measured}


def covered_note(compared: Compared) -> tuple[str, ...]:
    """Return why no allowance was made; empty where one was."""
    if not compared.is_covered:
        return ()
    return (SAME_FORM if compared.same_form else COVERED_GROUPS,)


def with_planted_power(
    summarised: Sequence[ScoreSummary],
    planting: "Planting",
    headline: ScoreRequest,
    judging: Judging,
    *,
    fresh: Sequence[Sample],
    frequencies: FrequencyTable | None,
) -> tuple[ScoreSummary, ...]:
    """Return the summaries, that of the headline with the power of its test by planted doses."""
    from assay.leakage.planting import planted_power  # noqa: PLC0415  it imports torch

    own = next(summary for summary in summarised if summary.score == headline.name)
    evidence = judging.evidence(own.score, own.scored, own.separation, own.test, own.calibration)
    compared = judging.compared[own.score]
    planted = planted_power(planting, headline, fresh, compared, evidence, frequencies=frequencies)
    power = replace(own, calibration=own.calibration and replace(own.calibration, planted=planted))
    return tuple(power if summary is own else summary for summary in summarised)


def is_tested(score: str, primary: str) -> bool:
    """Return True if the benchmark is tested by a score as a whole; for other scores the flags count.

    That is the score of the verdict, and every other one that may carry one, if it comes from token probabilities.
    """
    if score.partition(":")[0] not in SCORES:  # a fitted detector
        return False
    definition = request(score).definition
    return definition.access != "black" and (score == primary or "verdict" in definition.flags)


def headline_of(requests: Sequence[ScoreRequest]) -> str:
    """Return the score of the headline: one that is declared for it, token probabilities first; else the first one."""
    declared = [entry for entry in requests if "headline" in entry.definition.flags]
    return min(declared or requests[:1], key=lambda entry: entry.definition.access == "black").name


def with_control(
    calibrated: Mapping[str, Calibration],
    control: ControlScores,
    audited: tuple[Mapping[str, Float64Array], Mapping[str, Float64Array]],
    groups: tuple[Sequence[Hashable], Sequence[Hashable]],
    *,
    primary: str,
    ratio: DensityRatio | None,
    seed: int,
) -> dict[str, Calibration]:
    """Return the calibrations with what the control flags by the same score.

    Args:
        calibrated: score → calibration.
        control: scores under the control.
        audited: score → values of the samples, and of the unseen texts, under the audited model.
        groups: of the samples and of the unseen texts.
        primary: score of the verdict.
        ratio: weights of the texts; None for equal ones.
        seed: of the resamples behind the excess.
    """
    deciding = [name for name in calibrated if name == primary or unfit_score(name) is None]
    judged = {name: (audited[0][name], audited[1][name]) for name in deciding}
    return {
        name: replace(
            calibration,
            control=control.flags(name, calibration.alpha, groups, ratio, audited=judged.get(name), seed=seed),
        )
        for name, calibration in calibrated.items()
    }


def unseen_side(comparison: ComparisonData, fresh: Sequence[Sample]) -> UnseenSide:
    """Return the unseen texts that calibrate: those of the comparison that are left, or those of its file."""
    if comparison.calibration is None:
        return UnseenSide(comparison.unseen_source, groups_of(fresh, "unseen"))
    return UnseenSide(comparison.calibration.source, file_groups(comparison.calibration))


def literature_of(
    methods: Sequence[DatasetRequest],
    plan: Plan,
    texts: AuditedTexts,
    *,
    cache: StatisticsCache | None,
    rate: float | None,
    seed: int,
    folder: Path | None,
    progress: Progress | None,
) -> "Literature | None":
    """Return the methods of the literature with the audited model as they use it; None without methods.

    Args:
        methods: that are asked for.
        plan: of the audit.
        texts: the benchmark and the unseen text.
        cache: of statistics and hidden states; None runs without.
        rate: learning rate of a fine-tuning; None finds one.
        seed: of a fine-tuning.
        folder: keeps the state of a fine-tuning; None keeps none.
        progress: called after every batch.

    Raises:
        MissingCapability: a method needs weights or hidden states, and the model shows none.
    """
    if not methods:
        return None
    from assay.leakage.literature import Literature  # noqa: PLC0415  they import torch
    from assay.leakage.measured_model import MeasuredModel, TuningOptions  # noqa: PLC0415

    scorer = plan.models["target"]
    measured = MeasuredModel(
        scorer.scorer if isinstance(scorer, CachedLogProbScorer) else scorer,
        texts.dataset.samples,
        texts.unseen,
        tuning=TuningOptions(rate=rate, seed=seed, folder=folder),
        cache=cache,
        frequencies=plan.frequencies,
        progress=progress,
    )
    literature = Literature(measured, methods)
    literature.work()  # what this model cannot give is refused before anything runs
    return literature
