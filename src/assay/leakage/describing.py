"""The audit as a report."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from assay.evaluation import Estimate
from assay.leakage.answer import answer_of
from assay.leakage.description.details import details_of
from assay.leakage.description.figures import figures
from assay.leakage.description.methods import NOTATION, evaluation_methods, literature_methods, score_methods, titled
from assay.leakage.description.tables import tables
from assay.leakage.naming import named_samples, names_samples, naming_score
from assay.leakage.results import Audit, Calibration, ScoreSummary
from assay.leakage.run_folder import read_run, summary_of
from assay.leakage.unseen_test import BOUND_AT
from assay.leakage.verdict import LEVEL, SAME_FORM_LEVEL
from assay.reports import (
    Fact,
    Report,
    SampleColumn,
    SampleList,
    area_with_interval,
    describe,
    percent,
    percent_interval,
    short_p_value,
)
from assay.types import NONMEMBER, Decision, Verdict

DOSE = "dose"
P = "p: how often unseen text scores as high"
Q = "q: the same, corrected for looking at all samples"


@describe.register
def describe_audit(audit: Audit, manifest: Mapping[str, object] = MappingProxyType({})) -> Report:
    """Return the report of an audit.

    Args:
        audit: what was measured and decided.
        manifest: how, as the run folder stores it.
    """
    is_demo = audit.kind == "demo"
    return Report(
        title=f"Does {audit.model} remember the texts that it was trained on?"
        if is_demo
        else f"Was {audit.benchmark} in the training data of {audit.model}?",
        statement="",
        answer=answer_of(audit),
        tables=tables(audit),
        figures=figures(audit),
        notes=(
            *audit.notes,
            *_gate_notes(audit),
            *(f"{summary.score}: {' '.join(summary.notes)}" for summary in audit.summaries if summary.notes),
        ),
        data=summary_of(audit),
        kind="leakage report · ground-truth demonstration" if is_demo else "leakage report",
        details=details_of(audit),
        facts=facts(audit),
        methods=(*score_methods(audit), *literature_methods(audit), *evaluation_methods(audit)),
        samples=sample_list(audit),
        sections={"Methods": NOTATION},
        manifest=manifest,
    )


def describe_run(folder: Path) -> Report:
    """Return the report of a run folder.

    Raises:
        DataError: the folder cannot be read.
    """
    return describe_audit(*read_run(folder))


def facts(audit: Audit) -> tuple[Fact, ...]:
    """Return the main figures of the primary score and its coverage, each with its interval or its chance level."""
    summary, decision = audit.summary(audit.primary), audit.decision
    missing = summary.total - summary.scored
    return (
        *([] if summary.doses else [_verdict_fact(summary, decision)]),
        *_share_facts(audit),
        *_ranking_facts(audit, summary),
        *_calibration_facts(audit, summary),
        Fact("Samples scored", f"{summary.scored:,}", f"{missing:,} could not be" if missing else "all of them"),
    )


def _share_facts(audit: Audit) -> list[Fact]:
    share, bound = audit.share, audit.upper_bound()
    entries = []
    if share is not None:
        entries.append(
            Fact("Share that looks trained on", percent(share.value), _interval(share, percent_interval(share)))
        )
    if bound is not None:
        entries.append(Fact(f"Seen {BOUND_AT} times or more, at most", percent(bound), "95 % bound"))
    return entries


def _ranking_facts(audit: Audit, summary: ScoreSummary) -> list[Fact]:
    if summary.ranking is None:
        return []
    area = summary.ranking.auroc
    value, _, bounds = area_with_interval(area, basis=False).partition(" ")
    over = f" over {area.support}" if area.support else ""
    interval = _interval(area, bounds.strip("[]").replace(", ", " to ") + over)
    rates = sorted(summary.ranking.tpr_at_fpr.items(), reverse=True)
    return [
        Fact(f"AUROC of {audit.primary}", value, f"{interval}; chance .5"),
        *(
            Fact(
                f"TPR at {percent(rate)} FPR",
                percent(estimate.value),
                f"{_interval(estimate, percent_interval(estimate))}; chance {percent(rate)}",
            )
            for rate, estimate in rates
        ),
    ]


def _verdict_fact(summary: ScoreSummary, decision: Decision) -> Fact:
    by_same_form = decision.verdict is Verdict.CONTAMINATED and summary.ranking is None
    level = SAME_FORM_LEVEL if by_same_form else LEVEL
    note = decision.reason or f"evidence: p ≤ {level:g}"
    if decision.reason is None and summary.form is not None:
        note = f"evidence: a residual wholly above {summary.form.margin:.1f}"
    if decision.reason is None and summary.test is not None:
        note = f"p {short_p_value(summary.test.p_value)}; {note}"
    return Fact("Verdict", decision.verdict, note)


def _calibration_facts(audit: Audit, summary: ScoreSummary) -> list[Fact]:
    calibration = summary.calibration
    if calibration is None:
        return []
    if calibration.false_positives is not None:
        rate, chance = calibration.false_positives.rate, calibration.false_positives.chance
        name = "Never-seen samples flagged" if summary.doses else "Non-members flagged"
        return [Fact(name, percent(rate.value), f"{_interval(rate, percent_interval(rate))}; chance {percent(chance)}")]
    flagged = calibration.flagged
    return [
        Fact(
            "Samples flagged",
            percent(flagged.rate.value),
            f"{_interval(flagged.rate, percent_interval(flagged.rate))}; chance {percent(flagged.chance)}",
        ),
        *_control_facts(calibration),
        *_naming_facts(audit),
        Fact("Unseen texts", f"{calibration.unseen:,}", calibration.source),
    ]


def _naming_facts(audit: Audit) -> list[Fact]:
    """Return how many single samples are named; nothing where no score can name any."""
    named = named_samples(audit)
    if named.score is None:
        return []
    return [Fact("Single samples named", f"{len(named.samples):,}", f"by {named.score}, q ≤ {named.level:g}")]


def _control_facts(calibration: Calibration) -> list[Fact]:
    if calibration.control is None:
        return []
    flagged = calibration.control.flagged
    bounds = _interval(flagged.rate, percent_interval(flagged.rate))
    return [
        Fact(
            "Flagged under the control",
            percent(flagged.rate.value),
            f"{bounds}; chance {percent(flagged.chance)}; {calibration.control.model}, which never saw the benchmark",
        )
    ]


def _interval(estimate: Estimate, bounds: str) -> str:
    return f"{percent(estimate.level)} interval {bounds}" if estimate.has_interval else estimate.reason or "no interval"


def _gate_notes(audit: Audit) -> list[str]:
    """Return a note where the direction of the kernel divergence cannot be trusted."""
    if audit.gate is None or audit.gate.is_open:
        return []
    closed = (
        "The mean gradient of the benchmark is not clearly smaller than that of unseen text: the direction of the "
        "kernel divergence and of the score deviations is unreliable here, and may be reversed."
    )
    return [closed]


def sample_list(audit: Audit) -> SampleList:
    """Return the samples with their values, the primary score first; empty columns are left out."""
    rows = {sample.id: row for row, sample in enumerate(audit.samples)}
    first, *others = [_score_column(audit, name) for name in sorted(audit.values, key=lambda n: n != audit.primary)]
    naming = naming_score(audit)
    columns = [first, *_p_columns(audit, audit.primary)]
    if naming is not None and naming != audit.primary:
        columns += _p_columns(audit, naming)
    summary = [P] if any(column.kind == "p_value" for column in columns) else []
    if naming is not None and names_samples(audit.summary(naming)):
        summary.append(Q)
    samples = audit.samples
    properties = [
        SampleColumn("Label", [sample.label for sample in samples], "text"),
        SampleColumn("Times seen", [sample.metadata.get(DOSE) for sample in samples], "number"),
        SampleColumn("Group", [sample.group for sample in samples], "text"),
    ]
    columns += [column for column in properties if any(value is not None for value in column.values)]
    return SampleList(
        # a sample's own view lists its metadata; the dose has a column
        samples=tuple(replace(s, metadata={k: v for k, v in s.metadata.items() if k != DOSE}) for s in samples),
        columns=(*columns, *others),
        tokens={rows[tokens.sample_id]: tokens for tokens in audit.tokens if tokens.sample_id in rows},
        compared_with=NONMEMBER if any(sample.label == NONMEMBER for sample in samples) else None,
        summary=f"{'; '.join(summary)}." if summary else "",
    )


def _p_columns(audit: Audit, score: str) -> list[SampleColumn]:
    summary = audit.summary(score)
    calibration = summary.calibration
    if calibration is None:
        return []
    of = "" if score == audit.primary else f" of {score}"
    columns = [SampleColumn(f"p-value{of}", calibration.p_values, "p_value")]
    if names_samples(summary):
        columns.append(SampleColumn(f"q-value{of}", calibration.q_values, "p_value"))
    return columns


def _score_column(audit: Audit, name: str) -> SampleColumn:
    reasons = {row: reason for row, reason in enumerate(audit.reasons[name]) if reason is not None}
    return SampleColumn(name, audit.values[name], "score", titled(name), reasons)
