"""The audit: scores of every sample, compared with labels, doses and known-unseen text where there are any."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.evaluation import (
    RESAMPLES,
    BlindBaseline,
    BlindFeatures,
    DensityRatio,
    FlagRate,
    Ranking,
    UnseenTail,
    benjamini_hochberg,
    blind_baseline,
    conformal_p_values,
    detectable_leak,
    dose_correlation,
    dose_response,
    exceeding,
    flag_rate,
    grouped_share,
    rank_all,
    set_test,
    unseen_note,
    weighted_p_values,
    weighted_tail,
)
from assay.leakage.calibration_file import UnseenScores
from assay.leakage.heat_map import TokenKeeper
from assay.leakage.naturalness import naturalness_notes
from assay.leakage.negative_control import Control, ControlScores, control_scores
from assay.leakage.parts import PartGroups, PartKeeper, by_part, observers
from assay.leakage.results import Audit, Calibration, Distribution, ScoreSummary
from assay.leakage.weighting import Weights, weights_note, weights_of
from assay.scores import Fitted, ScoreRequest, flagged
from assay.scoring import Plan, Progress, ScoreTable, has_parts, score_samples
from assay.types import MEMBER, NONMEMBER, Float64Array, Sample

Ties = Literal["strict", "inclusive"]
LABELLED: Mapping[str, str] = {MEMBER: "members", NONMEMBER: "non-members"}
TWO_MODELS = (
    "this score needs two models and is not to be ranked against scores of one model. It shows "
    "leakage only where {model} is the audited model from before the suspected training, or one that cannot have seen "
    "the samples."
)
LEARNED = (
    "was fitted on {count} texts of known membership. None of them, nor of their groups, is judged here. The other "
    "scores use no labels."
)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
HALF = 0.5
"""Second level at which samples are flagged, for the lower bound of the seen share: Storey's usual threshold."""


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
        calibration: instead of `unseen`: scores of such text, from a file.
        learned: name → a detector that was fitted on other texts of known membership, see `assay.leakage.supervised`.
        control: model that never saw the benchmark, for the same audit; used with `unseen` alone.
    """

    unseen: Sequence[Sample] = ()
    unseen_source: str = ""
    calibration: UnseenScores | None = None
    learned: Mapping[str, Fitted] = field(default_factory=dict)
    control: Control | None = None


@dataclass(frozen=True, slots=True)
class UnseenSide:
    """The unseen texts of a calibration.

    Attributes:
        source: in words.
        groups: of every text, scorable or not.
    """

    source: str
    groups: Sequence[Hashable]


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
    both = [*groups_of(audited), *groups_of(fresh)]
    ratio = weights_of(decision.weights, audited, fresh, control, both, alpha=decision.alpha, seed=decision.seed)
    calibrated = {
        name: calibration_of(values[name], references[name], audited, side, decision.alpha, ratio=ratio)
        for name in references
    }
    if control is not None:
        calibrated = with_control(calibrated, control, audited, side, ratio)
    whole = None
    if in_question:
        groups = [[sample.group for sample in side] for side in (audited, fresh)]
        whole = set_test(values[primary], references[primary], *groups, seed=decision.seed)
        calibrated[primary] = replace(calibrated[primary], whole=whole)
    blind, compares = blind_check(audited, fresh, calibration, draws)
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
            by_part(parts.values, PartGroups(groups_of(audited), groups_of(fresh)), decision.alpha)
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
    samples: Sequence[Sample],
    side: UnseenSide,
    ratio: DensityRatio | None,
) -> dict[str, Calibration]:
    """Return the calibrations with what the control flags by the same score."""
    groups = groups_of(samples), side.groups
    return {
        name: replace(calibration, control=control.flags(name, calibration.alpha, groups, ratio))
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


def calibration_notes(unseen: int, calibration: UnseenScores | None) -> list[str]:
    """Return the limits of the calibration: a small set, or a file without its text."""
    notes = [unseen_note(unseen)] if unseen else []
    if calibration and calibration.features is None:
        notes.append(
            "The calibration file is of an earlier version and holds no properties of its texts, so nothing shows "
            "whether they are like the benchmark: run `assay calibrate` again."
        )
    return [note for note in notes if note]


def group_notes(audited: Sequence[Sample], fresh: Sequence[Sample], calibration: UnseenScores | None) -> Iterator[str]:
    """Yield a note on each set of texts without groups."""
    consequence = (
        "have no groups, so each counts as independent. Where some are siblings, of one project, file or task, "
        "intervals are then too narrow, and the blind baseline may separate the texts by their siblings"
    )
    if all(sample.group is None for sample in audited):
        yield f"The samples {consequence}: name their column with --group."
    if fresh and all(sample.group is None for sample in fresh):
        yield f"The unseen texts {consequence}: name their column with --unseen-group."
    if calibration is not None and calibration.groups is None:
        yield f"The unseen texts of the calibration file {consequence}: name their column in `assay calibrate --group`."


def one_class_note(samples: Sequence[Sample]) -> list[str]:
    """Return a note where all labels are the same, so that nothing can be ranked."""
    labels = [sample.label for sample in samples if sample.label in (MEMBER, NONMEMBER)]
    if len(set(labels)) != 1:
        return []
    return [f"All {len(labels)} labelled samples are {labels[0]}s; AUROC and TPR need both classes."]


def tier_notes(plan: Plan) -> list[str]:
    """Return a note for each score of two models."""
    names = [request.name for request in plan.requests if request.definition.access == "two models"]
    return [f"{name}: {TWO_MODELS.format(model=plan.models['reference'].name)}" for name in names]


def verdict_notes(plan: Plan, primary: str) -> list[str]:
    """Return a note where the score of the headline is not declared to carry a verdict on a whole benchmark."""
    undeclared = (r.name for r in plan.requests if r.name == primary and "verdict" not in r.definition.flags)
    return [
        f"{name}: the p-value of the benchmark as a whole rests on a score that is not declared to carry a verdict. It "
        "measures first of all how predictable a text is, so a benchmark that is easier than the unseen text would "
        f"look seen. Declared: {', '.join(flagged('verdict'))}."
        for name in undeclared
    ]


NAMES_NOTE = (
    " Its rate on unseen text depends on the model and on the names of the variants: on a real model of 135 million"
    " parameters it flagged 99 % of ordinary functions."
)
"""Printed wherever the rule of a score over variants is applied: users must not take its rate for a leak."""


def rule_notes(
    plan: Plan,
    samples: Sequence[Sample],
    values: Mapping[str, Float64Array],
    unseen: Mapping[str, Float64Array],
    *,
    ties: Ties = "strict",
    fresh: Sequence[Sample] = (),
) -> list[str]:
    """Return what the rule of a score's own paper calls leaked, in the samples and where nothing can have leaked."""
    labels = np.array([sample.label or "" for sample in samples])
    notes = []
    for request in plan.requests:
        rule = request.definition.rule
        if rule is None:
            continue
        column, groups = values[request.name], groups_of(samples)
        parts = {
            words: (column[labels == label], [g for g, own in zip(groups, labels, strict=True) if own == label])
            for label, words in LABELLED.items()
            if label in labels
        }
        parts = parts or {"samples": (column, groups)}
        if unseen:
            scores = unseen[request.name]
            parts["unseen texts"] = (scores, groups_of(fresh) if fresh else [None] * len(scores))
        shares = ", ".join(f"{share_above(rule, *part, ties)} {words}" for words, part in parts.items())
        chance = (
            f"; if names meant nothing it would be {100 / (request.variants + 1):.0f} %" if request.variants else ""
        )
        unmeasured = "" if len(parts) > 1 else " On text never seen it may call as many: measure that with --unseen."
        names_note = NAMES_NOTE if request.variants and request.definition.access == "gray" else ""
        notes.append(
            f"{request.name}: the rule of its paper, a value {'above' if ties == 'strict' else 'of at least'} "
            f"{rule:g}, calls leaked {shares}{chance}. That rule is not calibrated.{names_note}"
            f"{ties_note(rule, [part for part, _ in parts.values()], ties)}{unmeasured}"
        )
    return notes


