"""The tables of a controlled experiment: detectors in rows, checkpoints or measures in columns."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, product, repeat, starmap
from operator import attrgetter

from assay.evaluation import Estimate
from assay.reports import Cell, Column, ColumnKind, Missing, Row, Table, percent
from assay_lab.columns import attributes, having
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
        every += map(partial(checkpoint_table, evaluation, view=view), filter(None, evaluation.epochs))
        every.append(contest_table(evaluation, view))
    return tuple(filter(attrgetter("rows"), every))


def views(evaluation: Evaluation) -> Sequence[SampleView]:
    """Return the views that the run has, all samples first."""
    present = set(attributes(evaluation.cells, "view"))
    return tuple(filter(present.__contains__, VIEWS))


def auroc_table(evaluation: Evaluation, view: SampleView) -> Table:
    """Return the AUROC of every detector on every checkpoint, and of the baseline that never sees the model."""
    rows = [Row((name, *map(_auroc, _cells(evaluation, name, view)))) for name in evaluation.detectors]
    baseline = next(iter(having(evaluation.blind, view=view)), None)
    if baseline is not None:
        name = f"{baseline.kind} (never sees the model)"
        rows.append(Row((name, *[baseline.auroc] * len(evaluation.epochs)), "baseline"))
    return Table(
        name=f"auroc-{view}",
        title=f"AUROC by epochs of training{VIEWS[view]}",
        columns=(DETECTOR, *_columns(map(_epoch, evaluation.epochs), "area")),
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
            *_columns(("accuracy", "precision", "recall", "macro-F1"), "share"),
            Column("threshold", "count"),
            Column("AUROC", "area"),
            *map(partial(Column, kind="share"), map("TPR at {} FPR".format, map(percent, rates))),
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
    every = chain.from_iterable(attributes(evaluation.cells, "nulls"))
    alphas = sorted(set(attributes(every, "alpha")))
    has_rules = any(attributes(evaluation.cells, "rule_on_unseen"))
    heads = list(starmap("at {}, {}".format, product(map(percent, alphas), map(_epoch, evaluation.epochs))))
    if has_rules:
        heads += map("its paper's rule, {}".format, map(_epoch, evaluation.epochs))
    rows = []
    for name in evaluation.detectors:
        cells = _cells(evaluation, name, view)
        if any(cell is not None and (cell.nulls or cell.rule_on_unseen) for cell in cells):
            rates = [_false_positives(cell, alpha) for alpha, cell in product(alphas, cells)]
            rows.append(Row((name, *rates, *(map(_rule, cells) if has_rules else ()))))
    null = next(chain.from_iterable(attributes(having(evaluation.cells, view=view), "nulls")), None)
    sizes = f"{null.clean.samples:,} clean texts against {null.calibrated_on:,}" if null else "clean texts"
    return Table(
        name=f"null-{view}",
        title=f"False positives on clean texts{VIEWS[view]}",
        columns=(DETECTOR, *_columns(heads, "share")),
        rows=tuple(rows),
        caption=(
            f"Share flagged of {sizes} of other groups that calibrate; nothing was trained on any of them.",
            "In brackets: 95 % intervals, which take texts as independent and those that calibrate as fixed.",
        ),
        section="False positives",
    )


def contest_table(evaluation: Evaluation, view: SampleView) -> Table:
    """Return the AUROC of the candidates minus that of their rivals, paired."""
    differences: dict[str, dict[int, Estimate]] = {}
    for contest in evaluation.contests:
        of_pair = differences.setdefault(f"{contest.candidate} − {contest.rival}", {})
        if contest.view == view:
            of_pair[contest.epoch] = contest.difference.estimate
    rows = []
    for name, of_pair in differences.items():
        rows.append(Row((name, *map(of_pair.get, evaluation.epochs, repeat(NOT_COMPARED)))))
    return Table(
        name=f"contests-{view}",
        title=f"Differences of AUROC{VIEWS[view]}",
        columns=(Column("detectors", "name"), *_columns(map(_epoch, evaluation.epochs), "area")),
        rows=tuple(rows),
        caption=("On the texts that both can score, paired: an interval above 0 means better.",),
        section="Differences",
    )


def _columns(titles: Iterable[str], kind: ColumnKind) -> list[Column]:
    return list(map(Column, titles, repeat(kind)))


def _cells(evaluation: Evaluation, name: str, view: SampleView) -> list[DetectorResult | None]:
    return [evaluation.cell(name, epoch, view) for epoch in evaluation.epochs]


def _auroc(cell: DetectorResult | None) -> Cell:
    return NOT_SCORED if cell is None else cell.auroc


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
    return next(iter(attributes(having(cell.nulls, alpha=alpha), "clean.rate")), NOT_CALIBRATED)


def _rule(cell: DetectorResult | None) -> Cell:
    if cell is None:
        return NOT_SCORED
    return cell.rule_on_unseen or NO_RULE


def _epoch(epoch: int) -> str:
    return "before training" if not epoch else f"epoch {epoch}"


def _sizes(evaluation: Evaluation, view: SampleView) -> str:
    cells = having(evaluation.cells, view=view)
    most = max(cells, key=lambda cell: cell.members + cell.nonmembers)
    return f"{most.members:,} + {most.nonmembers:,} texts"
