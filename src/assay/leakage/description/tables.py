"""The tables of an audit: scores, doses, calibrated rates; without labels the distributions of the values."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from itertools import chain
from operator import attrgetter

from assay.evaluation import BlindBaseline, Estimate, FlagRate, Ranking
from assay.leakage.description.blind import baseline_separates_labels, measured_baseline
from assay.leakage.naming import named_samples, names_samples
from assay.leakage.results import (
    BEYOND,
    NO_MORE,
    Audit,
    Calibration,
    MethodResult,
    NegativeControl,
    PlantedDose,
    ScoreSummary,
)
from assay.leakage.unseen_test import FAMILIARITY, UnseenTest
from assay.leakage.verdict import more_or_less
from assay.reports import (
    Cell,
    Column,
    Missing,
    Row,
    RowKind,
    Table,
    area_with_interval,
    four_digits,
    named_p_value,
    number_of,
    percent,
    percent_interval,
)

SCORES, EXPOSURES, DISTRIBUTIONS = "Scores", "Exposures", "Distributions"
"""Sections of the page, shared with figures."""

PLOT = (0.3, 1.0, 0.5)
TAGS: Mapping[RowKind, str] = {"primary": "headline score", "plain": "", "baseline": ""}
CONTROL_FLAGS = (
    "Control flags: the same share under {model}, which never saw the benchmark. Where it is far from chance, the "
    "score reacts to a difference between the texts that is not training."
)
RULES = (
    "An authors' rule is not a verdict: on clean benchmarks of known truth, single rules said “contaminated” for a "
    "tenth to two thirds of them."
)
COMPARES = "Values of one method compare between benchmarks only at equal numbers of samples and for one model."
MOST_NAMED = 20
"""Rows of the table of named samples."""


def tables(audit: Audit) -> tuple[Table, ...]:
    """Return every table that the audit's data allow."""
    scores = score_table(audit)
    every = (
        condition_table(audit),
        scores,
        dose_table(audit),
        flag_table(audit),
        # of labelled samples their ranking says more than where the values lie
        distribution_table(audit) if scores is None else None,
        planted_table(audit),
        named_table(audit),
        part_table(audit),
        method_table(audit),
    )
    return tuple(filter(None, every))


def condition_table(audit: Audit) -> Table | None:
    """Return all that the verdict by the test against unseen text rests on; None without such a test."""
    if audit.test is None:
        return None
    columns = (Column("condition"), Column("value"), Column("meaning"))
    rows = map(Row, _conditions(audit, audit.test))
    return Table("conditions", "What the verdict rests on", columns, rows=tuple(rows))


def _conditions(audit: Audit, test: UnseenTest) -> Iterator[tuple[str, str, str]]:
    """Yield condition, value and meaning."""
    if audit.blind is not None:
        yield "texts alone, without the model (AUROC)", *_blind_cells(audit.blind)
    if audit.deciding.control is not None:
        yield from _control_conditions(audit.deciding.control)
    # NaN: not made, and no row claims that it was
    if not math.isnan(test.p_value):
        yield "permutation test by group", named_p_value(test.p_value), audit.primary
    if not math.isnan(test.p_beyond):
        meaning = f"allows {FAMILIARITY:g} standard deviations for text of projects that the model knows"
        yield "the same test with an allowance", named_p_value(test.p_beyond), meaning
    if audit.gate is not None:
        value = f"{four_digits(audit.gate.own.norm)} against {four_digits(audit.gate.unseen.norm)} for unseen text"
        yield "mean gradient", value, ("closed", "open")[audit.gate.is_open]


def _blind_cells(blind: BlindBaseline) -> tuple[str, str]:
    if blind.ranking is None:
        return blind.reason or "not measured", "not known"
    area, meaning = blind.ranking.auroc, "not known"
    if blind.separates:
        meaning = "the texts differ"
    elif area.has_interval:
        meaning = "no clear difference"
    return area_with_interval(area), meaning


