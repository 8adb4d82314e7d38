"""Single samples: only unseen text of the same form names them.

A model that was trained on a part of a benchmark learns its form, so that its other samples look familiar too. Against
other text they are flagged as well, which says something of the benchmark, not of one of its samples. Against unseen
text of the same form that cancels out.
"""

import math
from dataclasses import dataclass
from operator import attrgetter, itemgetter

import numpy as np

from assay.errors import ScoreError
from assay.leakage.results import Audit, Calibration, ScoreSummary
from assay.reports import number_of, three_decimals
from assay.scores import request
from assay.types import ReleaseEvidence, Verdict

NO_NAMES = (
    "a model that was trained on a part of a benchmark finds its other samples familiar too, so only unseen text of "
    "the same form names single samples (--same-form DATA)"
)
ONLY_BESIDE = "single samples are named beside the verdict “contaminated” alone"
LOT_LEVEL = 0.05
"""Share of falsely named tasks among those that the lot of a release names."""
LOT = "the lot"
"""Names tasks in place of a score."""


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
        score: the score that names them; None where none may.
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

    @property
    def false_share(self) -> str:
        """How many names are wrong, in a sentence."""
        condition = "" if self.score == LOT else ", if the unseen text is of the same form"
        return f"At most one in twenty of them is expected to be named wrongly{condition}."


def compares_variants(score: str) -> bool:
    """Return True for a score that compares a sample with its own variants; a fitted detector never does."""
    try:
        return request(score).definition.needs_variants
    except ScoreError:  # a run folder may come from a version with other scores
        return False


def may_name(summary: ScoreSummary) -> bool:
    """Return True if the unseen text behind a verdict has the form of the benchmark, so that q-values count."""
    return summary.calibration is not None and summary.decision.verdict is Verdict.CONTAMINATED


def names_samples(summary: ScoreSummary) -> bool:
    """Return True if a score names single samples."""
    return may_name(summary) and summary.ranking is None and not summary.doses


def naming_score(audit: Audit) -> str | None:
    """Return the score that names single samples, chosen without a look at the values.

    That is the score that is flagged for it, if its verdict allows that, else the score of the headline; None where
    neither has such a verdict.
    """
    # a comparison of a sample with its own variants leaves the form of the benchmark out, so it comes first
    candidates = [*filter(_is_naming, audit.values), audit.primary]
    return next((name for name in candidates if names_samples(audit.summary(name))), None)


def _is_naming(score: str) -> bool:
    return compares_variants(score) and "naming" in request(score).definition.flags


def named_samples(audit: Audit) -> NamedSamples:
    """Return the samples that an audit names, or the reason why it names none."""
    lot = audit.summary(audit.primary).release
    # a lot names tasks whatever the form of the unseen text is
    if lot is not None and lot.is_proof and lot.named:
        return _named_by_lot(audit, lot)
    score = naming_score(audit)
    calibration = audit.summary(score or audit.primary).calibration
    if calibration is None or score is None:
        # with text of the same form it is the verdict that is missing
        reason = ONLY_BESIDE if audit.deciding.same_form else NO_NAMES
        return NamedSamples(None, math.nan if calibration is None else calibration.alpha, reason=reason)
    level = calibration.alpha
    # only samples with a value were tested, so only these enter the correction
    tested = int(np.sum(~np.isnan(calibration.p_values)))
    order = np.argsort(calibration.q_values, kind="stable")  # NaN comes last
    columns = np.column_stack([audit.values[score], calibration.p_values, calibration.q_values])
    samples = []
    for place in order[: calibration.discoveries].tolist():
        value, p_value, q_value = columns[place].tolist()
        samples.append(NamedSample(audit.samples[place].id, value, p_value=p_value, q_value=q_value))
    if not samples:
        return NamedSamples(score, level, tested, reason=_none_reached(calibration, tested))
    return NamedSamples(score, level, tested=tested, samples=tuple(samples))


def _named_by_lot(audit: Audit, lot: ReleaseEvidence) -> NamedSamples:
    """Return the tasks that the lot of a release names; they have no p-value against unseen text."""
    ids = map(attrgetter("id"), audit.samples)
    values = dict(zip(ids, audit.values[audit.primary].tolist(), strict=True))
    samples = []
    for name, q_value in sorted(lot.named.items(), key=itemgetter(1)):
        samples.append(NamedSample(name, values.get(name, math.nan), p_value=math.nan, q_value=q_value))
    return NamedSamples(LOT, LOT_LEVEL, tested=lot.tasks, samples=tuple(samples))


def _none_reached(calibration: Calibration, tested: int) -> str:
    """Return how far the q-values are from the level, and how many unseen texts the best samples would take."""
    if not tested:
        return "no sample has a value"
    lowest, m = float(np.nanmin(calibration.p_values)), calibration.unseen
    reason = f"the smallest q-value is {three_decimals(float(np.nanmin(calibration.q_values)))}"
    # conformal p-values are multiples of 1 / (m + 1): ties at the smallest are the samples above all unseen texts
    above = int(np.sum(calibration.p_values == lowest))
    if not math.isclose(lowest, 1 / (m + 1)):
        return reason
    # above all m texts p = 1 / (m + 1), of which Benjamini-Hochberg makes q = p · tested / above: solved for m at q = α
    needed = math.ceil(tested / (above * calibration.alpha)) - 1
    return (
        f"{reason}. {number_of(above, 'sample')} of {tested:,} score above all {number_of(m, 'unseen text')}; to name "
        f"as many takes at least {number_of(needed, 'unseen text')}"
    )
