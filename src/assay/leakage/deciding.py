"""The verdict: one rule for every output. What could not be measured never counts as passed.

A result is a verdict only if nothing stands in its way. The obstacles, in the order in which they are reported:

1. there is no text that the model has certainly not seen, so nothing to compare with;
2. the score is not declared to carry a verdict (raw likelihoods measure first how predictable a text is);
3. there are no values, too few groups, or so many ties that no leak would have been detected;
4. the texts that are compared may differ for a reason other than training. A blind baseline shows that they are alike,
   or a negative control shows what their difference does: the control is flat (equivalence, not a test that fails to
   reject), or the audited model flags clearly more than the control, or clearly no more than it. A control that reacts
   overrules a baseline that sees no difference.

Without an obstacle the verdict is "contaminated" if the result is significant at `LEVEL`, else "no evidence".
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from assay.errors import ScoreError
from assay.evaluation import CHANCE, GROUPS_FOR_INTERVAL, SEPARATING_AUROC, BlindBaseline, Estimate
from assay.leakage.results import BEYOND, NO_MORE, Audit, Calibration, NegativeControl, ScoreSummary
from assay.reports import area_with_interval, in_cases, number_of, percent, percent_interval, points_with_interval
from assay.scores import flagged, request
from assay.types import Decision, Undecided, Verdict

LEVEL = 0.05
"""Largest p-value of the verdict "contaminated": so many clean benchmarks get it where all assumptions hold."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a result is not a verdict.

    Attributes:
        reason: by category.
        explanation: one sentence with the figures.
        is_confound: the result may have another cause than training; `--allow-confounded` ignores these obstacles.
    """

    reason: Undecided
    explanation: str
    is_confound: bool = False


def decide(finding: str, obstacles: Iterable[Obstacle | None], *, significant: bool) -> Decision:
    """Return the verdict on a result.

    Args:
        finding: the result in one sentence, with its figures.
        obstacles: what may stand in the way; the first that is not None decides.
        significant: p ≤ `LEVEL`.
    """
    for obstacle in obstacles:
        if obstacle is not None:
            return Decision(Verdict.CANNOT_TELL, obstacle.explanation, obstacle.reason)
    return Decision(Verdict.CONTAMINATED if significant else Verdict.NO_EVIDENCE, finding)


def decision_of(audit: Audit, score: str | None = None, *, allow_confounded: bool = False) -> Decision:
    """Return the verdict that a score of an audit supports.

    Args:
        audit: what was measured.
        score: by name; None for the score of the headline.
        allow_confounded: decide although the result may have another cause than training.
    """
    summary = audit.summary(score or audit.primary)
    obstacles = [o for o in obstacles_to(audit, summary) if not (allow_confounded and o.is_confound)]
    area = separation_of(summary)
    if area is not None:
        finding = (
            f"By {summary.score}, seen samples of {audit.benchmark} rank above samples never seen with AUROC "
            f"{area_with_interval(area)}, where chance is .5."
        )
        return decide(finding, obstacles, significant=area.low > CHANCE)
    if summary.calibration is None:
        return decide("", obstacles, significant=False)
    return decide(
        finding_of(audit, summary.calibration), obstacles, significant=summary.calibration.flagged.p_value <= LEVEL
    )


def separation_of(summary: ScoreSummary) -> Estimate | None:
    """Return how well a score separates seen from never-seen samples, of the largest dose where labels are missing."""
    if summary.ranking is not None:
        return summary.ranking.auroc
    return max(summary.doses, key=lambda point: point.dose).auroc if summary.doses else None


def finding_of(audit: Audit, calibration: Calibration) -> str:
    """Return the flagged share beside chance in one sentence, with the p-value of so many."""
    flags = calibration.flagged
    return (
        f"{percent(flags.rate.value)} of {audit.benchmark} is flagged as familiar to {audit.model}, where "
        f"{percent(flags.chance)} is chance; had nothing leaked, a share this high would come up "
        f"{in_cases(flags.p_value)}."
    )


def obstacles_to(audit: Audit, summary: ScoreSummary) -> list[Obstacle]:
    """Return all that stands between a score of an audit and a verdict, in the order of the head of this file."""
    unscored = _without_values(audit, summary)
    if unscored is not None:
        return [unscored]
    calibration, separation = summary.calibration, separation_of(summary)
    if separation is not None:
        obstacles = [
            missing_interval(separation.reason),
            comparability(audit.blind, audit.blind_compares, significant=separation.low > CHANCE),
        ]
    elif calibration is not None:
        obstacles = [
            unfit_score(summary.score),
            missing_interval(calibration.flagged.rate.reason),
            _without_power(calibration),
            comparability(
                audit.blind,
                audit.blind_compares,
                calibration.control,
                significant=calibration.flagged.p_value <= LEVEL,
            ),
            _hiding_control(calibration),
        ]
    else:
        explanation = f"There is no unseen text to compare the scores of {audit.model} with."
        obstacles = [Obstacle(Undecided.NO_UNSEEN_TEXT, explanation)]
    return [obstacle for obstacle in obstacles if obstacle is not None]


def unfit_score(score: str) -> Obstacle | None:
    """Return an obstacle if a score is not declared to carry a verdict; None if it is."""
    try:
        flags = request(score).definition.flags
    except ScoreError:  # a run folder may come from a version with other scores
        flags = frozenset()
    if "verdict" in flags or score in flagged("verdict"):
        return None
    return Obstacle(
        Undecided.UNFIT_SCORE,
        f"{score} is not declared to carry a verdict: it measures first of all how predictable a text is, so a "
        "benchmark that is easier than the unseen text would look seen.",
        is_confound=True,
    )


def comparability(
    blind: BlindBaseline | None, compares: str, control: NegativeControl | None = None, *, significant: bool
) -> Obstacle | None:
    """Return why two sets of texts may not be compared; None if they may.

    Args:
        blind: baseline that never sees the model; None where none was measured.
        compares: the two sets in words: "this benchmark and the unseen text".
        control: the same comparison under a model that saw neither set; None where none was run.
        significant: the result is more than chance.
    """
    permitted = control is not None and control.permits(significant=significant)
    if control is not None and (permitted or control.flagged.p_value <= LEVEL):
        return None if permitted else _not_flat(control)
    obstacle = _blind_obstacle(blind, compares or "this benchmark and the unseen text")
    if obstacle is not None and control is not None:
        return _not_flat(control)
    return obstacle


def _not_flat(control: NegativeControl) -> Obstacle:
    flags = control.flagged
    return Obstacle(
        Undecided.CONTROL_NOT_FLAT,
        f"{control.model}, which never saw the benchmark, flags {percent(flags.rate.value)} of it "
        f"({percent_interval(flags.rate)}), where {percent(flags.chance)} is chance; {_excess_in_words(control)}.",
        is_confound=True,
    )


def _excess_in_words(control: NegativeControl) -> str:
    """Return why the excess over a control does not decide."""
    excess = control.excess
    if excess is None:
        return "with weights, the whole interval would have to be near chance"
    if not excess.has_interval:
        return f"how much more the audited model flags has no interval ({excess.reason})"
    return (
        f"the audited model flags more by {points_with_interval(excess)}: neither clearly more than {100 * BEYOND:g} "
        f"nor clearly less than {100 * NO_MORE:g}"
    )


def _hiding_control(calibration: Calibration) -> Obstacle | None:
    """Return an obstacle if nothing stands out where the difference of the texts lowers the scores: it hides a leak."""
    control = calibration.control
    if (
        control is None
        or calibration.flagged.p_value <= LEVEL
        or not control.flagged.rate.high < control.flagged.chance
    ):
        return None
    return Obstacle(
        Undecided.CONTROL_NOT_FLAT,
        f"{control.model}, which never saw the benchmark, flags less of it than chance "
        f"({percent_interval(control.flagged.rate)}, where {percent(control.flagged.chance)} is chance): the unseen "
        "text scores higher for a reason other than training, which would hide a leak.",
        is_confound=True,
    )


def _blind_obstacle(blind: BlindBaseline | None, compares: str) -> Obstacle | None:
    """Return why a blind baseline does not show that texts are alike; None if it does."""
    if blind is None or blind.ranking is None:
        reason = blind.reason if blind is not None and blind.reason else "there is no blind baseline of them"
        return Obstacle(
            Undecided.NOT_MEASURED,
            f"Whether {compares} differ in their very text was not measured: {reason}.",
            is_confound=True,
        )
    area = blind.ranking.auroc
    reached = f"AUROC {area_with_interval(area)}, where chance is .5"
    if blind.separates:
        return Obstacle(
            Undecided.NOT_MEASURED,
            f"A baseline that never sees the model separates {compares} ({reached}), and no negative control shows "
            "whether the score reacts to that difference: expected --control MODEL, a model that saw neither, or "
            "unseen text that is more alike.",
            is_confound=True,
        )
    if not area.has_interval or area.value >= SEPARATING_AUROC:
        return Obstacle(
            Undecided.TOO_FEW,
            f"A baseline that never sees the model may separate {compares} ({reached}), and the texts are too few to "
            "be sure.",
            is_confound=True,
        )
    return None


def _without_values(audit: Audit, summary: ScoreSummary) -> Obstacle | None:
    if summary.scored:
        return None
    samples = number_of(summary.total, "sample")
    return Obstacle(
        Undecided.NOT_MEASURED, f"None of {samples} of {audit.benchmark} could be scored by {summary.score}."
    )


def _without_power(calibration: Calibration) -> Obstacle | None:
    """Return an obstacle if nothing stands out and no leak, however large, would have."""
    detectable = calibration.detectable
    if detectable is None or not math.isnan(detectable.share) or calibration.flagged.p_value <= LEVEL:
        return None
    ties = (
        f"{number_of(detectable.tied, 'sample')} of {detectable.samples:,} share one value"
        if detectable.tied
        else f"{number_of(detectable.samples, 'sample')} and {number_of(calibration.unseen, 'unseen text')} are too few"
    )
    return Obstacle(Undecided.TOO_FEW, f"This audit could have detected nothing: {ties}.")


def missing_interval(reason: str | None) -> Obstacle | None:
    """Return an obstacle if there is no interval for that reason; None if there is one."""
    if reason is None:
        return None
    needed = f"A verdict needs at least {GROUPS_FOR_INTERVAL} groups on each side."
    return Obstacle(Undecided.TOO_FEW, f"There is no interval: {reason}. {needed}")