def _control_conditions(control: NegativeControl) -> Iterator[tuple[str, str, str]]:
    rate, excess = control.flagged.rate, control.excess
    decides = excess is not None and excess.has_interval
    meaning = "not flat"
    if control.is_flat:
        meaning = "flat"
    elif not rate.has_interval:
        meaning = "not known"
    # a control that reacts to the texts still decides where the difference to it is clear
    elif decides:
        meaning = "not flat; the excess decides"
    value = f"{percent(rate.value)} flagged, {percent_interval(rate)}; chance {percent(control.flagged.chance)}"
    yield f"control {control.model}", value, meaning
    if excess is not None and decides:
        yield "flagged beside the control", more_or_less(excess), excess_in_words(excess)


def excess_in_words(excess: Estimate) -> str:
    """Return what an excess over a control that is not flat allows."""
    if excess.low > BEYOND:
        return f"clearly above {100 * BEYOND:g}: allows “contaminated”"
    if excess.high < NO_MORE:
        return f"clearly below {100 * NO_MORE:g}: allows “no evidence”"
    return f"neither clearly above {100 * BEYOND:g} nor clearly below {100 * NO_MORE:g}"


def method_table(audit: Audit) -> Table | None:
    """Return the methods of the literature: value, that of the unseen text, p-value, the authors' decision."""
    if not audit.methods:
        return None
    columns = (
        Column("method", "name", lambda result: result.name),
        Column("value", "number", _method_value),
        Column(
            "unseen text",
            "number",
            lambda result: result.score.unseen_value,
            missing="not computed for unseen text",
        ),
        Column("p-value", "p_value", lambda result: result.score.p_value, missing="no null distribution"),
        Column("authors' rule", "text", _called, missing="the method states no rule"),
        Column("samples", "count", lambda result: result.score.samples, optional=True),
    )
    caption = ("A higher value speaks for contamination.", COMPARES, RULES)
    return Table.of("methods", "Methods of the literature", audit.methods, columns=columns, caption=caption)


def _method_value(result: MethodResult) -> float | Missing:
    if math.isnan(result.score.value):
        return Missing(result.score.reason or "no value")
    return result.score.value


def _called(result: MethodResult) -> str | None:
    if result.score.called is None:
        return None
    return ("clean", "contaminated")[result.score.called]


def score_table(audit: Audit) -> Table | None:
    """Return how well each score separates members from non-members; None without labels of both classes."""
    ranked = [(summary, summary.ranking) for summary in by_area(audit) if summary.ranking is not None]
    if not ranked:
        return None
    # all rankings have the same rates
    rates = tuple(ranked[0][1].tpr_at_fpr)
    rows = [_ranked_row(summary.score, ranking, rates, kind=_kind(audit, summary)) for summary, ranking in ranked]
    baseline = measured_baseline(audit)
    if baseline is not None and baseline_separates_labels(audit):
        rows.append(_ranked_row(f"{baseline[0]} (never sees the model)", baseline[1], rates, kind="baseline"))
    titles = {rate: f"TPR at {percent(rate)} FPR" for rate in rates}
    chance = ", ".join(f"{percent(rate)} for {title}" for rate, title in titles.items())
    return Table(
        name="scores",
        title="How well each score separates members from non-members",
        columns=(
            Column("score", "name"),
            Column("AUROC", "area", plot=PLOT),
            *map(partial(Column, kind="share"), titles.values()),
            Column("coverage", "share", optional=all(ranking.coverage == 1 for _, ranking in ranked)),
            Column("n", "count"),
        ),
        rows=tuple(rows),
        caption=(
            f"In brackets: {percent(ranked[0][1].auroc.level)} intervals; groups of members + non-members.",
            *filter(None, [ranked[0][1].auroc.warning]),
            f"Chance: .5 for AUROC, {chance}.",
            "Coverage: share of samples that have a value; n: members + non-members with one.",
        ),
        section=SCORES,
    )


