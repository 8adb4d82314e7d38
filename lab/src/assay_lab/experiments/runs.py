"""Evaluations of several runs as values of tables: over seeds, by model, view and epoch."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, product
from operator import attrgetter, methodcaller
from typing import Literal, Protocol

from assay.evaluation import Estimate
from assay.reports import Axes, Series
from assay_lab.columns import attributes, keyed
from assay_lab.experiments.bench import Bench, label_of
from assay_lab.experiments.finding import Chart, Value, ValueRow, ValueTable, over_seeds, seeds_note
from assay_lab.experiments.papers import PrintedTable
from assay_lab.mappings import map_values, mapped
from assay_lab.testbed import DetectorResult, Evaluation, SampleView

Measure = Literal["accuracy", "precision", "recall", "macro-F1"]
MEASURES: tuple[Measure, ...] = ("macro-F1", "accuracy", "precision", "recall")
VIEWS: tuple[SampleView, ...] = ("filtered", "all")
Runs = Mapping[str, tuple[Evaluation, ...]]
"""Configuration → one evaluation for each seed."""


class Ours(Protocol):
    """Our value in one column of a table."""

    def __call__(self, name: str, view: SampleView, detector: str, *, column: int) -> Estimate | None:
        """Return the value of a detector for a configuration, in a view."""


def runs_of(bench: Bench, *, ratio: float | None = None) -> dict[str, tuple[Evaluation, ...]]:
    """Return the evaluations of every configuration of a bench; what was not run before is run."""
    return map_values(partial(bench.evaluations, ratio=ratio), keyed(bench.configurations, "name"))


def epochs_of(runs: Runs) -> list[int]:
    """Return the epochs of all runs, without the base model."""
    epochs: set[int] = set()
    for run in chain.from_iterable(runs.values()):
        epochs.update(run.epochs)
    return sorted(epochs - {0})


def views_of(runs: Runs) -> tuple[SampleView, ...]:
    """Return the views that the runs have, the filtered one first; a run on filtered texts has one."""
    present: set[SampleView] = set()
    for run in chain.from_iterable(runs.values()):
        present.update(attributes(run.cells, "view"))
    return tuple(filter(present.__contains__, VIEWS))


def cell_of(run: Evaluation, detector: str, epoch: int, view: SampleView) -> DetectorResult | None:
    """Return the cell of a detector; where fewer variants were made than it asks for, that with the most."""
    cell = run.cell(detector, epoch, view)
    if cell is not None:
        return cell
    series = list(filter(methodcaller("startswith", f"{detector}:n="), run.detectors))
    most = max(series, key=lambda name: int(name.rpartition("=")[2]), default=None)
    return run.cell(most, epoch, view) if most else None


def over_cells(
    seeds: Sequence[Evaluation],
    detector: str,
    epoch: int,
    *,
    view: SampleView,
    get: Callable[[DetectorResult], Estimate | None],
    share: bool = True,
) -> Estimate | None:
    """Return a value of a detector's cell, over the seeds that have the cell."""
    cells = filter(None, [cell_of(run, detector, epoch, view=view) for run in seeds])
    return over_seeds(list(map(get, cells)), share=share)


def decided(
    seeds: Sequence[Evaluation], detector: str, epoch: int, view: SampleView, measure: Measure
) -> Estimate | None:
    """Return one measure of a detector's decisions, over seeds."""
    field = "f1" if measure == "macro-F1" else measure
    return over_cells(
        seeds, detector, epoch, view=view, get=lambda cell: getattr(cell.decided, field) if cell.decided else None
    )


def by_epoch(runs: Runs, measure: Measure) -> Ours:
    """Return a function that gives one measure after an epoch."""

    def value(name: str, view: SampleView, detector: str, *, column: int) -> Estimate | None:
        return decided(runs[name], detector, epoch=column, view=view, measure=measure)

    return value


def view_title(runs: Runs, view: SampleView) -> str:
    """Return the words for a view; the only view of a run is the filtered one of the paper."""
    return "all texts" if view == "all" and len(views_of(runs)) > 1 else "texts that pass the filter"


