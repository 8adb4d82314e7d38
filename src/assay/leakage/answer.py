"""The first screen of an audit, the same in terminal, page and statement: verdict, reason, share, next step.

No line has more than 100 characters or three numbers, the reason has at most 20 words and no number: figures follow.
Sentences are chosen by category and by sign.
"""

import math
from collections.abc import Mapping

from assay.evaluation import CHANCE, GROUPS_FOR_INTERVAL, Estimate
from assay.leakage.results import Audit, ScoreSummary
from assay.reports import Answer, percent
from assay.types import Undecided, Verdict

VERDICTS: Mapping[Verdict, str] = {
    Verdict.CONTAMINATED: "Contaminated",
    Verdict.NO_EVIDENCE: "No evidence",
    Verdict.CANNOT_TELL: "Cannot tell yet",
}
REASONS: Mapping[Undecided, str] = {
    Undecided.NO_UNSEEN_TEXT: "There is no text to compare with that the model has certainly not seen.",
    Undecided.CONTROL_NOT_FLAT: "A model that never saw the benchmark reacts to the difference between the texts, too.",
    Undecided.TOO_FEW: "There are too few independent texts for a verdict.",
    Undecided.UNFIT_SCORE: "The chosen score measures how predictable a text is, and carries no verdict.",
    Undecided.NOT_MEASURED: "The texts that are compared may differ, and nothing shows what that does to the scores.",
    Undecided.FAMILIAR_PROJECTS: "Training on other texts of the same projects would explain the result as well.",
}
NEXT_STEPS: Mapping[Undecided, str] = {
    Undecided.NO_UNSEEN_TEXT: "make unseen text with `assay unseen build REPOSITORY… --like BENCHMARK`, give --unseen.",
    Undecided.CONTROL_NOT_FLAT: "give unseen text more like the benchmark: `assay unseen build … --like BENCHMARK`.",
    Undecided.TOO_FEW: "give more unseen texts, of more projects.",
    Undecided.UNFIT_SCORE: "leave out --primary, or choose a score that may carry a verdict (`assay score --list`).",
    Undecided.NOT_MEASURED: "give unseen text more like the benchmark, or --control MODEL that saw neither.",
    Undecided.FAMILIAR_PROJECTS: "give unseen text of the same projects, with the same groups.",
}


def answer_of(audit: Audit) -> Answer:
    """Return the first screen of an audit."""
    summary = audit.summary(audit.primary)
    return Answer(VERDICTS[audit.decision.verdict], reason_of(summary), share_of(summary), next_step_of(summary))


def reason_of(summary: ScoreSummary) -> str:
    """Return the reason of the verdict by a score, without figures."""
    reason, test, separation = summary.decision.reason, summary.test, summary.separation
    if reason is not None:
        return _open_reason(reason, summary)
    seen = summary.decision.verdict is Verdict.CONTAMINATED
    if separation is not None:
        rank = "above" if seen else "below" if separation.high < CHANCE else "no higher than"
        return f"Samples that the model saw rank {rank} samples that it never saw."
    if test is None:
        return f"{'More' if seen else 'No more'} samples stand out than unseen text of the same kind shows."
    if not seen:
        return "The model knows these texts no better than text that it has certainly not seen."
    if not math.isnan(test.p_beyond):  # an allowance was made
        return "The model knows these texts better than unseen text, and better than familiar projects explain."
    return "The model knows these texts better than unseen text of the same projects."


def _open_reason(reason: Undecided, summary: ScoreSummary) -> str:
    control, test = summary.calibration.control if summary.calibration else None, summary.test
    if reason is Undecided.NOT_MEASURED and not summary.scored:
        return "No sample of the benchmark could be scored."
    if reason is Undecided.CONTROL_NOT_FLAT and control is not None and control.is_below_chance:
        return "A model that never saw the benchmark knows the unseen text better, which hides a leak."
    if reason is Undecided.TOO_FEW and test is not None and test.share.estimate.has_interval:
        return "Nothing shows, but there are too few independent texts to rule out a leak."
    return REASONS[reason]


def share_of(summary: ScoreSummary) -> str:
    """Return the line on the share, with its interval; no share stands beside "cannot tell"."""
    if summary.is_open:
        return "Share that looks trained on: not stated without a verdict."
    if summary.separation is not None:
        return f"Pairs in which the seen sample ranks higher: {_interval(summary.separation)}."
    if summary.share is not None:
        return f"Share that looks trained on: {_interval(summary.share)}."
    if summary.calibration is None:
        return "Share that looks trained on: not measured."
    return f"Share that stands out one by one: {_interval(summary.calibration.flagged.rate)}."


def next_step_of(summary: ScoreSummary) -> str:
    """Return what would decide an open case, or what to do with the answer."""
    decision = summary.decision
    if decision.reason is Undecided.NOT_MEASURED and not summary.scored:
        return "read in the table why no sample has a value."
    if decision.reason is Undecided.TOO_FEW and _few_samples(summary):
        return "give the groups of the samples (--columns group=NAME), or a benchmark of more tasks."
    if decision.reason is not None:
        return NEXT_STEPS[decision.reason]
    if decision.verdict is Verdict.CONTAMINATED:
        return "split the results of an evaluation by this run: `assay annotate RESULTS --audit RUN`."
    return "more unseen texts would narrow the interval."


def _few_samples(summary: ScoreSummary) -> bool:
    """Return True if the benchmark itself has too few groups for an interval."""
    groups = summary.test.share.estimate.groups if summary.test is not None else ()
    return bool(groups) and groups[0] < GROUPS_FOR_INTERVAL


def _interval(measured: Estimate) -> str:
    if not measured.has_interval:
        return percent(measured.value)
    return f"{percent(measured.value)} ({percent(measured.low)} to {percent(measured.high)})"