def dose_table(audit: Audit) -> Table | None:
    """Return the AUROC of each dose against samples never seen; None where doses are unknown."""
    dosed = list(filter(attrgetter("doses"), by_area(audit)))
    if not dosed:
        return None
    doses = sorted({point.dose for point in chain.from_iterable(map(attrgetter("doses"), dosed))})
    sizes = {point.dose: point.samples for point in dosed[0].doses}
    rows = []
    for summary in dosed:
        # scores differ in what they can score, so one may lack a dose that another has
        cells: dict[float, Cell] = dict.fromkeys(doses, Missing("no sample of that dose has a value"))
        for point in summary.doses:
            cells[point.dose] = point.auroc
        trend = summary.dose_correlation or Missing("no correlation was measured")
        rows.append(_row(audit, summary, [*cells.values(), trend]))
    return Table(
        name="doses",
        title="AUROC by how often the model saw the sample",
        columns=(
            Column("score", "name"),
            *(Column(f"seen {dose:g}×", "area", note=_size(sizes.get(dose, 0))) for dose in doses),
            Column("rank correlation", "area"),
        ),
        rows=tuple(rows),
        caption=(
            f"Each dose against samples never seen; in brackets {percent(dosed[0].doses[0].auroc.level)} intervals.",
            f"Chance is .5. n: samples scored by {dosed[0].score}.",
            "Rank correlation: Spearman's, of value and dose over all samples; chance is 0.",
        ),
        section=EXPOSURES,
    )


def flag_table(audit: Audit) -> Table | None:
    """Return how many samples of known truth a threshold set on unseen text flags; None where there is neither."""
    calibrated = [(s, s.calibration) for s in by_area(audit) if s.calibration is not None and _truths(s.calibration)]
    if not calibrated:
        return None
    _, first = calibrated[0]
    columns = [Column(name, "share", note=_size(rate.samples)) for name, rate in _truths(first).items()]
    rows = []
    for summary, calibration in calibrated:
        cells: list[Cell] = [rate.rate for rate in _truths(calibration).values()]
        # beside the rate of the never-seen samples, which it judges
        if calibration.false_positives:
            cells.insert(1, calibration.false_positives.p_value)
        rows.append(_row(audit, summary, cells))
    caption = [
        f"Each score's threshold comes from {first.unseen:,} other texts that the model has not seen: {first.source}.",
        f"Flagged: scores like the top {percent(first.alpha)} of it; chance flags {percent(first.flagged.chance)}.",
        f"In brackets: {percent(first.flagged.rate.level)} intervals, other draws of those texts included.",
    ]
    if first.false_positives:
        columns.insert(1, Column("p", "p_value"))
        caption.append("p: how often at least as many never-seen samples would be flagged if the calibration holds.")
    return Table(
        name="flagged",
        title="What a threshold set beforehand flags",
        columns=(Column("score", "name"), *columns),
        rows=tuple(rows),
        caption=tuple(caption),
        section=EXPOSURES if first.by_dose else SCORES,
    )


