"""The audit as a report."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from assay.evaluation import Estimate, FlagRate, Ranking
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
    area_interval,
    describe,
    percent,
    percent_interval,
    short_p_value,
    three_decimals,
)
from assay.types import NONMEMBER, Sample, Verdict

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
    return tuple(_facts(audit, audit.summary(audit.primary)))


def _facts(audit: Audit, summary: ScoreSummary) -> Iterator[Fact]:
    if not summary.doses:
        yield _verdict_fact(summary)
    if audit.share is not None:
        yield Fact("Share that looks trained on", percent(audit.share.value), _with_level(audit.share))
    bound = audit.upper_bound()
    if bound is not None:
        yield Fact(f"Seen {BOUND_AT} times or more, at most", percent(bound), "95 % bound")
    if summary.ranking is not None:
        yield from _ranking_facts(audit.primary, summary.ranking)
    if summary.calibration is not None:
        yield from _calibration_facts(audit, summary, summary.calibration)
    missing = summary.total - summary.scored
    yield Fact("Samples scored", f"{summary.scored:,}", f"{missing:,} could not be" if missing else "all of them")


def _verdict_fact(summary: ScoreSummary) -> Fact:
    decision = summary.decision
    if decision.reason is not None:
        return Fact("Verdict", decision.verdict, decision.reason)
    by_same_form = decision.verdict is Verdict.CONTAMINATED and summary.ranking is None
    note = f"evidence: p ≤ {SAME_FORM_LEVEL if by_same_form else LEVEL:g}"
    if summary.form is not None:
        note = f"evidence: a residual wholly above {summary.form.margin:.1f}"
    if summary.test is not None:
        note = f"p {short_p_value(summary.test.p_value)}; {note}"
    return Fact("Verdict", decision.verdict, note)


def _ranking_facts(score: str, ranking: Ranking) -> Iterator[Fact]:
    area = ranking.auroc
    yield Fact(f"AUROC of {score}", three_decimals(area.value), f"{_with_level(area, area_interval)}; chance .5")
    for rate, share in sorted(ranking.tpr_at_fpr.items(), reverse=True):
        note = f"{_with_level(share)}; chance {percent(rate)}"
        yield Fact(f"TPR at {percent(rate)} FPR", percent(share.value), note)


def _calibration_facts(audit: Audit, summary: ScoreSummary, calibration: Calibration) -> Iterator[Fact]:
    if calibration.false_positives is not None:
        name = "Never-seen samples flagged" if summary.doses else "Non-members flagged"
        yield _flag_fact(name, calibration.false_positives)
        return
    yield _flag_fact("Samples flagged", calibration.flagged)
    control = calibration.control
    if control is not None:
        never = f"; {control.model}, which never saw the benchmark"
        yield _flag_fact("Flagged under the control", control.flagged, never)
    named = named_samples(audit)
    if named.score is not None:
        yield Fact("Single samples named", f"{len(named.samples):,}", f"by {named.score}, q ≤ {named.level:g}")
    yield Fact("Unseen texts", f"{calibration.unseen:,}", calibration.source)


def _flag_fact(name: str, flagged: FlagRate, addition: str = "") -> Fact:
    note = f"{_with_level(flagged.rate)}; chance {percent(flagged.chance)}{addition}"
    return Fact(name, percent(flagged.rate.value), note)


def _with_level(estimate: Estimate, interval: Callable[[Estimate], str] = percent_interval) -> str:
    """Return an interval with its level, or why there is none."""
    level = f"{percent(estimate.level)} interval " if estimate.has_interval else ""
    return f"{level}{interval(estimate)}"


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
    samples, naming = audit.samples, naming_score(audit)
    first, *others = (_score_column(audit, name) for name in audit.primary_first)
    columns = [first, *_p_columns(audit, audit.primary)]
    if naming is not None and naming != audit.primary:
        columns += _p_columns(audit, naming)
    summary = [P] if any(column.kind == "p_value" for column in columns) else []
    if naming is not None and names_samples(audit.summary(naming)):
        summary.append(Q)
    columns += filter(
        _has_values,
        (
            SampleColumn("Label", [sample.label for sample in samples], "text"),
            SampleColumn("Times seen", [sample.metadata.get(DOSE) for sample in samples], "number"),
            SampleColumn("Group", [sample.group for sample in samples], "text"),
        ),
    )
    places = {sample.id: place for place, sample in enumerate(samples)}
    is_labelled = any(sample.label == NONMEMBER for sample in samples)
    return SampleList(
        samples=tuple(map(_without_dose, samples)),
        columns=(*columns, *others),
        tokens={places[tokens.sample_id]: tokens for tokens in audit.tokens if tokens.sample_id in places},
        compared_with=NONMEMBER if is_labelled else None,
        summary=f"{'; '.join(summary)}." if summary else "",
    )


def _has_values(column: SampleColumn) -> bool:
    return any(value is not None for value in column.values)


def _without_dose(sample: Sample) -> Sample:
    """Return a sample whose own view does not list its dose, which has a column."""
    return replace(sample, metadata={key: value for key, value in sample.metadata.items() if key != DOSE})


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
