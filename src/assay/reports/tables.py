"""The tables of an audit: built once as text, printed by a terminal, a Markdown page or the report."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.table import Table as RichTable
from rich.text import Text

from assay.evaluation.calibration import FlagRate
from assay.evaluation.estimate import Estimate
from assay.evaluation.ranking_result import Ranking
from assay.leakage.results import Audit, Calibration, ScoreSummary
from assay.reports.blind import baseline_note, compares_labels, confounding_warning, measured_baseline
from assay.reports.wording import auroc, number, percent, percent_with_interval


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    Attributes:
        name: of the score or baseline.
        cells: as many as the table has columns.
        kind: the score declared beforehand, another score, or the baseline that never sees the model.
        estimate: what a plot of intervals beside the table shows of this row.
    """

    name: str
    cells: tuple[str, ...]
    kind: Literal["primary", "score", "blind"] = "score"
    estimate: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text.

    Attributes:
        name: "scores", "doses" or "distributions".
        title: one line.
        columns: without the first one, which holds the rows' names.
        rows: the primary score first.
        caption: how to read it, in sentences.
        baseline: what the baseline that never sees the model says of this table; "" where there is nothing to say.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: tuple[str, ...]
    baseline: str = ""


def tables(audit: Audit) -> tuple[Table, ...]:
    """Every table that the audit's data allow: scores, doses, distributions with calibrated rates."""
    scores, doses = score_table(audit), dose_table(audit)
    calibrated = any(s.calibration is not None for s in audit.summaries)
    spread = distribution_table(audit) if scores is None or calibrated else None
    return tuple(table for table in (scores, doses, spread) if table is not None)


def score_table(audit: Audit) -> Table | None:
    """How well each score tells members from non-members; None without labels of both classes."""
    ranked = [(s, s.ranking) for s in audit.summaries if s.ranking is not None]
    if not ranked:
        return None
    ranked.sort(key=lambda pair: (pair[0].score != audit.primary, _descending(pair[1].auroc)))
    rates = tuple(ranked[0][1].tpr_at_fpr)
    rows = [_ranked_row(s.score, r, _kind(audit, s), rates) for s, r in ranked]
    baseline = measured_baseline(audit)
    if baseline is not None and compares_labels(audit):
        rows.append(_ranked_row(f"{baseline[0]} (never sees the model)", baseline[1], "blind", rates))
    chance = ", ".join(f"{percent(rate)} for TPR at {percent(rate)} FPR" for rate in rates)
    level = percent(ranked[0][1].auroc.level)
    return Table(
        name="scores",
        title="How well each score tells members from non-members",
        columns=("AUROC", *(f"TPR at {percent(rate)} FPR" for rate in rates), "coverage", "n"),
        rows=tuple(rows),
        caption=(
            f"In brackets: {level} intervals, bootstrapped by group.",
            f"Chance: .5 for AUROC, {chance}.",
            "Coverage: share of samples that have a value; n: members + non-members with one.",
        ),
        baseline=confounding_warning(audit) or baseline_note(audit) or "",
    )


def dose_table(audit: Audit) -> Table | None:
    """AUROC of each dose against samples never seen; None where doses are unknown."""
    dosed = [s for s in audit.summaries if s.doses]
    if not dosed:
        return None
    dosed.sort(key=lambda s: (s.score != audit.primary, _descending(s.ranking.auroc if s.ranking else None)))
    doses = sorted({p.dose for s in dosed for p in s.doses})
    rows = []
    for summary in dosed:
        points = {p.dose: p for p in summary.doses}
        cells = [auroc(points[dose].auroc) if dose in points else "–" for dose in doses]
        trend = summary.dose_correlation
        rows.append(Row(summary.score, (*cells, auroc(trend) if trend else "–"), _kind(audit, summary)))
    return Table(
        name="doses",
        title="AUROC by how often the model saw the sample",
        columns=(*(f"seen {dose:g}×" for dose in doses), "rank correlation"),
        rows=tuple(rows),
        caption=(
            f"Each dose against samples never seen; in brackets {percent(dosed[0].doses[0].auroc.level)} intervals.",
            "Chance is .5.",
            "Rank correlation: Spearman's, of value and dose over all samples.",
        ),
    )