def distribution_table(audit: Audit) -> Table:
    """Return where the values lie and, where calibrated, how many are flagged beside how many chance would flag."""
    summaries = sorted(audit.summaries, key=lambda summary: summary.score != audit.primary)
    calibrations = list(filter(None, map(attrgetter("calibration"), summaries)))
    columns: list[tuple[Column, Callable[[ScoreSummary], Cell]]] = [
        (Column("mean", "number", optional=True), lambda summary: summary.distribution.mean),
        (Column("median", "number"), lambda summary: summary.distribution.quantiles.get(0.5, math.nan)),
        (Column("5\u00a0% to\u00a095\u00a0%", "count", optional=True), _middle_part),
    ]
    caption = ["Values are oriented: higher = more like training data."]
    if not calibrations:
        caption.append("Without text known to be unseen these values give no verdict.")
    # all scores are calibrated on the same texts, so the first describes them
    for calibration in calibrations[:1]:
        columns.append((Column("flagged", "share", note=f"chance {percent(calibration.flagged.chance)}"), _flagged))
        caption.append(
            f"Flagged: share of samples that score like the top {percent(calibration.alpha)} of "
            f"{calibration.unseen:,} unseen texts ({calibration.source}), with its "
            f"{percent(calibration.flagged.rate.level)} interval."
        )
    control = next(filter(None, map(attrgetter("control"), calibrations)), None)
    if control is not None:
        columns.append((Column("control flags", "share"), _flagged_under_control))
        caption.append(CONTROL_FLAGS.format(model=control.model))
    if any(map(names_samples, summaries)):
        columns.append((Column("named", "count", note=f"q\u00a0≤\u00a0{calibrations[0].alpha:g}"), _named))
        caption.append("Named: single samples left after correction for testing all of them (Benjamini-Hochberg).")
    columns.append((Column("coverage", "share"), lambda summary: summary.scored / summary.total))
    columns.append((Column("n", "count"), attrgetter("scored")))
    headings, getters = zip(*columns, strict=True)
    rows = []
    for summary in summaries:
        rows.append(_row(audit, summary, [cell(summary) for cell in getters]))
    return Table(
        name="distributions",
        title="Values of each score over the benchmark",
        columns=(Column("score", "name"), *headings),
        rows=tuple(rows),
        caption=tuple(caption),
        section=SCORES,
    )


def _middle_part(summary: ScoreSummary) -> str:
    if not summary.scored:
        return "–"
    low, high = map(summary.distribution.quantiles.get, (0.05, 0.95), (math.nan, math.nan))
    return f"{low:.4g} to {high:.4g}".replace("-", "−")


def _flagged(summary: ScoreSummary) -> Cell:
    if summary.calibration is None:
        return Missing("this score was not calibrated")
    return summary.calibration.flagged.rate


def _flagged_under_control(summary: ScoreSummary) -> Cell:
    if summary.control is None:
        return Missing("the control has no value of this score")
    return summary.control.flagged.rate


def _named(summary: ScoreSummary) -> Cell:
    if summary.calibration is None or not names_samples(summary):
        return Missing("this score names no samples")
    return summary.calibration.discoveries


def named_table(audit: Audit) -> Table | None:
    """Return the single samples that the audit names, the surest first; None where it names none."""
    named = named_samples(audit)
    if not named.samples:
        return None
    caption = [
        f"Named by {named.score}: q ≤ {named.level:g} over {number_of(named.tested, 'sample')}. {named.false_share}"
    ]
    if len(named.samples) > MOST_NAMED:
        caption.append(f"{len(named.samples) - MOST_NAMED:,} more are in the list of samples.")
    return Table(
        name="named",
        title="Single samples that were trained on",
        columns=(
            Column("sample"),
            Column(f"{named.score}", "number", optional=True),
            Column("p", "p_value"),
            Column("q", "p_value"),
        ),
        rows=tuple(map(Row, map(astuple, named.samples[:MOST_NAMED]))),
        caption=tuple(caption),
        section=SCORES,
    )


def planted_table(audit: Audit) -> Table | None:
    """Return what is flagged of unseen texts that a copy of the model was trained on; None where none were planted."""
    calibration = audit.deciding.calibration
    if calibration is None or calibration.planted is None:
        return None
    planted = calibration.planted
    trained = (
        f"Unseen texts, trained on so many times in a copy of the model (LoRA, rate {planted.rate:g}) and flagged by "
        f"{audit.primary} against {planted.held_out:,} unseen texts of other groups. One exposure in such a training "
        "need not leave what one leaves in pre-training."
    )
    spilled = (
        "Not planted: texts of the planted groups that were left out; what is flagged of them beyond chance spilled "
        "over. Gain: rise of the log-probability in nats a token."
    )
    result = "Last column: smallest share of the benchmark that is called familiar with 80 % probability."
    if planted.barred:
        result = f"No verdict would follow from any leak here: {planted.barred}."
    return Table(
        name="planted",
        title="Power by planted doses",
        columns=(
            Column("planted texts", "text"),
            Column("n", "count"),
            Column("flagged", "share", note=f"chance {percent(calibration.flagged.chance)}"),
            Column("gain", "number", optional=True),
            Column("detectable", "share"),
        ),
        rows=tuple(map(_planted_row, planted.doses)),
        caption=(trained, spilled, result),
        section=SCORES,
    )


