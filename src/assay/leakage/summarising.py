"""Summaries of the scores of an audit: rankings, doses, calibration, and a baseline that never sees the model."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from assay.evaluation import (
    BlindBaseline,
    BlindFeatures,
    DensityRatio,
    Estimate,
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
    rank_all,
    weighted_p_values,
    weighted_tail,
)
from assay.leakage.calibration_file import UnseenScores
from assay.leakage.form_test import FormTest
from assay.leakage.results import Calibration, Distribution, ScoreSummary, separation_of
from assay.leakage.unseen_test import Compared, UnseenTest
from assay.leakage.verdict import COMPARED, Evidence, decide
from assay.scoring import ScoreTable
from assay.types import MEMBER, NONMEMBER, Decision, Float64Array, ReleaseEvidence, Sample

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ALPHA = 0.05
"""Level at which single samples stand out."""
HALF = 0.5
"""Second level at which samples are flagged, for the lower bound of the seen share: Storey's usual threshold."""


class Draws(TypedDict):
    """The resamples behind every interval: the same for all scores, so that these can be compared."""

    seed: int
    resamples: int


@dataclass(frozen=True, slots=True)
class UnseenSide:
    """The unseen texts of a calibration.

    Attributes:
        source: in words.
        groups: of every text, scorable or not.
    """

    source: str
    groups: Sequence[Hashable]


def groups_of(samples: Sequence[Sample], side: str = "benchmark") -> list[Hashable]:
    """Return the key of what must not be split: a sample's group, or the sample itself.

    Args:
        samples: of one set.
        side: name of the set, so that samples without a group differ from those of another set.
    """
    return [("group", s.group) if s.group is not None else (side, i) for i, s in enumerate(samples)]


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


@dataclass(frozen=True, slots=True, eq=False)
class Judging:
    """All that a verdict needs beside the figures of its score.

    Attributes:
        benchmark: its name.
        model: name of the audited model.
        compared: score → values and groups of the benchmark and of unseen text, for the scores that are tested.
        blind: baseline that never sees the model; None where none was measured.
        compares: the two sets of texts in words; "" where there are not two.
        allow_confounded: decide although the result may have another cause than training.
        forms: score → its residual after the scores of a second model, where it was measured.
        same_form: the unseen text has the form of the benchmark.
        releases: score of the verdict → what the lot of a randomised release shows.
    """

    benchmark: str
    model: str
    compared: Mapping[str, Compared]
    blind: BlindBaseline | None
    compares: str
    allow_confounded: bool
    forms: Mapping[str, FormTest] = field(default_factory=dict)
    same_form: bool = False
    releases: Mapping[str, ReleaseEvidence] = field(default_factory=dict)

    def evidence(
        self, score: str, scored: int, separation: Estimate | None, test: UnseenTest | None, flags: Calibration | None
    ) -> Evidence:
        """Return what the verdict by one score rests on; a control is for the comparison with unseen text alone."""
        return Evidence(
            score,
            scored,
            separation=separation,
            test=test,
            flagged=None if flags is None else flags.flagged,
            detectable=None if flags is None else flags.detectable,
            blind=self.blind,
            control=None if flags is None or separation is not None else flags.control,
            form=self.forms.get(score),
            same_form=self.same_form,
            release=self.releases.get(score),
            compared=self.compares or COMPARED,
        )

    def decide(self, evidence: Evidence) -> Decision:
        """Return the verdict."""
        return decide(evidence, self.benchmark, self.model, allow_confounded=self.allow_confounded)


def summaries(
    samples: Sequence[Sample],
    table: ScoreTable,
    values: Mapping[str, Float64Array],
    calibrated: Mapping[str, Calibration],
    *,
    draws: Draws,
    judging: Judging,
) -> tuple[ScoreSummary, ...]:
    """Return a summary of each score with its verdict, every interval of a ranking from the same resamples."""
    groups, doses = groups_of(samples), doses_of(samples)
    rankings = rank_labelled(samples, values, draws)
    summarised = []
    for name, column in values.items():
        reasons = [reason for reason in table.reasons[name][: len(samples)] if reason]
        scored, ranking, calibration = len(samples) - len(reasons), rankings.get(name), calibrated.get(name)
        points = () if doses is None else dose_response(name, column, doses, groups, **draws)
        separation, test = separation_of(ranking, points), None
        if separation is None and name in judging.compared:
            test = judging.compared[name].test(seed=draws["seed"])
        evidence = judging.evidence(name, scored, separation, test, calibration)
        by_form = evidence.decides_by_form
        summarised.append(
            ScoreSummary(
                score=name,
                scored=scored,
                total=len(samples),
                distribution=distribution(column),
                unscorable={reason: reasons.count(reason) for reason in sorted(set(reasons))},
                decision=judging.decide(evidence),
                ranking=ranking,
                doses=points,
                dose_correlation=None if doses is None else dose_correlation(column, doses, groups, **draws),
                calibration=calibration,
                test=None if by_form else test,
                form=evidence.form if by_form else None,
                release=evidence.release,
                notes=score_notes(name, table, ranking),
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


def calibration_of(
    column: Float64Array,
    unseen: Float64Array,
    samples: Sequence[Sample],
    side: UnseenSide,
    *,
    alpha: float = ALPHA,
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
