"""The first screen of an audit, the same in terminal, page and statement: verdict, reason, share, next step.

No line has more than 100 characters or three numbers, the reason has at most 20 words and no number: figures follow.
Sentences are chosen by category and by sign.
"""

import math
from collections.abc import Mapping

from assay.evaluation import CHANCE, GROUPS_FOR_INTERVAL, Estimate
from assay.leakage.form_test import FormTest, groups_needed
from assay.leakage.naming import named_samples
from assay.leakage.results import Audit, ScoreSummary
from assay.reports import Answer, named_p_value, number_of, percent
from assay.types import Undecided, Verdict

VERDICTS: Mapping[Verdict, str] = {
    Verdict.CONTAMINATED: "Contaminated",
    Verdict.FAMILIAR: "Familiar",
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
    Undecided.EASIER: "The unseen text is easier for the model than the benchmark, which would hide a leak.",
    Undecided.OUTSIDE: "Too much of the benchmark is unlike all unseen text.",
    Undecided.FORM: "The benchmark and the unseen text differ in form by more than a leak would show.",
}
NEXT_STEPS: Mapping[Undecided, str] = {
    Undecided.NO_UNSEEN_TEXT: "make unseen text with `assay unseen build REPOSITORY… --like BENCHMARK`, give --unseen.",
    Undecided.CONTROL_NOT_FLAT: "give unseen text more like the benchmark: `assay unseen build … --like BENCHMARK`.",
    Undecided.TOO_FEW: "give more unseen texts, of more projects.",
    Undecided.UNFIT_SCORE: "leave out --primary, or choose a score that may carry a verdict (`assay score --list`).",
    Undecided.NOT_MEASURED: "give unseen text more like the benchmark, or --control MODEL that saw neither.",
    Undecided.FAMILIAR_PROJECTS: "give unseen text of the same projects, with the same groups.",
    Undecided.EASIER: "give --parent MODEL, or unseen tasks of the same form with --same-form.",
    Undecided.OUTSIDE: "give unseen text more like the benchmark: `assay unseen build … --like BENCHMARK`.",
    Undecided.FORM: "give --parent MODEL, or unseen tasks of the same form with --same-form.",
}

POSITIVE: Mapping[Verdict, str] = {
    Verdict.CONTAMINATED: "The model knows this benchmark better than unseen text of the same form.",
    Verdict.FAMILIAR: "This benchmark, or text of its form, was in the training data.",
}
AFTERWARDS: Mapping[Verdict, str] = {
    Verdict.CONTAMINATED: "split the results of an evaluation by this run: `assay annotate RESULTS --audit RUN`.",
    Verdict.FAMILIAR: "give --same-form DATA, unseen tasks of the same form, to tell the benchmark from its form.",
    Verdict.NO_EVIDENCE: "more unseen texts would narrow the interval.",
}

BY_LOT = "The model prefers the copies of the tasks that a lot chose for publication."
NO_LOT = "The lot of the release does not show in the model, which is no evidence of absence."
NAMED = "see the {tasks} with -v; split an evaluation with `assay annotate RESULTS --audit RUN`."


def answer_of(audit: Audit) -> Answer:
    """Return the first screen of an audit."""
    summary = audit.summary(audit.primary)
    named = len(named_samples(audit).samples)
    following = next_step_of(summary) if not named else NAMED.format(tasks=number_of(named, "named task"))
    verdict, lot = VERDICTS[audit.decision.verdict], summary.release
    if lot is not None and lot.is_proof:
        return Answer(verdict, BY_LOT, f"Tasks that it knows: at least {lot.memorised} of {lot.tasks}.", following)
    if lot is not None and summary.decision.reason is Undecided.NO_UNSEEN_TEXT:
        adjusted = "" if lot.adjusted_p_value is not None else ", unadjusted"
        p_value = lot.p_value if lot.adjusted_p_value is None else lot.adjusted_p_value
        return Answer(
            verdict, NO_LOT, f"Test of the lot, {lot.tasks} tasks: {named_p_value(p_value)}{adjusted}.", following
        )
    return Answer(verdict, reason_of(summary), share_of(summary), following)


def reason_of(summary: ScoreSummary) -> str:
    """Return the reason of the verdict by a score, without figures."""
    reason, verdict, separation = summary.decision.reason, summary.decision.verdict, summary.separation
    if reason is not None:
        return _open_reason(reason, summary)
    if separation is not None:
        seen = verdict is Verdict.CONTAMINATED
        rank = "above" if seen else "below" if separation.high < CHANCE else "no higher than"
        return f"Samples that the model saw rank {rank} samples that it never saw."
    if verdict is not Verdict.NO_EVIDENCE:
        return POSITIVE[verdict]
    if summary.form is not None:
        return "A leak of a fifth of the tasks, seen twice, would have shown; nothing did."
    if summary.test is None:
        return "No more samples stand out than unseen text of the same kind shows."
    return "The model knows these texts no better than text that it has certainly not seen."


def _open_reason(reason: Undecided, summary: ScoreSummary) -> str:
    control, test = summary.calibration.control if summary.calibration else None, summary.test
    if reason is Undecided.NOT_MEASURED and not summary.scored:
        return "No sample of the benchmark could be scored."
    if reason is Undecided.CONTROL_NOT_FLAT and control is not None and control.is_below_chance:
        return "A model that never saw the benchmark knows the unseen text better, which hides a leak."
    if (
        reason is Undecided.CONTROL_NOT_FLAT
        and control is not None
        and not control.flagged.rate.low > control.flagged.chance
    ):
        return "Nothing shows whether the texts differ for a reason other than training."
    if reason is Undecided.TOO_FEW and test is not None and test.share.estimate.has_interval:
        return "Nothing shows, but there are too few independent texts to rule out a leak."
    return REASONS[reason]


def share_of(summary: ScoreSummary) -> str:
    """Return the line on the share, with its interval; no share stands beside "cannot tell"."""
    if summary.form is not None:
        return _residual_line(summary.form, summary.decision.reason)
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
    reason = summary.decision.reason
    if reason is None:
        return AFTERWARDS[summary.decision.verdict]
    if reason is Undecided.NOT_MEASURED and not summary.scored:
        return "read in the table why no sample has a value."
    if reason is Undecided.TOO_FEW and _few_samples(summary):
        return "give the groups of the samples (--columns group=NAME), or a benchmark of more tasks."
    return groups_step(summary.form) if reason is Undecided.TOO_FEW and summary.form else NEXT_STEPS[reason]


def groups_step(form: FormTest) -> str:
    """Return how much more unseen text would decide."""
    needed, present = groups_needed(parent=form.is_parent), form.residual.estimate.groups[1]
    if needed is None or needed <= present:
        return NEXT_STEPS[Undecided.FORM]
    return f"give unseen text of {number_of(needed - present, 'more project')}."


def _signed(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")


def _few_samples(summary: ScoreSummary) -> bool:
    """Return True if the benchmark itself has too few groups for an interval."""
    groups = summary.test.share.estimate.groups if summary.test is not None else ()
    return bool(groups) and groups[0] < GROUPS_FOR_INTERVAL


def _interval(measured: Estimate) -> str:
    if not measured.has_interval:
        return percent(measured.value)
    return f"{percent(measured.value)} ({percent(measured.low)} to {percent(measured.high)})"