def _planted_row(entry: PlantedDose) -> Row:
    name, detectable = f"seen {entry.dose:g}×", entry.detectable
    smallest: Cell = detectable
    if not entry.dose:
        name, smallest = "not planted", Missing("nothing leaked")
    elif math.isnan(detectable):
        smallest = Missing("the residual decides")
    # more than the whole benchmark would have to leak
    elif detectable > 1:
        smallest = Missing("no share is")
    return Row((name, entry.flagged.samples, entry.flagged.rate, entry.gain, smallest))


def part_table(audit: Audit) -> Table | None:
    """Return what is flagged of each part of the tasks; None where there are no parts."""
    if not audit.parts:
        return None
    chance = percent(audit.parts[0].flagged.chance)
    caption = [
        f"By {audit.primary}, given what stands before the part; compared with the same part of the unseen texts.",
        f"Chance flags {chance}. p: how often a benchmark that did not leak has as many or more flagged.",
    ]
    # flags of a part have no control, and beside an open answer would be read as one
    if audit.deciding.is_open:
        caption.append("No verdict follows from these figures.")
    rows = []
    for entry in audit.parts:
        flags = entry.flagged
        rows.append(Row((entry.part, flags.rate, flags.p_value, flags.samples, entry.unseen)))
    return Table(
        name="parts",
        title="Flagged by part of a task",
        columns=(
            Column("part"),
            Column("flagged", "share", note=f"chance {chance}"),
            Column("p", "p_value"),
            Column("n", "count"),
            Column("unseen", "count"),
        ),
        rows=tuple(rows),
        caption=tuple(caption),
        section=SCORES,
    )


def by_area(audit: Audit) -> list[ScoreSummary]:
    """Return the primary score, then the others by descending AUROC."""

    def order(summary: ScoreSummary) -> tuple[bool, bool, float]:
        # NaN compares with nothing and would leave the order to chance
        if summary.ranking is None or math.isnan(summary.ranking.auroc.value):
            return summary.score != audit.primary, True, 0.0
        return summary.score != audit.primary, False, -summary.ranking.auroc.value

    return sorted(audit.summaries, key=order)


def _truths(calibration: Calibration) -> Mapping[str, FlagRate]:
    """The samples in words → how many of them are flagged: by dose where doses are known, else by label."""
    rates = {}
    for dose, rate in sorted(calibration.by_dose.items()):
        rates[f"seen {dose:g}×" if dose else "never seen"] = rate
    # with doses the never-seen samples stand there already
    if not rates and calibration.false_positives is not None:
        rates["non-members"] = calibration.false_positives
    if not calibration.by_dose and calibration.true_positives is not None:
        rates["members"] = calibration.true_positives
    return rates


def _ranked_row(name: str, ranking: Ranking, rates: Sequence[float], *, kind: RowKind) -> Row:
    shares = map(ranking.tpr_at_fpr.__getitem__, rates)
    n = f"{ranking.positives:,} + {ranking.negatives:,}"
    return Row((name, ranking.auroc, *shares, ranking.coverage, n), kind, TAGS[kind])


def _row(audit: Audit, summary: ScoreSummary, cells: Sequence[Cell]) -> Row:
    kind = _kind(audit, summary)
    # among one score the tag says nothing
    tag = TAGS[kind] if len(audit.summaries) > 1 else ""
    return Row((summary.score, *cells), kind, tag)


def _kind(audit: Audit, summary: ScoreSummary) -> RowKind:
    return "primary" if summary.score == audit.primary else "plain"


def _size(samples: int) -> str:
    return f"n\u00a0=\u00a0{samples:,}"
