"""The audit: scores of every sample, compared with labels, doses and known-unseen text where there are any."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import DataError
from assay.evaluation import RESAMPLES, DensityRatio, flag_test, set_test, weighted_tail
from assay.leakage.audit_notes import (
    LABELLED,
    Ties,
    calibration_notes,
    group_notes,
    one_class_note,
    rule_notes,
    tier_notes,
    verdict_notes,
)
from assay.leakage.calibration_file import UnseenScores
from assay.leakage.heat_map import TokenKeeper
from assay.leakage.naturalness import naturalness_notes
from assay.leakage.negative_control import Control, ControlScores, control_scores
from assay.leakage.parts import PartGroups, PartKeeper, by_part, observers
from assay.leakage.results import Audit, Calibration
from assay.leakage.summarising import Draws, UnseenSide, blind_check, calibration_of, file_groups, groups_of, summaries
from assay.leakage.weighting import Weights, weights_note, weights_of
from assay.scores import Fitted, ScoreRequest, flagged
from assay.scoring import Plan, Progress, ScoreTable, has_parts, score_samples
from assay.types import Float64Array, Sample

if TYPE_CHECKING:
    from assay.leakage.planting import Planting

LEARNED = (
    "was fitted on {count} texts of known membership. None of them, nor of their groups, is judged here. The other "
    "scores use no labels."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonData:
    """Texts, or scores of texts, that the benchmark is compared with.

    Attributes:
        unseen: text of the same kind that the model has certainly not seen; it calibrates every score.
        unseen_source: source of that text, for the report.
        calibration: instead of `unseen`: scores of such text, from a file.
        learned: name → a detector that was fitted on other texts of known membership, see `assay.leakage.supervised`.
        control: model that never saw the benchmark, for the same audit; used with `unseen` alone.
        planting: power by doses that are planted in a copy of the model; None for none. Used with `unseen` alone.
    """

    unseen: Sequence[Sample] = ()
    unseen_source: str = ""
    calibration: UnseenScores | None = None
    learned: Mapping[str, Fitted] = field(default_factory=dict)
    control: Control | None = None
    planting: "Planting | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSettings:
    """Settings of decisions and intervals.

    Attributes:
        alpha: nominal false-positive rate of the calibrated decisions.
        primary: score of the headline; None for the declared one, see `headline_of`.
        ties: "inclusive" if a paper's own rule calls a sample leaked that only equals its best variant: SrDetection's
            equations are strict, its Algorithm 1 is inclusive.
        seed: of every resampling.
        resamples: number behind each interval.
        weights: difference of the texts by which p-values are weighted.

    Raises:
        DataError: alpha outside (0, 1).
    """

    alpha: float = 0.05
    primary: str | None = None
    ties: Ties = "strict"
    seed: int = 0
    resamples: int = RESAMPLES
    weights: Weights = "none"

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise DataError(f"alpha = {self.alpha}: expected a rate between 0 and 1")


def audit(
    samples: Sequence[Sample],
    plan: Plan,
    *,
    benchmark: str,
    comparison: ComparisonData | None = None,
    decision: DecisionSettings | None = None,
    kind: Literal["audit", "demo"] = "audit",
    notes: Sequence[str] = (),
    progress: Progress | None = None,
) -> Audit:
    """Score a benchmark, calibrate the scores, and summarise them.

    Args:
        samples: the benchmark. Labels "member" / "nonmember" give rankings; a whole number `dose` in every sample's
            metadata gives dose-response curves.
        plan: scores and models, see `assay.scoring.planning`.
        benchmark: its name, for the report.
        comparison: what it is compared with; None for nothing.
        decision: settings of decisions and intervals; None for the defaults.
        kind: "demo" for the built-in experiment.
        notes: sentences on the data that a reader needs.
        progress: called after every batch, see `assay.scoring.run`.

    Raises:
        DataError: nothing to audit, all unseen texts are in the benchmark, or a detector was fitted on a text that is
            judged, or on one of its group.
        AssayError: too few unseen texts, see `assay.evaluation.calibration`.
        ModelError: when the model cannot be run.
    """
    if not samples:
        raise DataError(f"{benchmark}: no samples; expected at least one")
    comparison, decision = comparison or ComparisonData(), decision or DecisionSettings()
    calibration, learned = comparison.calibration, comparison.learned
    names = [request.name for request in plan.requests]
    primary = decision.primary or headline_of(plan.requests)
    draws = Draws(seed=decision.seed, resamples=decision.resamples)
    audited = tuple(samples)
    fresh, overlap = without(comparison.unseen, audited)
    keeper = TokenKeeper(audited)
    request = next((entry for entry in plan.requests if entry.name == primary), None)
    in_question = bool(fresh) and all(sample.label not in LABELLED for sample in audited)
    parts = None
    if in_question and request is not None and has_parts(request):
        parts = PartKeeper([*audited, *fresh], request, plan.frequencies)
    observe = keeper if parts is None else observers(keeper, parts)
    table = score_samples([*audited, *fresh], plan, progress=progress, observe=observe)
    table = with_learned(table, learned, [*audited, *fresh])
    names += learned
    values = {name: table.values[name][: len(audited)] for name in names}
    if fresh:
        references = {name: table.values[name][len(audited) :] for name in names}
    elif calibration:
        references = {name: calibration.values[name] for name in names if name in calibration.values}
    else:
        references = {}
    side = unseen_side(comparison, fresh)
    control = None
    if comparison.control is not None and fresh:
        control = control_scores(comparison.control, audited, fresh, progress=progress)
    both = [*groups_of(audited), *groups_of(fresh, "unseen")]
    ratio = weights_of(decision.weights, audited, fresh, control, both, alpha=decision.alpha, seed=decision.seed)
    calibrated = {
        name: calibration_of(values[name], references[name], audited, side, decision.alpha, ratio=ratio)
        for name in references
    }
    if control is not None:
        calibrated = with_control(calibrated, control, (values, references), (groups_of(audited), side.groups), ratio)
    whole = None
    if in_question:
        groups = [[sample.group for sample in side] for side in (audited, fresh)]
        whole = set_test(values[primary], references[primary], *groups, seed=decision.seed)
        calibrated[primary] = replace(calibrated[primary], whole=whole)
    blind, compares = blind_check(audited, fresh, calibration, draws)
    if comparison.planting is not None and request is not None and in_question:
        own = calibrated[primary]
        tail = weighted_tail(references[primary], side.groups, decision.alpha, ratio)
        test = flag_test(values[primary], references[primary], tail, alpha=decision.alpha, groups=groups_of(audited))
        from assay.leakage.planting import VerdictConditions, planted_power  # noqa: PLC0415  it imports torch

        conditions = VerdictConditions.of(own, primary, test, blind=blind, compares=compares)
        planted = planted_power(comparison.planting, request, fresh, conditions, frequencies=plan.frequencies)
        calibrated[primary] = replace(own, planted=planted)
    return Audit(
        kind=kind,
        model=plan.name,
        benchmark=benchmark,
        samples=audited,
        values=values,
        reasons={name: table.reasons[name][: len(audited)] for name in names},
        summaries=summaries(audited, table, values, calibrated, draws),
        primary=primary,
        blind=blind,
        blind_compares=compares,
        tokens=keeper.shown(values[primary]),
        parts=(
            by_part(parts.values, PartGroups(groups_of(audited), groups_of(fresh, "unseen")), decision.alpha)
            if parts and ratio is None
            else ()
        ),
        notes=(
            *notes,
            *one_class_note(audited),
            *tier_notes(plan),
            *(f"{name} {LEARNED.format(count=detector.labels)}" for name, detector in learned.items()),
            *(verdict_notes(plan, primary) if whole else ()),
            *rule_notes(plan, audited, values, references, ties=decision.ties, fresh=fresh),
            *(naturalness_notes(plan, references, side.groups) if references else ()),
            *overlap,
            *((control.note,) if control and control.note else ()),
            *weights_note(decision.weights, ratio),
            *calibration_notes(len(references[primary]) if references else 0, calibration),
            *(group_notes(audited, fresh, calibration) if references else ()),
        ),
    )


def headline_of(requests: Sequence[ScoreRequest]) -> str:
    """Return the score of the headline: one that is declared for it, token probabilities first; else the first one."""
    declared = [entry for entry in requests if "headline" in entry.definition.flags]
    return min(declared or requests[:1], key=lambda entry: entry.definition.access == "black").name


def with_control(
    calibrated: Mapping[str, Calibration],
    control: ControlScores,
    audited: tuple[Mapping[str, Float64Array], Mapping[str, Float64Array]],
    groups: tuple[Sequence[Hashable], Sequence[Hashable]],
    ratio: DensityRatio | None,
) -> dict[str, Calibration]:
    """Return the calibrations with what the control flags by the same score.

    Args:
        calibrated: score → calibration.
        control: scores under the control.
        audited: score → values of the samples, and of the unseen texts, under the audited model.
        groups: of the samples and of the unseen texts.
        ratio: weights of the texts; None for equal ones.
    """
    judged = {name: (audited[0][name], audited[1][name]) for name in flagged("verdict") if name in calibrated}
    return {
        name: replace(
            calibration,
            control=control.flags(name, calibration.alpha, groups, ratio, audited=judged.get(name)),
        )
        for name, calibration in calibrated.items()
    }


def with_learned(table: ScoreTable, learned: Mapping[str, Fitted], samples: Sequence[Sample]) -> ScoreTable:
    """Return the table with a column for each fitted detector."""
    columns = {name: detector.scores(samples) for name, detector in learned.items()}
    return ScoreTable(
        {**table.values, **{name: np.array([score.value for score in column]) for name, column in columns.items()}},
        {**table.reasons, **{name: tuple(score.reason for score in column) for name, column in columns.items()}},
        table.counts,
    )


def without(unseen: Sequence[Sample], audited: Sequence[Sample]) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    """Return the unseen texts that are not in the benchmark itself, and a note where any are."""
    present = {sample.text for sample in audited}
    fresh = tuple(sample for sample in unseen if sample.text not in present)
    if unseen and not fresh:
        raise DataError(f"all {len(unseen)} unseen texts are in the audited benchmark too; expected other texts")
    left_out = len(unseen) - len(fresh)
    note = f"{left_out} of {len(unseen)} unseen texts are in the benchmark too and were left out."
    return fresh, (note,) if left_out else ()


def unseen_side(comparison: ComparisonData, fresh: Sequence[Sample]) -> UnseenSide:
    """Return the unseen texts that calibrate: those of the comparison that are left, or those of its file."""
    if comparison.calibration is None:
        return UnseenSide(comparison.unseen_source, groups_of(fresh, "unseen"))
    return UnseenSide(comparison.calibration.source, file_groups(comparison.calibration))