def beside_paper(
    printed: PrintedTable,
    measure: Measure,
    runs: Runs,
    ours: Ours,
    *,
    rows: Mapping[str, str],
    columns: Sequence[int],
    heading: Callable[[int], str],
    head: str = "detector",
) -> tuple[ValueTable, ...]:
    """Return one table for each view: our values, then in the first table the paper's.

    Args:
        printed: the paper's table: measure → model → row.
        measure: that is shown.
        runs: of our models.
        ours: our value.
        rows: name of a row → detector.
        columns: of ours; the paper's may be others.
        heading: of a column.
        head: heading of the rows.
    """
    tables = []
    own = list(product(runs, columns))
    for place, view in enumerate(views_of(runs)):
        theirs = [] if place else list(product(printed.values[measure], printed.columns))
        heads = [f"{name}, {heading(column)}" for name, column in own]
        heads += [f"{model} (paper), {heading(int(column))}" for model, column in theirs]
        lines = []
        for label, detector in rows.items():
            values: list[Value] = [ours(name, view, detector, column=column) for name, column in own]
            values += [printed.value(measure, model, label, column=column) for model, column in theirs]
            lines.append(ValueRow(label, tuple(values)))
        table = ValueTable(
            name=f"{measure.lower()}-{view}",
            title=f"{measure[0].upper()}{measure[1:]}, {view_title(runs, view)}",
            head=head,
            columns=tuple(heads),
            rows=tuple(lines),
            unit="percent",
        )
        tables.append(table)
    return tuple(tables)


def epoch_tables(printed: PrintedTable, runs: Runs, rows: Mapping[str, str]) -> tuple[ValueTable, ...]:
    """Return the tables of every measure by epoch, beside the paper's; `rows` names the row of each detector."""
    tables: list[ValueTable] = []
    for measure in MEASURES:
        tables += beside_paper(
            printed=printed,
            measure=measure,
            runs=runs,
            ours=by_epoch(runs, measure),
            rows=rows,
            columns=epochs_of(runs),
            heading=epoch_heading,
        )
    return tuple(tables)


def epoch_heading(epoch: int) -> str:
    """Return the heading of a column."""
    return f"epoch {epoch}" if epoch else "before training"


def macro_f1_chart(title: str, runs: Runs, detectors: Sequence[str]) -> tuple[Chart, ...]:
    """Return the figure of macro-F1 by epoch on the first model, in the first view; nothing without values."""
    first, view = next(iter(runs)), views_of(runs)[0]
    lines = {}
    for detector in detectors:
        lines[detector] = mapped(
            partial(decided, runs[first], detector, view=view, measure="macro-F1"), epochs_of(runs)
        )
    return chart(title, lines, x="epochs of training")


def chart(title: str, values: Mapping[str, Mapping[int, Estimate | None]], *, x: str) -> tuple[Chart, ...]:
    """Return a figure of macro-F1 without the lines that have no point; nothing where none has."""
    series = []
    for name, points in values.items():
        measured = {float(at): value for at, value in points.items() if value is not None}
        if measured:
            series.append(Series(name, measured))
    if not series:
        return ()
    axes = Axes(x, "macro-F1", percent=True)
    return (Chart(name="macro-f1", title=title, series=tuple(series), axes=axes),)


def setting(bench: Bench, runs: Runs) -> tuple[str, ...]:
    """Return sentences on what was measured on what, and how it differs from the paper."""
    notes = [seeds_note(bench.seeds)]
    for configuration in bench.configurations:
        training, first = configuration.training, runs[configuration.name][0]
        weights = "all weights" if training.method == "full" else f"LoRA r {training.rank}"
        notes.append(
            f"{configuration.name}: {label_of(configuration.model)}, {first.parts['member']} members and "
            f"{first.parts['nonmember']} non-members of {configuration.data.source}, {weights} at {training.rate:g}, "
            f"batch {training.batch}, general text 1:{configuration.mix.ratio:g}; thresholds from "
            f"{first.parts['calibration-member']} + {first.parts['calibration-nonmember']} other texts, where the "
            "paper does not say where its own come from."
        )
    if views_of(runs) == ("all",) and not all(attributes(bench.configurations, "data.filter")):
        notes.append("No text, or none of one class, passed the filter: tables of filtered texts are of all texts.")
    words = {"filtered": "filtered", "all": "all texts"}
    separated: list[str] = []
    for run in chain.from_iterable(runs.values()):
        apart = list(filter(attrgetter("separates"), run.blind))
        separated += [f"seed {run.seed}, {words[blind.view]}: {blind.kind} {blind.auroc}" for blind in apart]
    if separated:
        notes.append(
            "Without the model the classes can be distinguished a little in some splits "
            f"(AUROC: {', '.join(separated)})."
        )
    return tuple(notes)
