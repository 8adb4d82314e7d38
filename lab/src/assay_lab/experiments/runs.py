"""Evaluations of several runs as values of tables: over seeds, by model, view and epoch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from assay.evaluation import Estimate
from assay.reports import Axes, Series
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Chart, Value, ValueRow, ValueTable, over_seeds, seeds_note
from assay_lab.experiments.papers import PrintedTable
from assay_lab.testbed import DetectorResult, Evaluation, SampleView

Measure = Literal["accuracy", "precision", "recall", "macro-F1"]
MEASURES: tuple[Measure, ...] = ("macro-F1", "accuracy", "precision", "recall")
VIEWS: tuple[SampleView, ...] = ("filtered", "all")
Runs = Mapping[str, tuple[Evaluation, ...]]
"""Configuration → one evaluation for each seed."""
Ours = Callable[[str, SampleView, str, int], Estimate | None]
"""Configuration, view, detector, column → our value."""


def runs_of(bench: Bench, *, ratio: float | None = None) -> dict[str, tuple[Evaluation, ...]]:
    """Return the evaluations of every configuration of a bench; what was not run before is run."""
    return {chosen.name: bench.evaluations(chosen, ratio=ratio) for chosen in bench.configurations}


def epochs_of(runs: Runs) -> list[int]:
    """Return the epochs of all runs, without the base model."""
    return sorted({epoch for seeds in runs.values() for run in seeds for epoch in run.epochs if epoch})


def views_of(runs: Runs) -> tuple[SampleView, ...]:
    """Return the views that the runs have, the filtered one first; a run on filtered texts has one."""
    present = {cell.view for seeds in runs.values() for run in seeds for cell in run.cells}
    return tuple(view for view in VIEWS if view in present)


def cell_of(run: Evaluation, detector: str, epoch: int, view: SampleView) -> DetectorResult | None:
    """Return the cell of a detector; where fewer variants were made than it asks for, that with the most."""
    cell = run.cell(detector, epoch, view)
    if cell is not None:
        return cell
    series = [name for name in run.detectors if name.startswith(f"{detector}:n=")]
    most = max(series, key=lambda name: int(name.rpartition("=")[2]), default=None)
    return run.cell(most, epoch, view) if most else None


def decided(
    seeds: Sequence[Evaluation], detector: str, epoch: int, view: SampleView, measure: Measure
) -> Estimate | None:
    """Return one measure of a detector's decisions, over seeds."""
    cells = [cell_of(run, detector, epoch, view) for run in seeds]
    field = "f1" if measure == "macro-F1" else measure
    return over_seeds([getattr(c.decided, field) if c and c.decided else None for c in cells], share=True)


def by_epoch(runs: Runs, measure: Measure) -> Ours:
    """Return a function that gives one measure after an epoch."""

    def value(name: str, view: SampleView, detector: str, epoch: int) -> Estimate | None:
        return decided(runs[name], detector, epoch, view, measure)

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
    for place, view in enumerate(views_of(runs)):
        models = tuple(printed.values[measure]) if not place else ()
        heads = [f"{name}, {heading(column)}" for name in runs for column in columns]
        heads += [f"{model} (paper), {heading(int(column))}" for model in models for column in printed.columns]
        lines = []
        for label, detector in rows.items():
            values: list[Value] = [ours(name, view, detector, column) for name in runs for column in columns]
            values += [printed.value(measure, m, label, column=column) for m in models for column in printed.columns]
            lines.append(ValueRow(label, tuple(values)))
        title = f"{measure[0].upper()}{measure[1:]}, {view_title(runs, view)}"
        tables.append(ValueTable(f"{measure.lower()}-{view}", title, head, tuple(heads), tuple(lines), "percent"))
    return tuple(tables)


def epoch_tables(printed: PrintedTable, runs: Runs, rows: Mapping[str, str]) -> tuple[ValueTable, ...]:
    """Return the tables of every measure by epoch, beside the paper's; `rows` names the row of each detector."""
    return tuple(
        table
        for measure in MEASURES
        for table in beside_paper(
            printed,
            measure,
            runs,
            by_epoch(runs, measure),
            rows=rows,
            columns=epochs_of(runs),
            heading=epoch_heading,
        )
    )


def epoch_heading(epoch: int) -> str:
    """Return the heading of a column."""
    return f"epoch {epoch}" if epoch else "before training"


def macro_f1_chart(title: str, runs: Runs, detectors: Sequence[str]) -> tuple[Chart, ...]:
    """Return the figure of macro-F1 by epoch on the first model, in the first view; nothing without values."""
    seeds, view = next(iter(runs.values())), views_of(runs)[0]
    return chart(
        title,
        {name: {e: decided(seeds, name, e, view, "macro-F1") for e in epochs_of(runs)} for name in detectors},
        x="epochs of training",
    )


def chart(title: str, values: Mapping[str, Mapping[int, Estimate | None]], *, x: str) -> tuple[Chart, ...]:
    """Return a figure of macro-F1 without the lines that have no point; nothing where none has."""
    series = [
        Series(name, {float(at): value for at, value in points.items() if value is not None})
        for name, points in values.items()
    ]
    measured = tuple(line for line in series if line.points)
    return (Chart("macro-f1", title, measured, Axes(x, "macro-F1", percent=True)),) if measured else ()


def setting(bench: Bench, runs: Runs) -> tuple[str, ...]:
    """Return sentences on what was measured on what, and how it differs from the paper."""
    notes = [seeds_note(bench.seeds)]
    for configuration in bench.configurations:
        training, first = configuration.training, runs[configuration.name][0]
        notes.append(
            f"{configuration.name}: {configuration.model}, {first.parts['member']} members and "
            f"{first.parts['nonmember']} non-members of {configuration.data.source}, "
            f"{'all weights' if training.method == 'full' else f'LoRA r {training.rank}'} at {training.rate:g}, "
            f"batch {training.batch}, general text 1:{configuration.mix.ratio:g}; thresholds from "
            f"{first.parts['calibration-member']} + {first.parts['calibration-nonmember']} other texts, where the "
            "paper does not say where its own come from."
        )
    if views_of(runs) == ("all",) and not all(chosen.data.filter for chosen in bench.configurations):
        notes.append("No text, or none of one class, passed the filter: tables of filtered texts are of all texts.")
    separated = [
        f"seed {run.seed}, {'filtered' if blind.view == 'filtered' else 'all texts'}: {blind.kind} {blind.auroc}"
        for seeds in runs.values()
        for run in seeds
        for blind in run.blind
        if blind.separates
    ]
    if separated:
        notes.append(
            "Without the model the classes can be distinguished a little in some splits "
            f"(AUROC: {', '.join(separated)})."
        )
    return tuple(notes)
