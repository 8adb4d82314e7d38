"""The tables of a controlled experiment: detectors in rows, checkpoints or measures in columns."""

from collections.abc import Sequence

from assay.evaluation import Estimate, unknown
from assay.pages.result_tables import Row, Table
from assay.pages.wording import auroc, percent, percent_with_interval
from assay.testbed import Cell, Evaluation, View

VIEWS: dict[View, str] = {"all": "", "filtered": ", samples that pass the paper's filter"}
INTERVALS = "In brackets: 95 % intervals, bootstrapped by group."


def testbed_tables(found: Evaluation) -> tuple[Table, ...]:
    """Every table that the run allows, the shortest answers first."""
    tables: list[Table] = []
    for view in _views(found):
        tables += [auroc_table(found, view), null_table(found, view)]
        tables += [checkpoint_table(found, epoch, view) for epoch in found.epochs if epoch]
        tables.append(contest_table(found, view))
    return tuple(table for table in tables if table.rows)


def short_tables(found: Evaluation) -> tuple[Table, ...]:
    """What a terminal has room for."""
    tables = [table for view in _views(found) for table in (auroc_table(found, view), null_table(found, view))]
    return tuple(table for table in tables if table.rows)


def live_tables(found: Evaluation) -> tuple[Table, ...]:
    """The two that a demonstration shows of what was planted on the spot."""
    return tuple(table for table in (auroc_table(found, "all"), null_table(found, "all")) if table.rows)


def auroc_table(found: Evaluation, view: View) -> Table:
    """AUROC of every detector on every checkpoint, and of what never sees the model."""
    rows = [
        Row(name, tuple(auroc(_auroc(found.cell(name, epoch, view))) for epoch in found.epochs))
        for name in found.detectors
    ]
    baseline = next((one for one in found.blind if one.view == view), None)
    if baseline is not None:
        rows.append(
            Row(f"{baseline.kind} (never sees the model)", (auroc(baseline.auroc),) * len(found.epochs), "blind")
        )
    n = _sizes(found, view)
    return Table(
        name=f"auroc-{view}",
        title=f"AUROC by epochs of training{VIEWS[view]}",
        columns=tuple(_epoch(epoch) for epoch in found.epochs),
        rows=tuple(rows),
        caption=(
            f"Members against non-members, {n}; chance is .5. {INTERVALS}",
            "Before training no detector can know more than chance: what stands there is what the split gives away.",
        ),
    )


def checkpoint_table(found: Evaluation, epoch: int, view: View) -> Table:
    """Decisions and rankings of every detector on one checkpoint."""
    rows = []
    for name in found.detectors:
        cell = found.cell(name, epoch, view)
        if cell is None:
            continue
        decided = cell.decided
        shown = (decided.accuracy, decided.precision, decided.recall, decided.f1) if decided else (unknown(),) * 4
        threshold = (
            "–" if decided is None else ("its paper's rule" if not decided.fitted_on else f"{decided.threshold:.4g}")
        )
        rows.append(
            Row(
                name,
                (
                    *(percent_with_interval(one) for one in shown),
                    threshold,
                    auroc(cell.auroc),
                    *(percent_with_interval(rate) for rate in cell.tpr_at_fpr.values()),
                    percent(cell.coverage),
                    f"{cell.members:,} + {cell.nonmembers:,}",
                ),
            )
        )
    return Table(
        name=f"epoch-{epoch}-{view}",
        title=f"{_epoch(epoch).capitalize()}{VIEWS[view]}",
        columns=(
            "accuracy",
            "precision",
            "recall",
            "macro-F1",
            "threshold",
            "AUROC",
            "TPR at 1\u00a0% FPR",
            "TPR at 5\u00a0% FPR",
            "coverage",
            "n",
        ),
        rows=tuple(rows),
        caption=(
            f"{INTERVALS} Precision and recall are means over the two classes.",
            "Thresholds come from the calibration split, none from what is judged.",
            "n: members + non-members with a value.",
        ),
    )


def null_table(found: Evaluation, view: View) -> Table:
    """How many clean texts conformal decisions flag at 5 and at 10 %, and how many a paper's own rule."""
    rows = []
    alphas = sorted({null.alpha for cell in found.cells for null in cell.nulls})
    ruled = any(cell.rule_on_unseen for cell in found.cells)
    for name in found.detectors:
        cells = [found.cell(name, epoch, view) for epoch in found.epochs]
        if not any(cell is not None and (cell.nulls or cell.rule_on_unseen) for cell in cells):
            continue
        rates = [_null(cell, alpha) for alpha in alphas for cell in cells]
        rows.append(Row(name, (*rates, *(_rule(cell) for cell in cells if ruled))))
    held = next((null for cell in found.cells for null in cell.nulls if cell.view == view), None)
    sizes = f"{held.clean.samples:,} clean texts against {held.calibrated_on:,}" if held else "clean texts"
    return Table(
        name=f"null-{view}",
        title=f"False positives on clean texts{VIEWS[view]}",
        columns=(
            *(f"at {percent(alpha)}, {_epoch(epoch)}" for alpha in alphas for epoch in found.epochs),
            *(f"its paper's rule, {_epoch(epoch)}" for epoch in found.epochs if ruled),
        ),
        rows=tuple(rows),
        caption=(
            f"Share flagged of {sizes} of other groups that calibrate; nothing was trained on any of them.",
            "In brackets: 95 % intervals, which take texts as independent and those that calibrate as given.",
        ),
    )


def contest_table(found: Evaluation, view: View) -> Table:
    """AUROC of the candidates minus that of SrDetection and of Min-K%++, paired."""
    pairs = dict.fromkeys((one.candidate, one.rival) for one in found.contests)
    rows = []
    for candidate, rival in pairs:
        by_epoch = {c.epoch: c for c in found.contests if (c.candidate, c.rival, c.view) == (candidate, rival, view)}
        cells = [str(by_epoch[e].difference.estimate) if e in by_epoch else "–" for e in found.epochs]
        rows.append(Row(f"{candidate} − {rival}", tuple(cells)))
    return Table(
        name=f"contests-{view}",
        title=f"Differences of AUROC{VIEWS[view]}",
        columns=tuple(_epoch(epoch) for epoch in found.epochs),
        rows=tuple(rows),
        caption=("On the texts that both can score, paired: an interval above 0 means better.",),
    )


def _views(found: Evaluation) -> Sequence[View]:
    return tuple(view for view in VIEWS if any(cell.view == view for cell in found.cells))


def _epoch(epoch: int) -> str:
    return "before training" if not epoch else f"epoch {epoch}"


def _auroc(cell: Cell | None) -> Estimate:
    return cell.auroc if cell is not None else unknown()


def _null(cell: Cell | None, alpha: float) -> str:
    found = next((null for null in cell.nulls if null.alpha == alpha), None) if cell is not None else None
    return percent_with_interval(found.clean.rate) if found else "–"


def _rule(cell: Cell | None) -> str:
    return percent_with_interval(cell.rule_on_unseen) if cell is not None and cell.rule_on_unseen else "–"


def _sizes(found: Evaluation, view: View) -> str:
    cell = next(cell for cell in found.cells if cell.view == view)
    most = max((c for c in found.cells if c.view == view), key=lambda c: c.members + c.nonmembers, default=cell)
    return f"{most.members:,} + {most.nonmembers:,} texts"
