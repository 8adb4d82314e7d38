"""Figures 3 to 5: NLL and 5-gram accuracy by set, and ratios of the NLL between sets."""

import math
from collections.abc import Mapping

from assay.evaluation import Estimate
from assay.reports import MOST_SERIES, Axes, Series, listed
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Chart, Finding, HeatMap, ValueRow, ValueTable
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.bugs.averages import NEEDED, PAPER, averages
from assay_lab.papers.bugs.tables import values_by_column

SHOWN = ("CodeGen-Multi 6B", "LLaMA 3.1 8B", "Gemma 2 27B")
"""Models of the paper that a figure shows beside ours, the first ones where it shows several of ours."""
SHORT: Mapping[str, str] = {
    "Defects4J": "D4J",
    "BugsInPy": "BIP",
    "new Java repositories": "new J",
    "GitBug-Java": "GBJ",
    "BugsC++": "C++",
    "SWE-bench Lite": "SWE",
    "new Python repositories": "new P",
}
"""Column of the paper → label on an axis."""
PICTURE = "The paper's figure is a picture; its values are those that Tables V and VI print."


def nll_figure(bench: Bench) -> Finding:
    """NLL by model and set."""
    return by_set(bench, "figure-3", "table-5", "NLL")


def accuracy_figure(bench: Bench) -> Finding:
    """5-gram accuracy by model and set."""
    return by_set(bench, "figure-5", "table-6", "5-gram accuracy")


def by_set(bench: Bench, name: str, table: str, measure: str) -> Finding:
    """Return one measure by set: models of the bench, the first of them first, and models of the paper beside them."""
    ours, notes = averages(bench)
    printed = PAPER.tables[table]
    columns = tuple(map(str, printed.columns))
    lines = {model: values_by_column(of_model, measure) for model, of_model in ours.items()}
    theirs = {model: tuple(printed.value(model, column=c) for c in printed.columns) for model in SHOWN}
    mine = list(lines)[: MOST_SERIES - 1]
    beside = list(SHOWN)[: MOST_SERIES - len(mine)]
    drawn = {model: lines[model] for model in mine}
    drawn |= {f"{model} (paper)": tuple(map(printed_estimate, theirs[model])) for model in beside}
    series = tuple(
        Series(model, {float(at): value for at, value in enumerate(values) if value is not None})
        for model, values in drawn.items()
    )
    axes = Axes("set", measure, labels={float(at): SHORT[column] for at, column in enumerate(columns)})
    rows = [ValueRow(model, values) for model, values in lines.items()]
    rows += [ValueRow(f"{model} (paper)", values) for model, values in theirs.items()]
    legend = "Sets of the figure: " + ", ".join(f"{SHORT[column]} {column}" for column in columns) + "."
    return Finding(
        name=f"bugs/{name}",
        title=f"{measure} by set ({PAPER.title})",
        tables=(ValueTable("values", measure, "model", columns, tuple(rows), "number"),),
        notes=(PICTURE, legend, *notes),
        seeds=(),
        charts=(Chart(name, f"{measure} by set, {listed(mine)} and models of the paper", series, axes),),
    )


def printed_estimate(value: float | None) -> Estimate | None:
    """Return a value that the paper prints."""
    return None if value is None else Estimate(value, math.nan, math.nan, reason="printed by the paper")


def ratio_figure(bench: Bench) -> Finding:
    """Ratios of the NLL between sets, within each model."""
    ours, notes = averages(bench)
    printed = PAPER.tables["table-5"]
    values = {model: {c: side.averages["NLL"].value for c, side in of.items()} for model, of in ours.items()}
    for model in SHOWN:
        theirs = {str(c): printed.value(model, column=c) for c in printed.columns}
        values[f"{model} (paper)"] = {c: value for c, value in theirs.items() if value is not None}
    maps, tables = [], []
    for at, (model, of_model) in enumerate(values.items()):
        ratios = ratios_of(of_model)
        rows = tuple(ValueRow(row, tuple(ratios[row, column] for column in of_model)) for row in of_model)
        tables.append(
            ValueTable(
                f"ratios-{at}", f"NLL of the column over the row, {model}", "set", tuple(of_model), rows, "number"
            )
        )
        maps.append(HeatMap(f"ratios-{at}", f"NLL of the column over the row, {model}", ratios))
    return Finding(
        name="bugs/figure-4",
        title=f"Ratios of the NLL between sets ({PAPER.title}, Figure 4)",
        tables=tuple(tables),
        notes=(
            "Above 1: the set in the row is more familiar than the set in the column.",
            "The paper's ratios are of its printed averages, which are rounded: 5.67 here is its 5.63.",
            *notes,
        ),
        seeds=(),
        heat_maps=tuple(maps),
    )


def ratios_of(averages_by_set: Mapping[str, float]) -> Mapping[tuple[str, str], float]:
    """Return (row, column) → value of the column over that of the row."""
    return {
        (row, column): averages_by_set[column] / averages_by_set[row]
        for row in averages_by_set
        for column in averages_by_set
    }


EXPERIMENTS = (
    Reproduction("bugs", "figure-3", nll_figure, needs=NEEDED),
    Reproduction("bugs", "figure-4", ratio_figure, needs=NEEDED),
    Reproduction("bugs", "figure-5", accuracy_figure, needs=NEEDED),
)
