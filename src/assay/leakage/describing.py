"""The audit as a report."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter
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
from assay.leakage.verdict import significance
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
from assay.types import NONMEMBER, Sample, Undecided, Verdict

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
    title, kind = f"Was {audit.benchmark} in the training data of {audit.model}?", "leakage report"
    if audit.kind == "demo":
        title = f"Does {audit.model} remember the texts that it was trained on?"
        kind = "leakage report · ground-truth demonstration"
    return Report(
        title=title,
        statement="",
        answer=answer_of(audit),
        tables=tables(audit),
        figures=figures(audit),
        notes=tuple(_notes(audit)),
        data=summary_of(audit),
        kind=kind,
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
    return tuple(_facts(audit, audit.deciding))


def _facts(audit: Audit, summary: ScoreSummary) -> Iterator[Fact]:
    # doses are an experiment on the model, which gets no verdict on a benchmark; an open answer is all in its heading
    if not summary.doses and not summary.is_open:
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
    # labels decide by an interval and have no level of their own
    by_same_form = decision.verdict is Verdict.CONTAMINATED and summary.ranking is None
    note = f"evidence: p ≤ {summary.level or significance(same_form=by_same_form):.2g}"
    if summary.form is not None:
        note = f"evidence: a residual wholly above {summary.form.margin:.1f}"
    if summary.test is not None:
        note = f"p {short_p_value(summary.test.p_value)}; {note}"
    return Fact("Verdict", decision.verdict, note)


def _ranking_facts(score: str, ranking: Ranking) -> Iterator[Fact]:
    area = ranking.auroc
    note = f"{_with_level(area, area_interval)}; chance .5"
    yield Fact(f"Pairs that {score} ranks rightly (AUROC)", three_decimals(area.value), note)
    for rate, share in sorted(ranking.tpr_at_fpr.items(), reverse=True):
        note = f"{_with_level(share)}; chance {percent(rate)}"
        name = f"Members found (TPR) where {percent(rate)} of the others are flagged (FPR)"
        yield Fact(name, percent(share.value), note)


def _calibration_facts(audit: Audit, summary: ScoreSummary, calibration: Calibration) -> Iterator[Fact]:
    # with known truth the share of all mixes both classes and means nothing
    if calibration.false_positives is not None:
        never_seen = "Never-seen samples" if summary.doses else "Non-members"
        yield _flag_fact(f"{never_seen} flagged", calibration.false_positives)
        return
    control = calibration.control
    # flags are no reason of an open answer, but where those of the control are
    belongs = not summary.is_open or summary.decision.reason is Undecided.CONTROL_NOT_FLAT
    if belongs:
        yield _flag_fact("Samples flagged", calibration.flagged)
    if belongs and control is not None:
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
    if not estimate.has_interval:
        return interval(estimate)
    return f"{percent(estimate.level)} interval {interval(estimate)}"


def _notes(audit: Audit) -> Iterator[str]:
    """Yield what a reader needs to know of the data, of the kernel divergence and of each score."""
    yield from audit.notes
    if audit.gate is not None and not audit.gate.is_open:
        yield (
            "The mean gradient of the benchmark is not clearly smaller than that of unseen text: the direction of the "
            "kernel divergence and of the score deviations is unreliable here, and may be reversed."
        )
    for summary in audit.summaries:
        if summary.notes:
            yield f"{summary.score}: {' '.join(summary.notes)}"


def sample_list(audit: Audit) -> SampleList:
    """Return the samples with their values, the primary score first; empty columns are left out."""
    samples = audit.samples
    first, *others = map(partial(_score_column, audit), audit.primary_first)
    explained = dict(_p_columns(audit))
    described = (
        SampleColumn("Label", list(map(attrgetter("label"), samples)), "text"),
        SampleColumn("Times seen", [sample.metadata.get(DOSE) for sample in samples], "number"),
        SampleColumn("Group", list(map(attrgetter("group"), samples)), "text"),
    )
    places = {sample.id: place for place, sample in enumerate(samples)}
    compared_with = None
    # a sample of known truth is placed among those that were never seen
    if NONMEMBER in described[0].values:
        compared_with = NONMEMBER
    return SampleList(
        samples=tuple(map(_without_dose, samples)),
        columns=(first, *explained, *filter(_has_values, described), *others),
        tokens={places[tokens.sample_id]: tokens for tokens in audit.tokens if tokens.sample_id in places},
        compared_with=compared_with,
        summary="; ".join(dict.fromkeys(explained.values())) + "." * bool(explained),
    )


def _has_values(column: SampleColumn) -> bool:
    return any(value is not None for value in column.values)


def _without_dose(sample: Sample) -> Sample:
    """Return a sample whose own view does not list its dose, which has a column."""
    return replace(sample, metadata={key: value for key, value in sample.metadata.items() if key != DOSE})


def _p_columns(audit: Audit) -> Iterator[tuple[SampleColumn, str]]:
    """Yield the p- and q-values of the primary score and of the one that names samples, each with its explanation."""
    naming = naming_score(audit)
    for score in dict.fromkeys(filter(None, (audit.primary, naming))):
        summary = audit.summary(score)
        if summary.calibration is None:
            continue
        title = "{}-value" if score == audit.primary else f"{{}}-value of {score}"
        yield SampleColumn(title.format("p"), summary.calibration.p_values, "p_value"), P
        if names_samples(summary):
            yield SampleColumn(title.format("q"), summary.calibration.q_values, "p_value"), Q


def _score_column(audit: Audit, name: str) -> SampleColumn:
    reasons = {row: reason for row, reason in enumerate(audit.reasons[name]) if reason is not None}
    return SampleColumn(name, audit.values[name], kind="score", about=titled(name), reasons=reasons)
