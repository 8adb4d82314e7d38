"""The first screen of an audit, the same in terminal, page and statement: verdict, reason, share, next step.

No line has more than 100 characters or three numbers, the reason has at most 20 words and no number: figures follow.
Sentences are chosen by category and by sign.
"""

import math

from assay.evaluation import CHANCE, Estimate
from assay.leakage.form_test import FormTest
from assay.leakage.naming import named_samples
from assay.leakage.reasons import VERDICTS, deciding_step, open_reason
from assay.leakage.results import Audit, ScoreSummary
from assay.reports import Answer, named_p_value, number_of, percent
from assay.types import ReleaseEvidence, Undecided, Verdict

BY_LOT = "The model prefers the copies of the tasks that a lot chose for publication."
NO_LOT = "The lot of the release does not show in the model, which is no evidence of absence."
NAMED = "see the {tasks} with -v; split an evaluation with `assay annotate RESULTS --audit RUN`."


def answer_of(audit: Audit) -> Answer:
    """Return the first screen of an audit."""
    summary, named = audit.summary(audit.primary), len(named_samples(audit).samples)
    verdict, lot = VERDICTS[audit.decision.verdict].title, summary.release
    next_step = NAMED.format(tasks=number_of(named, "named task")) if named else next_step_of(summary)
    # names of a part alone would pass for the names of all
    if audit.left_out and audit.decision.verdict is Verdict.CONTAMINATED:
        next_step = f"--whole scores the other {number_of(audit.left_out, 'task')}, and names tasks among all."
    # exact, so it comes before all that a comparison with other text says
    if lot is not None and lot.is_proof:
        return Answer(
            verdict,
            because=BY_LOT,
            measured=f"Tasks that it knows: at least {lot.memorised} of {lot.tasks}.",
            next_step=next_step,
        )
    if lot is not None and summary.decision.reason is Undecided.NO_UNSEEN_TEXT:
        return Answer(verdict, because=NO_LOT, measured=_lot_line(lot), next_step=next_step)
    return Answer(verdict, because=reason_of(summary), measured=share_of(summary), next_step=next_step)


def _lot_line(lot: ReleaseEvidence) -> str:
    p_value, note = lot.adjusted_p_value, ""
    if p_value is None:
        p_value, note = lot.p_value, ", unadjusted"
    return f"Test of the lot, {number_of(lot.tasks, 'task')}: {named_p_value(p_value)}{note}."


def reason_of(summary: ScoreSummary) -> str:
    """Return the reason of the verdict by a score, without figures."""
    reason, verdict, separation = summary.decision.reason, summary.decision.verdict, summary.separation
    if reason is not None:
        return open_reason(reason, summary).because
    if separation is not None:
        rank = "below" if separation.high < CHANCE else "not clearly above"
        if verdict is Verdict.CONTAMINATED:
            rank = "above"
        return f"Samples that the model saw rank {rank} samples that it never saw."
    # of a residual the sentence names the leak that was ruled out, as it is no test of equality
    if verdict is Verdict.NO_EVIDENCE and summary.form is not None:
        return "A leak of a fifth of the tasks, seen twice, would have shown; nothing did."
    if verdict is Verdict.NO_EVIDENCE and summary.test is None:
        return "No more samples stand out than unseen text of the same kind shows."
    return VERDICTS[verdict].because


def share_of(summary: ScoreSummary) -> str:
    """Return the line on the share, with its interval; no share stands beside "cannot tell"."""
    if summary.form is not None:
        return _residual_line(summary.form, summary.decision.reason)
    # a share beside "cannot tell" would be quoted without it
    if summary.is_open:
        return "Share that looks trained on: not stated without a verdict."
    if summary.separation is not None:
        return f"Pairs in which the seen sample ranks higher: {_interval(summary.separation)}."
    if summary.share is not None:
        return f"Share that looks trained on: {_interval(summary.share)}."
    if summary.calibration is None:
        return "Share that looks trained on: not measured."
    return f"Share that stands out one by one: {_interval(summary.calibration.flagged.rate)}."


def _residual_line(form: FormTest, reason: Undecided | None) -> str:
    if reason in (Undecided.FORM, Undecided.TOO_FEW) and not math.isnan(form.hidden):
        return f"Largest leak that may be hidden: {percent(form.hidden_share)} of the tasks, seen twice."
    if reason is not None:
        return "Share that looks trained on: not stated without a verdict."
    measured = form.residual.estimate
    ends = f"{_signed(measured.low)} to {_signed(measured.high)}"
    return f"Standard deviations above the unseen text: {_signed(measured.value)} ({ends})."


def next_step_of(summary: ScoreSummary) -> str:
    """Return what would decide an open case, or what to do with the answer."""
    category = summary.decision.reason
    if category is None:
        return VERDICTS[summary.decision.verdict].next_step
    return deciding_step(category, summary).next_step


def _signed(value: float) -> str:
    # a hyphen between two numbers would read as a range
    return f"{round(value, 1) + 0.0:.1f}".replace("-", "−")


def _interval(measured: Estimate) -> str:
    if not measured.has_interval:
        return percent(measured.value)
    return f"{percent(measured.value)} ({percent(measured.low)} to {percent(measured.high)})"
