"""The audit in four steps: texts are measured, scores are compared, each gives a verdict, and one is the answer."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.errors import DataError
from assay.leakage.audit_notes import notes_of
from assay.leakage.contrasting import ALPHA, compare_scores
from assay.leakage.cost import WholeWork
from assay.leakage.inputs import AuditInputs, AuditLabels, ComparisonData, DecisionSettings
from assay.leakage.judging import JudgedAudit, judge_scores
from assay.leakage.looks import in_turn, looks_at
from assay.leakage.measuring import measure_texts
from assay.leakage.parts import by_part
from assay.leakage.results import Audit, MethodResult, PartResult
from assay.leakage.texts import groups_of
from assay.leakage.verdict import significance
from assay.scoring import Plan, Progress
from assay.types import Sample, Verdict

ENDED_EARLY = (
    "The answer was clear after {texts} tasks and at most as many unseen texts, at p ≤ {level:.2g}: all looks together "
    "have the level {whole:g}. The other {left_out} tasks were not scored; --whole scores all."
)


def audit(
    samples: Sequence[Sample],
    plan: Plan,
    *,
    benchmark: str,
    comparison: ComparisonData | None = None,
    decision: DecisionSettings | None = None,
    labels: AuditLabels | None = None,
    progress: Progress | None = None,
    phase: Callable[[str], None] | None = None,
) -> Audit:
    """Score a benchmark, compare it, and decide, once.

    Args:
        samples: the benchmark. Labels "member" / "nonmember" give rankings; a whole number `dose` in every sample's
            metadata gives dose-response curves.
        plan: scores and models, see `assay.scoring.planning`.
        benchmark: its name, for the report.
        comparison: what it is compared with; None for nothing.
        decision: settings of decisions and intervals; None for the defaults.
        labels: kind, name of the model and notes, for the report; None for none.
        progress: called after every batch, see `assay.scoring.run`.
        phase: called with the name of each part of the work before it begins.

    Raises:
        DataError: nothing to audit, or all unseen texts are in the benchmark.
        AssayError: too few unseen texts, see `assay.evaluation.calibration`.
        ModelError: when the model cannot be run.
    """
    if not samples:
        raise DataError(f"{benchmark}: no samples; expected at least one")
    inputs = AuditInputs(
        samples=tuple(samples),
        plan=plan,
        benchmark=benchmark,
        comparison=comparison or ComparisonData(),
        decision=decision or DecisionSettings(),
        labels=labels or AuditLabels(),
        progress=progress,
        phase=phase,
    )
    return audit_inputs(inputs)


def audit_inputs(inputs: AuditInputs) -> Audit:
    """Run an audit, see `audit`."""
    measured = measure_texts(inputs)
    compared = compare_scores(measured)
    judged = judge_scores(compared)
    return conclude(judged)


def audit_until_clear(inputs: AuditInputs) -> Audit:
    """Run an audit on a growing part of its texts, and end where the answer is clear, see `assay.leakage.looks`."""
    inputs = replace(inputs, work=WholeWork.of(inputs))
    if not inputs.can_end_early:
        return audit_inputs(inputs)
    samples, fresh, seed = inputs.samples, inputs.comparison.unseen, inputs.decision.seed
    # each look contains the one before it, so the cache holds what was scored
    own, others = in_turn(groups_of(samples), seed=seed), in_turn(groups_of(fresh, "unseen"), seed=seed)
    level = significance(same_form=inputs.comparison.same_form)
    # only an accusation ends the looks: that nothing shows in a part says little about the rest
    for look in looks_at(len(samples), level):
        if look.texts == len(samples):
            break
        part = inputs.part(own[: look.texts], others[: look.texts], level=look.level)
        result = audit_inputs(part)
        if result.decision.verdict in (Verdict.FAMILIAR, Verdict.CONTAMINATED):
            left_out = len(samples) - look.texts
            note = ENDED_EARLY.format(texts=look.texts, left_out=left_out, level=look.level, whole=level)
            return replace(result, left_out=left_out, notes=(note, *result.notes))
    # the last look gets what the others left, so that all have the level of one test
    return audit_inputs(inputs.at_level(look.level))


def conclude(judged: JudgedAudit) -> Audit:
    """Return the audit: the verdict of the score that was declared for it, with everything that was measured for it."""
    compared, measured = judged.compared, judged.compared.measured
    inputs, literature = measured.inputs, measured.inputs.comparison.literature
    methods: tuple[MethodResult, ...] = ()
    gate = None
    # after the verdict, which methods of the literature must not move
    if literature is not None:
        inputs.begin("methods of the literature")
        methods, gate = literature.run(seed=inputs.decision.seed), literature.gate()
    return Audit(
        kind=inputs.labels.kind,
        model=inputs.model,
        benchmark=inputs.benchmark,
        samples=inputs.samples,
        values=measured.values,
        reasons=measured.reasons,
        summaries=judged.summaries,
        primary=inputs.primary,
        blind=compared.blind,
        blind_compares=compared.blind_compares,
        tokens=measured.tokens.shown(measured.values[inputs.primary]),
        parts=_parts(judged),
        methods=methods,
        gate=gate,
        notes=tuple(notes_of(compared)),
    )


def _parts(judged: JudgedAudit) -> tuple[PartResult, ...]:
    """Return what is flagged of each part of the tasks; empty where p-values are weighted."""
    measured = judged.compared.measured
    # weights belong to whole texts and say nothing of a part
    if measured.parts is None or judged.compared.ratio is not None:
        return ()
    return by_part(measured.parts.values, measured.groups, measured.unseen.groups, alpha=ALPHA)
