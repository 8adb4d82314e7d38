"""Figures 3 to 5: NLL and 5-gram accuracy by set, and ratios of the NLL between sets."""

import math
from collections.abc import Mapping, Sequence
from itertools import product

from assay.evaluation import Estimate
from assay.reports import MOST_SERIES, Axes, Series, listed
from assay_lab.bugs.study import ratios_between
from assay_lab.columns import at_places
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Chart, Finding, HeatMap, Value, ValueRow
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.papers.bugs.averages import NEEDED, OF_AVERAGES, PAPER, TAKEN, averages
from assay_lab.papers.bugs.tables import values_by_column
from assay_lab.papers.printed import printed_values, value_table

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
    return by_set(bench, "figure-3", table="table-5", measure="NLL")


def accuracy_figure(bench: Bench) -> Finding:
    """5-gram accuracy by model and set."""
    return by_set(bench, "figure-5", table="table-6", measure="5-gram accuracy")


def by_set(bench: Bench, name: str, table: str, measure: str) -> Finding:
    """Return one measure by set: models of the bench, the first of them first, and models of the paper beside them."""
    ours, notes = averages(bench)
    printed = PAPER.tables[table]
    columns = list(map(str, printed.columns))
    lines: dict[str, tuple[Value, ...]] = {}
    for model, of_model in ours.items():
        lines[model] = values_by_column(of_model, measure)
    for model in SHOWN:
        lines[f"{model} (paper)"] = printed_values(printed, model)
    # the figure has a few lines: ours first, then as many of the paper as are left
    mine = list(ours)[: MOST_SERIES - 1]
    beside = list(map("{} (paper)".format, SHOWN[: MOST_SERIES - len(mine)]))
    series = tuple(Series(model, points_of(lines[model])) for model in (*mine, *beside))
    axes = Axes("set", measure, labels={float(at): SHORT[column] for at, column in enumerate(columns)})
    legend = "Sets of the figure: " + ", ".join(f"{SHORT[column]} {column}" for column in columns) + "."
    title = f"{measure} by set, {listed(mine)} and models of the paper"
    rows = map(ValueRow, lines, lines.values())
    return Finding(
        name=f"bugs/{name}",
        title=f"{measure} by set ({PAPER.title})",
        tables=(value_table("values", measure, head="model", columns=columns, rows=rows),),
        notes=(PICTURE, legend, *notes),
        seeds=(),
        charts=(Chart(name=name, title=title, series=series, axes=axes),),
    )


def points_of(values: Sequence[Value]) -> dict[float, Estimate]:
    """Return place → value, where there is one; a value of the paper has no interval."""
    points = {}
    for at, value in enumerate(values):
        if isinstance(value, Estimate):
            points[float(at)] = value
        elif isinstance(value, float):
            points[float(at)] = Estimate(value, math.nan, math.nan, reason="printed by the paper")
    return points


def ratio_figure(bench: Bench) -> Finding:
    """Ratios of the NLL between sets, within each model."""
    ours, notes = averages(bench)
    printed = PAPER.tables["table-5"]
    columns = list(map(str, printed.columns))
    values: dict[str, dict[str, float]] = {}
    for model, of_model in ours.items():
        values[model] = {column: side.averages["NLL"].value for column, side in of_model.items()}
    for model in SHOWN:
        theirs = zip(columns, printed_values(printed, model), strict=True)
        values[f"{model} (paper)"] = {column: value for column, value in theirs if value is not None}
    maps, tables = [], []
    for at, (model, of_set) in enumerate(values.items()):
        # within a model only: two models do not share a tokenizer, so that their NLL cannot be compared
        ratios = ratios_between(of_set)
        title = f"NLL of the column over the row, {model}"
        rows = []
        for row in of_set:
            in_row = at_places(ratios, product((row,), of_set))
            rows.append(ValueRow(row, tuple(in_row)))
        tables.append(value_table(f"ratios-{at}", title, head="set", columns=of_set, rows=rows))
        maps.append(HeatMap(f"ratios-{at}", title, ratios))
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


EXPERIMENTS = (
    Reproduction("bugs", "figure-3", nll_figure, needs=NEEDED, takes=TAKEN, seeds=1, keys=OF_AVERAGES),
    Reproduction("bugs", "figure-4", ratio_figure, needs=NEEDED, takes=TAKEN, seeds=1, keys=OF_AVERAGES),
    Reproduction("bugs", "figure-5", accuracy_figure, needs=NEEDED, takes=TAKEN, seeds=1, keys=OF_AVERAGES),
)