def ties_note(rule: float, columns: Iterable[Float64Array], ties: Ties) -> str:
    """Return a note on the samples that equal their best variant, common where a model reproduces nothing of either."""
    equal = sum(int((column == rule).sum()) for column in columns)
    how = "not counted" if ties == "strict" else "counted"
    return f" {equal} equal their best variant and are {how}." if equal else ""


def share_above(rule: float, column: Float64Array, groups: Sequence[Hashable], ties: Ties) -> str:
    """The share of the scorable values that exceeds the rule: `45 % [40, 50; 31 groups] of 394`."""
    scored = ~np.isnan(column)
    above = column[scored] > rule if ties == "strict" else column[scored] >= rule
    share = grouped_share(above, [group for group, counts in zip(groups, scored, strict=True) if counts])
    if math.isnan(share.value):
        return "none of 0"
    ends = f"{100 * share.low:.0f}, {100 * share.high:.0f}; {share.support}" if share.has_interval else share.reason
    return f"{100 * share.value:.0f} % [{ends}] of {len(above)}"


def groups_of(samples: Sequence[Sample]) -> list[Hashable]:
    """Return the key of what must not be split: a sample's group, or the sample itself."""
    return [("group", s.group) if s.group is not None else ("sample", i) for i, s in enumerate(samples)]


