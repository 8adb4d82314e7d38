"""A judgement of a whole benchmark as a report."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from assay.evaluation import Estimate
from assay.leakage.dataset_level.results import (
    BOUND_AT,
    FAMILIARITY,
    DatasetJudgement,
    JudgingCost,
    JudgingPreview,
    MethodResult,
)
from assay.leakage.detectors.permutation_test import NAME as PERMUTATION_TEST
from assay.leakage.results import BEYOND, NO_MORE
from assay.reports import (
    Column,
    Fact,
    Method,
    Missing,
    Report,
    Row,
    Table,
    area_with_interval,
    encode,
    four_digits,
    named_p_value,
    number_of,
    percent,
    percent_interval,
    points_with_interval,
)
from assay.scores import DETECTORS
from assay.types import Verdict

FAMILIAR_FORM = (
    "Where a part of a benchmark was trained on, its other part looks more familiar too, because the model learns the "
    "form of the benchmark. So texts may be counted that were not seen; texts that were seen once are mostly missed."
)
ALLOWANCE = (
    "The verdict and the lower end of the share allow for that: texts that were not trained on may score "
    f"{FAMILIARITY:g} standard deviations higher than the unseen text."
)

RULES = (
    "An authors' rule is not a verdict: on clean benchmarks of known truth, single rules said “contaminated” for a "
    "tenth to two thirds of them."
)
COMPARES = "Scores of one method compare between benchmarks only at equal numbers of samples and for one model."


def describe_judgement(judgement: DatasetJudgement, manifest: Mapping[str, object] = MappingProxyType({})) -> Report:
    """Return the report of a judgement.

    Args:
        judgement: what was measured and decided.
        manifest: how, as the run folder stores it.
    """
    decision = judgement.decision
    reason = f" ({decision.reason.value})" if decision.reason else ""
    return Report(
        title=f"Was {judgement.benchmark} in the training data of {judgement.model}?",
        statement=f"Verdict: {decision.verdict.value}{reason}. {decision.explanation}",
        tables=(method_table(judgement), *condition_tables(judgement)),
        notes=(*judgement.notes, *gate_notes(judgement)),
        data={"schema": 1, **encode(judgement)},
        kind="dataset report",
        details=details(judgement),
        facts=judgement_facts(judgement),
        methods=tuple(method_of(result) for result in judgement.methods),
        manifest=manifest,
    )


def details(judgement: DatasetJudgement) -> tuple[str, ...]:
    """Return the bound, what the share means, and what the run could have revealed."""
    sentences = []
    bound = judgement.upper_bound()
    if bound is not None:
        sentences.append(f"{bound_sentence(bound)} Both are measured by {judgement.score}.")
    if judgement.decision.verdict is Verdict.CONTAMINATED:
        allowed = not math.isnan(judgement.p_beyond) and judgement.set_aside is None
        sentences += [FAMILIAR_FORM, ALLOWANCE] if allowed else [FAMILIAR_FORM]
    if judgement.set_aside is not None:
        sentences.insert(0, set_aside_sentence(judgement.set_aside))
    return (*sentences, *power_sentences(judgement.preview))


def set_aside_sentence(explanation: str) -> str:
    """Return what was set aside on request."""
    return f"Conditions were set aside (--allow-confounded). With them the verdict is “cannot tell”: {explanation}"


def bound_sentence(bound: float) -> str:
    """Return the upper bound in words."""
    if bound >= 1:
        return f"All of the texts may have been seen {BOUND_AT} times or more (95 % bound)."
    return f"At most {percent(bound)} of the texts were seen {BOUND_AT} times or more (95 % bound)."


def power_sentences(expected: JudgingPreview) -> tuple[str, ...]:
    """Return the smallest shares that the run can reveal, in words."""
    if not expected.detectable:
        return ()
    shown = ", ".join(
        f"{percent(share) if share <= 1 else 'none'} if seen {'once' if times == 1 else f'{times} times'}"
        for times, share in expected.detectable.items()
    )
    assumed = "This assumes that the model remembers as well as `builtin:small`."
    return (f"Smallest share that this run reveals with 80 % power: {shown}. {assumed}",)


def cost_sentence(cost: JudgingCost) -> str:
    """Return the cost of a run in words."""
    hours = cost.hours
    minutes = round(60 * hours)
    length = number_of(minutes, "minute") if minutes else "less than a minute"
    length = f"about {number_of(round(hours, 1), 'hour')}" if hours >= 1 else f"about {length}" if minutes else length
    return f"{round(cost.texts):,} forward passes of one text each (a training step counts 3), {length}."


def judgement_facts(judgement: DatasetJudgement) -> tuple[Fact, ...]:
    """Return the main figures."""
    entries = [Fact("Verdict", judgement.decision.verdict.value)]
    share = judgement.reported_share
    if share is not None:
        note = (
            f"{percent(share.level)} interval {percent_interval(share)}" if share.has_interval else share.reason or ""
        )
        entries.append(Fact("Share that looks trained on", percent(share.value), note))
    bound = judgement.upper_bound()
    if bound is not None:
        entries.append(Fact(f"Seen {BOUND_AT} times or more, at most", percent(bound), "95 % bound"))
    if judgement.flagged is not None:
        rate = judgement.flagged.rate
        entries.append(
            Fact(
                "Samples flagged",
                percent(rate.value),
                f"{percent_interval(rate)}; chance {percent(judgement.flagged.chance)}",
            )
        )
    calling, with_rule = calls_of(judgement)
    if with_rule:
        entries.append(
            Fact(
                "Other methods that call it contaminated",
                f"{calling} of {with_rule}",
                "by their authors' own rules, which are often wrong; they do not decide",
            )
        )
    unseen = f"{judgement.unseen:,} unseen texts of {number_of(judgement.unseen_groups, 'group')}"
    entries.append(Fact("Samples", f"{judgement.samples:,}", f"of {number_of(judgement.groups, 'group')}; {unseen}"))
    return tuple(entries)


def method_table(judgement: DatasetJudgement) -> Table:
    """Return one row per method: value, that of the unseen text, p-value, the authors' decision."""
    return Table(
        name="methods",
        title="Values of each method",
        columns=(
            Column("method", "name"),
            Column("value", "number"),
            Column("unseen text", "number"),
            Column("p-value", "p_value"),
            Column("authors' rule", "text"),
            Column("samples", "count", optional=True),
        ),
        rows=tuple(method_row(result) for result in judgement.methods),
        caption=("A higher value speaks for contamination.", COMPARES, RULES),
    )


