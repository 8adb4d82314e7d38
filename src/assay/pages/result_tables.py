"""The tables of an audit: built once as text, printed by a terminal, a Markdown page or the report."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from assay.evaluation import Estimate, FlagRate, Ranking
from assay.leakage import Audit, Calibration, ScoreSummary
from assay.pages.blind import baseline_note, compares_labels, confounding_warning, measured_baseline
from assay.pages.wording import auroc, likelihood, number, percent, percent_with_interval

WIDE = 6
"""Columns beside the name from which on a terminal shows values without intervals and numbers of samples."""

SPREAD = "5\u00a0% to\u00a095\u00a0%"
"""Heading of the range that holds all but the outer tenth."""


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
        name: "scores", "doses", "flagged" or "distributions".
        title: one line.
        columns: without the first one, which holds the rows' names.
        rows: the primary score first.
        caption: how to read it, in sentences.
        baseline: what the baseline that never sees the model says of this table; "" where there is nothing to say.
        report_only: columns for which a terminal of 80 has no room.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: tuple[str, ...]
    baseline: str = ""
    report_only: tuple[str, ...] = ()

    @property
    def is_wide(self) -> bool:
        """Whether a terminal has no room for the intervals."""
        return len(self.columns) > WIDE and self.name != "distributions"


def tables(audit: Audit) -> tuple[Table, ...]:
    """Every table that the audit's data allow: scores, doses, calibrated rates; without labels the distributions."""
    scores = score_table(audit)
    found = (scores, dose_table(audit), flag_table(audit), distribution_table(audit) if scores is None else None)
    return tuple(table for table in found if table is not None)


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
    sizes = {p.dose: p.samples for p in dosed[0].doses}
    rows = []
    for summary in dosed:
        points = {p.dose: p for p in summary.doses}
        cells = [auroc(points[dose].auroc) if dose in points else "–" for dose in doses]
        trend = summary.dose_correlation
        rows.append(Row(summary.score, (*cells, auroc(trend) if trend else "–"), _kind(audit, summary)))
    return Table(
        name="doses",
        title="AUROC by how often the model saw the sample",
        columns=(*(_headed(f"seen {dose:g}×", sizes.get(dose, 0)) for dose in doses), "rank correlation"),
        rows=tuple(rows),
        caption=(
            f"Each dose against samples never seen; in brackets {percent(dosed[0].doses[0].auroc.level)} intervals.",
            f"Chance is .5. n: samples scored by {dosed[0].score}.",
            "Rank correlation: Spearman's, of value and dose over all samples; chance is 0.",
        ),
    )


def flag_table(audit: Audit) -> Table | None:
    """How many samples of known truth a threshold set on unseen text flags; None uncalibrated or without truth."""
    held = [(s, s.calibration) for s in audit.summaries if s.calibration is not None and _truths(s.calibration)]
    if not held:
        return None
    held.sort(
        key=lambda pair: (
            pair[0].score != audit.primary,
            _descending(pair[0].ranking.auroc if pair[0].ranking else None),
        )
    )
    _, first = held[0]
    chance = percent(first.flagged.chance)
    columns = [_headed(name, rate.samples) for name, rate in _truths(first).items()]
    rows = []
    for summary, own in held:
        cells = [percent_with_interval(rate.rate) for rate in _truths(own).values()]
        if own.false_positives:
            cells.insert(1, likelihood(own.false_positives.p_value))
        rows.append(Row(summary.score, tuple(cells), _kind(audit, summary)))
    caption = [
        f"Each score's threshold comes from {first.unseen:,} other texts that the model has not seen: {first.source}.",
        f"Flagged is what scores like the top {percent(first.alpha)} of it, so chance flags {chance}.",
        f"In brackets: {percent(first.flagged.rate.level)} intervals, which take these texts as given.",
    ]
    if first.false_positives:
        columns.insert(1, "p")
        caption.append(
            "p: how often at least as many never-seen samples would be flagged if the calibration holds, other draws "
            "of those texts included."
        )
    return Table(
        name="flagged",
        title="What a threshold set beforehand flags",
        columns=tuple(columns),
        rows=tuple(rows),
        caption=tuple(caption),
    )