def doses_of(samples: Sequence[Sample]) -> NDArray[np.float64] | None:
    """Return float64 [samples], how often the model saw each; None unless all are known, at 0 and another dose."""
    doses = [sample.metadata.get("dose") for sample in samples]
    if not all(isinstance(dose, int) for dose in doses) or 0 not in doses or len(set(doses)) == 1:
        return None
    return np.array(doses, np.float64)


def blind_check(
    audited: Sequence[Sample], fresh: Sequence[Sample], calibration: UnseenScores | None, draws: Draws
) -> tuple[BlindBaseline | None, str]:
    """Measure whether the two sets of texts that are compared can be separated without the model.

    Members and nonmembers where both are labelled, or samples of a dose and those of none; else the benchmark and the
    unseen text that calibrates it, since a calibration set of another kind calibrates nothing.
    """
    labelled = [sample for sample in audited if sample.label in (MEMBER, NONMEMBER)]
    if len({sample.label for sample in labelled}) == 2:  # noqa: PLR2004  two classes
        positive = [sample.label == MEMBER for sample in labelled]
        texts = [sample.text for sample in labelled]
        return blind_baseline(texts, positive, groups_of(labelled), **draws), "members and non-members"
    doses = doses_of(audited)
    if doses is not None:
        texts = [sample.text for sample in audited]
        return blind_baseline(texts, doses > 0, groups_of(audited), **draws), "seen and never-seen samples"
    compares = "this benchmark and the unseen text"
    if fresh:
        chosen = [*audited, *fresh]
        positive = [True] * len(audited) + [False] * len(fresh)
        return blind_baseline([s.text for s in chosen], positive, groups_of(chosen), **draws), compares
    if calibration is not None and calibration.features is not None:
        features = BlindFeatures.of([sample.text for sample in audited]).joined(calibration.features)
        groups = [*groups_of(audited), *file_groups(calibration)]
        positive = [True] * len(audited) + [False] * calibration.texts
        return blind_baseline(features, positive, groups, **draws), compares
    return None, compares if calibration is not None else ""


def file_groups(calibration: UnseenScores) -> list[Hashable]:
    """Return the groups of the texts of a calibration file; a text without one is its own."""
    codes = range(calibration.texts) if calibration.groups is None else calibration.groups
    return [("unseen", code) for code in codes]


def summaries(
    samples: Sequence[Sample],
    table: ScoreTable,
    values: Mapping[str, Float64Array],
    calibrated: Mapping[str, Calibration],
    draws: Draws,
) -> tuple[ScoreSummary, ...]:
    """Return a summary of each score, every interval from the same resamples."""
    groups, doses = groups_of(samples), doses_of(samples)
    rankings = rank_labelled(samples, values, draws)
    summarised = []
    for name, column in values.items():
        reasons = [reason for reason in table.reasons[name][: len(samples)] if reason]
        summarised.append(
            ScoreSummary(
                score=name,
                scored=len(samples) - len(reasons),
                total=len(samples),
                distribution=distribution(column),
                unscorable={reason: reasons.count(reason) for reason in sorted(set(reasons))},
                ranking=rankings.get(name),
                doses=() if doses is None else dose_response(name, column, doses, groups, **draws),
                dose_correlation=None if doses is None else dose_correlation(column, doses, groups, **draws),
                calibration=calibrated.get(name),
                notes=score_notes(name, table, rankings.get(name)),
            )
        )
    return tuple(summarised)