def method_row(result: MethodResult) -> Row:
    """Return the row of a method; a figure that it does not have says why."""
    score = result.score
    called = (
        Missing("the method states no rule") if score.called is None else "contaminated" if score.called else "clean"
    )
    return Row(
        (
            result.name,
            Missing(score.reason or "no value") if math.isnan(score.value) else score.value,
            Missing("not computed for unseen text") if math.isnan(score.unseen_value) else score.unseen_value,
            Missing("no null distribution") if math.isnan(score.p_value) else score.p_value,
            called,
            score.samples,
        )
    )


def condition_tables(judgement: DatasetJudgement) -> tuple[Table, ...]:
    """Return the table of all that decides whether a verdict is allowed."""
    rows = []
    if judgement.blind is not None:
        ranking = judgement.blind.ranking
        value = area_with_interval(ranking.auroc) if ranking else judgement.blind.reason or "not measured"
        clear = ranking is not None and ranking.auroc.has_interval
        meaning = "the texts differ" if judgement.blind.separates else "no clear difference" if clear else "not known"
        rows.append(Row(("blind baseline (AUROC)", value, meaning)))
    if judgement.control is not None:
        flags = judgement.control.flagged
        value = f"{percent(flags.rate.value)} flagged, {percent_interval(flags.rate)}; chance {percent(flags.chance)}"
        excess = judgement.control.excess
        decides = excess is not None and excess.has_interval
        uneven = "not flat; the excess decides" if decides else "not flat"
        flat = "flat" if judgement.control.is_flat else uneven if flags.rate.has_interval else "not known"
        rows.append(Row((f"control {judgement.control.model}", value, flat)))
        if excess is not None and decides:
            rows.append(Row(("flagged beyond the control", points_with_interval(excess), excess_in_words(excess))))
    if not math.isnan(judgement.p_value):
        rows.append(Row(("permutation test by group", named_p_value(judgement.p_value), _test_in_words(judgement))))
    if not math.isnan(judgement.p_beyond):
        meaning = f"allows {FAMILIARITY:g} standard deviations for text of projects that the model knows"
        rows.append(Row(("the same test with an allowance", named_p_value(judgement.p_beyond), meaning)))
    if judgement.gate is not None:
        gate = judgement.gate
        value = f"{four_digits(gate.own.norm)} against {four_digits(gate.unseen.norm)} for unseen text"
        rows.append(Row(("mean gradient", value, "open" if gate.is_open else "closed")))
    if not rows:
        return ()
    columns = (Column("condition", "text"), Column("value", "text"), Column("meaning", "text"))
    return (Table("conditions", "What the verdict rests on", columns, tuple(rows)),)


def excess_in_words(excess: Estimate) -> str:
    """Return what an excess over a control that is not flat allows."""
    if excess.low > BEYOND:
        return f"clearly above {100 * BEYOND:g}: allows “contaminated”"
    if excess.high < NO_MORE:
        return f"clearly below {100 * NO_MORE:g}: allows “no evidence”"
    return f"neither clearly above {100 * BEYOND:g} nor clearly below {100 * NO_MORE:g}"


def calls_of(judgement: DatasetJudgement) -> tuple[int, int]:
    """Return how many methods call the benchmark contaminated, and how many have a rule.

    The permutation test is not counted: the verdict rests on it.
    """
    calls = [m.score.called for m in judgement.methods if m.score.called is not None and not is_permutation_test(m)]
    return sum(calls), len(calls)


def is_permutation_test(result: MethodResult) -> bool:
    """Return True for the permutation test, with any parameters."""
    return result.name.partition(":")[0] == PERMUTATION_TEST


def _test_in_words(judgement: DatasetJudgement) -> str:
    """Return the score of the test behind the verdict, and how it relates to the method of that name."""
    methods = [result for result in judgement.methods if is_permutation_test(result)]
    if not methods:
        return judgement.score
    same = any(result.score.p_value == judgement.p_value for result in methods)
    relation = "the same test as" if same else "another score or another part than in"
    return f"{judgement.score}; {relation} {PERMUTATION_TEST} above"


def gate_notes(judgement: DatasetJudgement) -> list[str]:
    """Return a note where the direction of the kernel divergence cannot be trusted."""
    if judgement.gate is None or judgement.gate.is_open:
        return []
    closed = (
        "The mean gradient of the benchmark is not clearly smaller than that of unseen text: the direction of the "
        "kernel divergence and of the score deviations is unreliable here, and may be reversed."
    )
    return [closed]


def method_of(result: MethodResult) -> Method:
    """Return the explanation of a method."""
    name = result.name.partition(":")[0]
    detector = DETECTORS[name]
    return Method(detector.title, "", detector.formula, detector.reference, result.name)