def _truths(held: Calibration) -> Mapping[str, FlagRate]:
    """Which samples → how many of them are flagged: by dose where doses are known, else by label."""
    if held.by_dose:
        return {"never seen" if dose == 0 else f"seen {dose:g}×": rate for dose, rate in sorted(held.by_dose.items())}
    labelled = {"non-members": held.false_positives, "members": held.true_positives}
    return {name: rate for name, rate in labelled.items() if rate is not None}


def _headed(name: str, samples: int) -> str:
    return f"{name} (n\u00a0=\u00a0{samples:,})"


def distribution_table(audit: Audit) -> Table:
    """Where the values lie and, where calibrated, how many are flagged beside how many chance would flag."""
    summaries = sorted(audit.summaries, key=lambda s: s.score != audit.primary)
    held = next((s.calibration for s in summaries if s.calibration is not None), None)
    columns, caption = ["mean", "median", SPREAD], ["Values are oriented: higher = more like training data."]
    if held is not None:
        columns += [
            f"flagged (chance {percent(held.flagged.chance)})",
            f"stand\u00a0out (q\u00a0≤\u00a0{held.alpha:g})",
        ]
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
        cells = [number(spread.mean), number(middle), f"{number(low)} to {number(high)}" if summary.scored else "–"]
        if held is not None:
            cells += [percent_with_interval(own.flagged.rate), f"{own.discoveries:,}"] if own else ["–", "–"]
        cells += [percent(summary.scored / summary.total if summary.total else math.nan), f"{summary.scored:,}"]
        rows.append(Row(summary.score, tuple(cells), _kind(audit, summary)))
    return Table(
        name="distributions",
        title="Values of each score over the benchmark",
        columns=(*columns, "coverage", "n"),
        rows=tuple(rows),
        caption=tuple(caption),
        baseline=confounding_warning(audit) or baseline_note(audit) or "",
        report_only=("mean", SPREAD) if held is not None else (),
    )


def rich_table(table: Table, *, head: str = "score") -> RichTable:
    """For a terminal. Names come from data, so nothing in them is read as markup."""
    sentences = _sentences(table)
    if table.is_wide:
        sentences = (*sentences, "For want of room without intervals and n; the report has them.")
    if table.report_only:
        sentences = (*sentences, "For want of room without mean and spread; the report has them.")
    shown = [i for i, column in enumerate(table.columns) if column not in table.report_only]
    drawn = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=Text(table.title),
        caption=Text("\n".join(sentences)),
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        header_style="dim",
    )
    drawn.add_column(head, min_width=max(len(row.name) for row in table.rows if row.kind != "blind"))
    for i in shown:
        heading = _room(table.columns[i], table).replace(" ", "\n", 1)
        drawn.add_column(Text(heading), justify="right", no_wrap=i > 0)
    for i, row in enumerate(table.rows):
        last_score = i + 1 < len(table.rows) and table.rows[i + 1].kind == "blind"
        style = {"primary": "bold", "score": "", "blind": "yellow"}[row.kind]
        cells = [Text(_room(row.cells[i], table)) for i in shown]
        drawn.add_row(Text(row.name), *cells, style=style, end_section=last_score)
    return drawn


def _room(words: str, table: Table) -> str:
    """A cell or heading for a terminal of 80 columns: intervals without spaces, and none where there is no room."""
    if table.is_wide:
        return words.partition(" [")[0].partition(" (n")[0]
    return words.replace(", ", ",").replace(" + ", "+")


def markdown_table(audit: Audit) -> str:
    """The tables as GitHub Markdown, captions below."""
    return "\n\n".join(markdown_of(table) for table in tables(audit)) + "\n"


def markdown_of(table: Table, *, head: str = "score") -> str:
    """One table as GitHub Markdown, its title above and its caption below."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    names = {"primary": "**`{}`**", "score": "`{}`", "blind": "{}"}
    lines = [f"**{table.title}**", "", line((head, *table.columns)), "|---|" + "---:|" * len(table.columns)]
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
