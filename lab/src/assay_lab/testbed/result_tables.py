"""The tables of a controlled experiment: detectors in rows, checkpoints or measures in columns."""

from collections.abc import Mapping, Sequence

from assay.evaluation import Estimate
from assay.reports import Cell, Column, Missing, Row, Table, percent
from assay_lab.testbed.evaluation_result import DetectorResult, Evaluation, SampleView

VIEWS: Mapping[SampleView, str] = {"all": "", "filtered": ", samples that pass the paper's filter"}
INTERVALS = "In brackets: 95 % intervals, and the groups behind them (members + non-members)."
NOT_SCORED = Missing("the detector was not run on that checkpoint")
NOT_CALIBRATED = Missing("too few texts calibrate")
NO_RULE = Missing("its paper states no rule")
NO_THRESHOLD = Missing("there was no threshold to decide by")
NOT_COMPARED = Missing("the two were not compared on that checkpoint")
DETECTOR = Column("detector", "name")


def evaluation_tables(evaluation: Evaluation) -> tuple[Table, ...]:
    """Return every table that the run allows, the shortest answers first."""
    every: list[Table] = []
    for view in views(evaluation):
        every += [auroc_table(evaluation, view), null_table(evaluation, view)]
        every += [checkpoint_table(evaluation, epoch, view) for epoch in evaluation.epochs if epoch]
        every.append(contest_table(evaluation, view))
    return tuple(table for table in every if table.rows)


def views(evaluation: Evaluation) -> Sequence[SampleView]:
    """Return the views that the run has, all samples first."""
    return tuple(view for view in VIEWS if any(cell.view == view for cell in evaluation.cells))


def auroc_table(evaluation: Evaluation, view: SampleView) -> Table:
    """Return the AUROC of every detector on every checkpoint, and of the baseline that never sees the model."""
    rows = []
    for name in evaluation.detectors:
        cells = [evaluation.cell(name, epoch, view) for epoch in evaluation.epochs]
        rows.append(Row((name, *(NOT_SCORED if cell is None else cell.auroc for cell in cells))))
    baseline = next((blind for blind in evaluation.blind if blind.view == view), None)
    if baseline is not None:
        name = f"{baseline.kind} (never sees the model)"
        rows.append(Row((name, *[baseline.auroc] * len(evaluation.epochs)), "baseline"))
    return Table(
        name=f"auroc-{view}",
        title=f"AUROC by epochs of training{VIEWS[view]}",
        columns=(DETECTOR, *(Column(_epoch(epoch), "area") for epoch in evaluation.epochs)),
        rows=tuple(rows),
        caption=(
            f"Members against non-members, {_sizes(evaluation, view)}; chance is .5. {INTERVALS}",
            "Before training no detector can know more than chance: higher values there come from the split itself.",
        ),
        section="AUROC",
    )


def checkpoint_table(evaluation: Evaluation, epoch: int, view: SampleView) -> Table:
    """Return decisions and rankings of every detector on one checkpoint."""
    cells = [(name, evaluation.cell(name, epoch, view)) for name in evaluation.detectors]
    rates = next((tuple(cell.tpr_at_fpr) for _, cell in cells if cell is not None), ())
    return Table(
        name=f"epoch-{epoch}-{view}",
        title=f"Decisions and rankings, {_epoch(epoch)}{VIEWS[view]}",
        columns=(
            DETECTOR,
            *(Column(name, "share") for name in ("accuracy", "precision", "recall", "macro-F1")),
            Column("threshold", "count"),
            Column("AUROC", "area"),
            *(Column(f"TPR at {percent(rate)} FPR", "share") for rate in rates),
            Column("coverage", "share"),
            Column("n", "count"),
        ),
        rows=tuple(Row((name, *_decisions(cell))) for name, cell in cells if cell is not None),
        caption=(
            f"{INTERVALS} Precision and recall are means over the two classes.",
            "Thresholds come from the calibration split, none from what is judged.",
            "n: members + non-members with a value.",
        ),
        section=_epoch(epoch).capitalize(),
    )


