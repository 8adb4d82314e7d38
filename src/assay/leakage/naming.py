"""Single samples: only a score that compares a sample with variants of itself names them.

A model that was trained on a part of a benchmark learns its form, so that its other samples look familiar too. A score
of familiarity alone flags them as well, and says something of the benchmark, not of one of its samples. The other names
of a variant leave the form as it is, so that the form cancels out in the difference.
"""

import math
from dataclasses import dataclass

import numpy as np

from assay.errors import ScoreError
from assay.leakage.results import Audit, Calibration, ScoreSummary
from assay.reports import number_of, three_decimals
from assay.scores import request

NO_CONTRAST = (
    "a model that was trained on a part of a benchmark finds the other samples familiar too, so only a score that "
    "compares a sample with its own variants names single samples (--variants 10 --rename one)"
)
FALSE_SHARE = (
    "On the only real model of known truth, up to 18 % of the tasks that scored above all unseen texts were not "
    "trained on (of 5 to 39 tasks, by benchmark, score and source of names; intervals reach 42 %)."
)
"""From lab/results/real/named-tasks-*.json."""


@dataclass(frozen=True, slots=True)
class NamedSample:
    """A sample that an audit names as trained on.

    Attributes:
        sample_id: its id.
        value: of the score that names it.
        p_value: conformal, against unseen text.
        q_value: Benjamini-Hochberg over the benchmark.
    """

    sample_id: str
    value: float
    p_value: float
    q_value: float


@dataclass(frozen=True, slots=True)
class NamedSamples:
    """The single samples that an audit names.

    Attributes:
        score: the score that names them; None where no score of the audit compares variants.
        level: largest q-value of a sample that is named.
        tested: number of samples with a p-value.
        samples: by ascending q-value, then in the order of the benchmark.
        reason: why there are none; None where there are.
    """

    score: str | None
    level: float
    tested: int = 0
    samples: tuple[NamedSample, ...] = ()
    reason: str | None = None


def compares_variants(score: str) -> bool:
    """Return True for a score that compares a sample with its own variants; a fitted detector never does."""
    try:
        return request(score).definition.needs_variants
    except ScoreError:  # a run folder may come from a version with other scores
        return False


def names_samples(summary: ScoreSummary) -> bool:
    """Return True if there is a verdict by a score that names single samples, so that its q-values count."""
    return compares_variants(summary.score) and not summary.is_open


def naming_score(audit: Audit) -> str | None:
    """Return the score that names single samples, chosen without a look at the values.

    That is the score of the headline if it compares variants, else the score that is flagged for it, else the first
    score that compares variants; None where there is none.
    """
    contrasts = [name for name in audit.values if compares_variants(name)]
    flagged = [name for name in contrasts if "naming" in request(name).definition.flags]
    return audit.primary if audit.primary in contrasts else next(iter([*flagged, *contrasts]), None)


def named_samples(audit: Audit) -> NamedSamples:
    """Return the samples that an audit names, or the reason why it names none."""
    score = naming_score(audit)
    calibration = audit.summary(score or audit.primary).calibration
    level = calibration.alpha if calibration else math.nan
    if score is None:
        return NamedSamples(None, level, reason=NO_CONTRAST)
    if calibration is None:
        return NamedSamples(score, level, reason="nothing says what unseen text scores (--unseen)")
    tested = int(np.sum(~np.isnan(calibration.p_values)))
    summary = audit.summary(score)
    if summary.is_open:
        return NamedSamples(score, level, tested, reason=f"no verdict follows from {score} ({summary.decision.reason})")
    order = np.argsort(calibration.q_values, kind="stable")
    samples = tuple(
        NamedSample(
            audit.samples[place].id,
            float(audit.values[score][place]),
            float(calibration.p_values[place]),
            float(calibration.q_values[place]),
        )
        for place in order.tolist()
        if calibration.q_values[place] <= level
    )
    return NamedSamples(score, level, tested, samples, None if samples else _none_reached(calibration, tested))


def _none_reached(calibration: Calibration, tested: int) -> str:
    """Return how far the q-values are from the level, and how many unseen texts the best samples would take."""
    if not tested:
        return "no sample has a value"
    lowest, m = float(np.nanmin(calibration.p_values)), calibration.unseen
    reason = f"the smallest q-value is {three_decimals(float(np.nanmin(calibration.q_values)))}"
    above = int(np.sum(calibration.p_values == lowest))
    if not math.isclose(lowest, 1 / (m + 1)):
        return reason
    # above all m texts p = 1 / (m + 1), of which Benjamini-Hochberg makes q = p · tested / above: solved for m at q = α
    needed = math.ceil(tested / (above * calibration.alpha)) - 1
    return (
        f"{reason}. {number_of(above, 'sample')} of {tested:,} score above all {number_of(m, 'unseen text')}; to name "
        f"as many takes at least {number_of(needed, 'unseen text')}"
    )
