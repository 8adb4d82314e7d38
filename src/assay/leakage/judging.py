"""Third step of an audit: what each score shows of the benchmark, and the verdict by it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from assay.evaluation import DosePoint, Estimate, Ranking, dose_correlation, dose_response, rank_all
from assay.leakage.contrasting import ComparedAudit
from assay.leakage.measuring import MeasuredAudit
from assay.leakage.results import Distribution, ScoreSummary, separation_of
from assay.leakage.texts import doses_of, labels_of
from assay.leakage.unseen_test import UnseenTest
from assay.leakage.verdict import COMPARED, Evidence, decide
from assay.types import MEMBER, NONMEMBER, Float64Array

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedAudit:
    """The verdict by every score.

    Attributes:
        compared: what it rests on.
        summaries: of the scores, in their order.
    """

    compared: ComparedAudit
    summaries: tuple[ScoreSummary, ...]


def judge_scores(compared: ComparedAudit) -> JudgedAudit:
    """Decide by each score, every interval of a ranking from the same resamples."""
    measured = compared.measured
    # all from the same resamples, so that scores can be compared with each other
    rankings = rank_labelled(measured)
    summaries = [judged_score(name, compared, rankings.get(name)) for name in measured.values]
    return JudgedAudit(compared, tuple(with_planted_power(summary, compared) for summary in summaries))


def judged_score(name: str, compared: ComparedAudit, ranking: Ranking | None) -> ScoreSummary:
    """Return what one score shows, with its verdict."""
    measured, inputs = compared.measured, compared.measured.inputs
    column, groups, draws = measured.values[name], measured.groups, inputs.decision.draws
    unscorable = Counter(filter(None, measured.reasons[name]))
    points: tuple[DosePoint, ...] = ()
    trend = None
    doses = doses_of(inputs.samples)
    if doses is not None:
        points = dose_response(name, column, doses=doses, groups=groups, **draws)
        trend = dose_correlation(column, doses, groups, **draws)
    separation, test = separation_of(ranking, points), None
    if separation is None and name in compared.compared:
        test = compared.compared[name].test(seed=inputs.decision.seed)
    scored = len(column) - unscorable.total()
    # whether the residual decides depends on the rest of the evidence, so the test is dropped only behind it
    evidence = evidence_of(compared, name, scored=scored, separation=separation, test=test)
    form = None
    if evidence.decides_by_form:
        test, form = None, evidence.form
    return ScoreSummary(
        score=name,
        scored=scored,
        total=len(column),
        distribution=distribution(column),
        unscorable=dict(sorted(unscorable.items())),
        decision=decide(evidence, inputs.benchmark, inputs.model, allow_confounded=inputs.decision.allow_confounded),
        ranking=ranking,
        doses=points,
        dose_correlation=trend,
        calibration=compared.calibrations.get(name),
        test=test,
        form=form,
        release=evidence.release,
        same_form=inputs.comparison.same_form,
        level=inputs.decision.level,
        closed=inputs.comparison.closed,
        notes=score_notes(name, measured.counts, ranking),
    )


def evidence_of(
    compared: ComparedAudit, score: str, *, scored: int, separation: Estimate | None, test: UnseenTest | None
) -> Evidence:
    """Return what the verdict by one score rests on; a control is for the comparison with unseen text alone."""
    inputs, calibration = compared.measured.inputs, compared.calibrations.get(score)
    evidence = Evidence(
        score,
        scored,
        separation=separation,
        test=test,
        blind=compared.blind,
        form=compared.forms.get(score),
        same_form=inputs.comparison.same_form,
        compared=compared.blind_compares or COMPARED,
        level=inputs.decision.level,
    )
    # a lot is about the benchmark and not about a score: one verdict alone rests on it
    if score == inputs.primary:
        evidence = replace(evidence, release=inputs.comparison.release)
    if calibration is not None:
        evidence = replace(evidence, flagged=calibration.flagged, detectable=calibration.detectable)
        if separation is None:
            evidence = replace(evidence, control=calibration.control)
    return evidence


def with_planted_power(summary: ScoreSummary, compared: ComparedAudit) -> ScoreSummary:
    """Return the summary of the headline with the power of its test by planted doses; any other as it is."""
    measured, inputs = compared.measured, compared.measured.inputs
    planting, headline = inputs.comparison.planting, inputs.headline
    own = compared.compared.get(summary.score)
    # the training is costly and its power that of one test: it is measured for the verdict alone
    if planting is None or headline is None or headline.name != summary.score or own is None:
        return summary
    from assay.leakage.planting import planted_power  # noqa: PLC0415  it imports torch

    inputs.begin("planting doses")
    evidence = evidence_of(
        compared, summary.score, scored=summary.scored, separation=summary.separation, test=summary.test
    )
    planted = planted_power(
        planting,
        score=headline,
        unseen=measured.fresh,
        compared=own,
        evidence=evidence,
        frequencies=inputs.plan.frequencies,
    )
    return replace(summary, calibration=replace(compared.calibrations[summary.score], planted=planted))


def rank_labelled(measured: MeasuredAudit) -> Mapping[str, Ranking]:
    """Rank members above nonmembers over the labelled samples; empty where a class is missing."""
    labels = labels_of(measured.inputs.samples)
    labelled = np.isin(labels, (MEMBER, NONMEMBER))
    positive = labels[labelled] == MEMBER
    if positive.all() or not positive.any():
        return {}
    columns = {name: column[labelled] for name, column in measured.values.items()}
    groups = list(compress(measured.groups, labelled))
    return rank_all(columns, positive, groups, **measured.inputs.decision.draws)


def distribution(column: Float64Array) -> Distribution:
    """Return mean, spread and quantiles of the scorable values; NaN where there is none."""
    scored = column[~np.isnan(column)]
    # NaN and not 0, which would pass for a low value
    if not len(scored):
        return Distribution(np.nan, np.nan, dict.fromkeys(QUANTILES, np.nan))
    spread = float(scored.std(ddof=1)) if len(scored) > 1 else np.nan
    quantiles = dict(zip(QUANTILES, map(float, np.quantile(scored, QUANTILES)), strict=True))
    return Distribution(float(scored.mean()), spread, quantiles)


def score_notes(name: str, counts: Mapping[tuple[str, str], int], ranking: Ranking | None) -> tuple[str, ...]:
    """Return the events that the score counted, and the notes of its ranking."""
    notes = [f"{total} {words}." for (score, words), total in counts.items() if score == name and total]
    if ranking is not None:
        notes += ranking.notes
    return tuple(notes)