def null_table(evaluation: Evaluation, view: SampleView) -> Table:
    """Return how many clean texts conformal decisions flag at each level, and how many a paper's own rule."""
    alphas = sorted({null.alpha for cell in evaluation.cells for null in cell.nulls})
    has_rules = any(cell.rule_on_unseen for cell in evaluation.cells)
    rows = []
    for name in evaluation.detectors:
        cells = [evaluation.cell(name, epoch, view) for epoch in evaluation.epochs]
        if any(cell is not None and (cell.nulls or cell.rule_on_unseen) for cell in cells):
            rates = [_false_positives(cell, alpha) for alpha in alphas for cell in cells]
            rows.append(Row((name, *rates, *(_rule(cell) for cell in cells if has_rules))))
    null = next((null for cell in evaluation.cells for null in cell.nulls if cell.view == view), None)
    sizes = f"{null.clean.samples:,} clean texts against {null.calibrated_on:,}" if null else "clean texts"
    return Table(
        name=f"null-{view}",
        title=f"False positives on clean texts{VIEWS[view]}",
        columns=(
            DETECTOR,
            *(
                Column(f"at {percent(alpha)}, {_epoch(epoch)}", "share")
                for alpha in alphas
                for epoch in evaluation.epochs
            ),
            *(Column(f"its paper's rule, {_epoch(epoch)}", "share") for epoch in evaluation.epochs if has_rules),
        ),
        rows=tuple(rows),
        caption=(
            f"Share flagged of {sizes} of other groups that calibrate; nothing was trained on any of them.",
            "In brackets: 95 % intervals, which take texts as independent and those that calibrate as fixed.",
        ),
        section="False positives",
    )


def contest_table(evaluation: Evaluation, view: SampleView) -> Table:
    """Return the AUROC of the candidates minus that of their rivals, paired."""
    pairs = dict.fromkeys((contest.candidate, contest.rival) for contest in evaluation.contests)
    differences: dict[tuple[str, str, int], Estimate] = {
        (contest.candidate, contest.rival, contest.epoch): contest.difference.estimate
        for contest in evaluation.contests
        if contest.view == view
    }
    return Table(
        name=f"contests-{view}",
        title=f"Differences of AUROC{VIEWS[view]}",
        columns=(Column("detectors", "name"), *(Column(_epoch(epoch), "area") for epoch in evaluation.epochs)),
        rows=tuple(
            Row(
                (
                    f"{candidate} − {rival}",
                    *(differences.get((candidate, rival, epoch), NOT_COMPARED) for epoch in evaluation.epochs),
                )
            )
            for candidate, rival in pairs
        ),
        caption=("On the texts that both can score, paired: an interval above 0 means better.",),
        section="Differences",
    )


def _decisions(cell: DetectorResult) -> list[Cell]:
    decided = cell.decided
    shares: list[Cell] = [NO_THRESHOLD] * 4
    threshold: Cell = NO_THRESHOLD
    if decided is not None:
        shares = [decided.accuracy, decided.precision, decided.recall, decided.f1]
        threshold = f"{decided.threshold:.4g}" if decided.fitted_on else "its paper's rule"
    sizes = f"{cell.members:,} + {cell.nonmembers:,}"
    return [*shares, threshold, cell.auroc, *cell.tpr_at_fpr.values(), cell.coverage, sizes]


def _false_positives(cell: DetectorResult | None, alpha: float) -> Cell:
    if cell is None:
        return NOT_SCORED
    return next((null.clean.rate for null in cell.nulls if null.alpha == alpha), NOT_CALIBRATED)


def _rule(cell: DetectorResult | None) -> Cell:
    if cell is None:
        return NOT_SCORED
    return cell.rule_on_unseen or NO_RULE


def _epoch(epoch: int) -> str:
    return "before training" if not epoch else f"epoch {epoch}"


def _sizes(evaluation: Evaluation, view: SampleView) -> str:
    cells = [cell for cell in evaluation.cells if cell.view == view]
    most = max(cells, key=lambda cell: cell.members + cell.nonmembers)
    return f"{most.members:,} + {most.nonmembers:,} texts"