def distribution_table(audit: Audit) -> Table:
    """Where the values lie and, where calibrated, how many are flagged beside how many chance would flag."""
    summaries = sorted(audit.summaries, key=lambda s: s.score != audit.primary)
    held = next((s.calibration for s in summaries if s.calibration is not None), None)
    columns, caption = ["mean", "median", "5 % to 95 %"], ["Values are oriented: higher = more like training data."]
    flags = _flag_columns(held)
    if held is not None:
        columns += [*flags, f"stand out (q ≤ {held.alpha:g})"]
        flagged = (
            f"Flagged: share of samples that score like the top {percent(held.alpha)} of {held.unseen:,} unseen texts "
            f"({held.source}), with its {percent(held.flagged.rate.level)} interval."
        )
        caption += [
            flagged,
            "Stand out: samples left after correction for testing all of them (Benjamini-Hochberg).",
        ]
    else:
        caption.append("Without text known to be unseen these values give no verdict.")
    rows = []
    for summary in summaries:
        spread, own = summary.distribution, summary.calibration
        low, middle, high = (spread.quantiles.get(share, math.nan) for share in (0.05, 0.5, 0.95))
        cells = [number(spread.mean), number(middle), f"{number(low)} to {number(high)}"]
        if held is not None:
            cells += [_flagged(which, own) for which in flags.values()] + [f"{own.discoveries:,}" if own else "–"]
        cells += [percent(summary.scored / summary.total if summary.total else math.nan), f"{summary.scored:,}"]
        rows.append(Row(summary.score, tuple(cells), _kind(audit, summary)))
    return Table(
        name="distributions",
        title="Values of each score over the benchmark",
        columns=(*columns, "coverage", "n"),
        rows=tuple(rows),
        caption=tuple(caption),
        baseline=confounding_warning(audit) or baseline_note(audit) or "",
    )


def _flag_columns(held: Calibration | None) -> Mapping[str, Callable[[Calibration], FlagRate | None]]:
    """Heading → which samples' rate stands below it: all of them, or each class where labels tell."""
    if held is None:
        return {}
    chance = percent(held.flagged.chance)
    if held.false_positives is None or held.true_positives is None:
        return {f"flagged (chance {chance})": lambda c: c.flagged}
    return {
        f"non-members flagged (chance {chance})": lambda c: c.false_positives,
        "members flagged": lambda c: c.true_positives,
    }


def _flagged(which: Callable[[Calibration], FlagRate | None], held: Calibration | None) -> str:
    rate = which(held) if held else None
    return percent_with_interval(rate.rate) if rate else "–"


def rich_table(table: Table) -> RichTable:
    """For a terminal. Names come from data, so nothing in them is read as markup."""
    drawn = RichTable(
        title=Text(table.title),
        caption=Text("\n".join(_sentences(table))),
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        header_style="dim",
    )
    drawn.add_column("score", no_wrap=True)
    for column in table.columns:
        drawn.add_column(Text(column), justify="right")
    for i, row in enumerate(table.rows):
        last_score = i + 1 < len(table.rows) and table.rows[i + 1].kind == "blind"
        style = {"primary": "bold", "score": "", "blind": "yellow"}[row.kind]
        drawn.add_row(Text(row.name), *(Text(c) for c in row.cells), style=style, end_section=last_score)
    return drawn


def markdown_table(audit: Audit) -> str:
    """The tables as GitHub Markdown, captions below."""
    return "\n\n".join(_markdown(table) for table in tables(audit)) + "\n"


def _markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    names = {"primary": "**`{}`**", "score": "`{}`", "blind": "{}"}
    lines = [line(("score", *table.columns)), "|---|" + "---:|" * len(table.columns)]
    lines += [line((names[row.kind].format(row.name), *row.cells)) for row in table.rows]
    return "\n".join([*lines, "", " ".join(_sentences(table))])


def _sentences(table: Table) -> tuple[str, ...]:
    return (*table.caption, table.baseline) if table.baseline else table.caption


def _ranked_row(name: str, ranking: Ranking, kind: Literal["primary", "score", "blind"], rates: Sequence[float]) -> Row:
    found = [percent_with_interval(ranking.tpr_at_fpr[rate]) for rate in rates]
    n = f"{ranking.positives:,} + {ranking.negatives:,}"
    return Row(name, (auroc(ranking.auroc), *found, percent(ranking.coverage), n), kind, ranking.auroc)


def _kind(audit: Audit, summary: ScoreSummary) -> Literal["primary", "score"]:
    return "primary" if summary.score == audit.primary else "score"


def _descending(estimate: Estimate | None) -> float:
    return math.inf if estimate is None or math.isnan(estimate.value) else -estimate.value