def rank_labelled(samples: Sequence[Sample], values: Mapping[str, Float64Array], draws: Draws) -> Mapping[str, Ranking]:
    """Rank members above nonmembers over the labelled samples; empty where a class is missing."""
    labelled = np.array([sample.label in (MEMBER, NONMEMBER) for sample in samples])
    positive = np.array([sample.label == MEMBER for sample in samples])[labelled]
    if positive.all() or not positive.any():
        return {}
    groups = [group for group, used in zip(groups_of(samples), labelled, strict=True) if used]
    return rank_all({name: column[labelled] for name, column in values.items()}, positive, groups, **draws)


def distribution(column: Float64Array) -> Distribution:
    """Return mean, spread and quantiles of the scorable values; NaN where there is none."""
    scored = column[~np.isnan(column)]
    if not len(scored):
        return Distribution(np.nan, np.nan, dict.fromkeys(QUANTILES, np.nan))
    spread = float(scored.std(ddof=1)) if len(scored) > 1 else np.nan
    quantiles = dict(zip(QUANTILES, map(float, np.quantile(scored, QUANTILES)), strict=True))
    return Distribution(float(scored.mean()), spread, quantiles)


def score_notes(name: str, table: ScoreTable, ranking: Ranking | None) -> tuple[str, ...]:
    """Return the events that the score counted, and the notes of its ranking."""
    counted = [f"{total} {words}." for (score, words), total in table.counts.items() if score == name and total]
    return (*counted, *(ranking.notes if ranking else ()))


def unseen_side(comparison: ComparisonData, fresh: Sequence[Sample]) -> UnseenSide:
    """Return the unseen texts that calibrate: those of the comparison that are left, or those of its file."""
    if comparison.calibration is None:
        return UnseenSide(comparison.unseen_source, groups_of(fresh))
    return UnseenSide(comparison.calibration.source, file_groups(comparison.calibration))


def calibration_of(
    column: Float64Array,
    unseen: Float64Array,
    samples: Sequence[Sample],
    side: UnseenSide,
    alpha: float,
    *,
    ratio: DensityRatio | None = None,
) -> Calibration:
    """Return split-conformal p- and q-values of one score, weighted or not, and the flag rates that follow."""
    p_values = conformal_p_values(column, unseen) if ratio is None else weighted_p_values(column, unseen, ratio)
    references = np.sort(unseen[~np.isnan(unseen)])
    tail = weighted_tail(unseen, side.groups, alpha, ratio)
    exceeded_by = exceeding(alpha, len(references))  # flagged: fewer than this many unseen reach it
    doses, groups = doses_of(samples), groups_of(samples)

    def rate(chosen: NDArray[np.bool_], level: float = alpha, at: UnseenTail = tail) -> FlagRate:
        chosen_groups = [group for group, included in zip(groups, chosen, strict=True) if included]
        return flag_rate(p_values[chosen], level, groups=chosen_groups, unseen=at)

    every = np.ones(len(samples), bool)
    labels = np.array([sample.label or "" for sample in samples])
    by_label = {label: rate(labels == label) for label in (MEMBER, NONMEMBER) if (labels == label).any()}
    return Calibration(
        source=side.source,
        unseen=len(references),
        alpha=alpha,
        p_values=p_values,
        q_values=benjamini_hochberg(p_values),
        flagged=rate(every),
        threshold=float(np.nextafter(references[-exceeded_by], np.inf)) if exceeded_by and ratio is None else np.nan,
        false_positives=by_label.get(NONMEMBER),
        true_positives=by_label.get(MEMBER),
        by_dose={} if doses is None else {int(dose): rate(doses == dose) for dose in np.unique(doses)},
        flagged_at_half=rate(every, HALF, weighted_tail(unseen, side.groups, HALF, ratio)),
        unseen_groups=tail.groups,
        detectable=detectable_leak(column, unseen, tail, alpha=alpha, groups=groups),
    )
