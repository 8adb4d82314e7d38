"""SrDetection with more natural names beside the paper's kind of names, on the same checkpoints."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from operator import attrgetter

from assay.code import Extent
from assay.evaluation import Estimate
from assay.scores import SCORES
from assay.scoring import DETERMINISTIC
from assay_lab.columns import attributes
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.finding import Finding, Value, ValueRow, ValueTable
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.experiments.runs import Runs, epoch_heading, epochs_of, over_cells, runs_of, setting
from assay_lab.papers.printed import headings, value_table
from assay_lab.testbed import Configuration, DetectorResult, NamesFrom

NameChoice = tuple[str, Extent]
"""Source of names, or the model that rewrites; and the names that change in a variant."""
WAYS: tuple[tuple[NamesFrom, Extent], ...] = (("dictionary", "all"), ("synonyms", "all"), ("synonyms", "one"))
"""The word lists; the first is that of the other tables where no model rewrites."""
OfCell = Callable[[DetectorResult], Estimate | None]
MEASURES: dict[str, tuple[str, OfCell]] = {
    "auroc": ("AUROC, all texts", lambda cell: cell.auroc),
    "macro-f1": ("Macro-F1 of the decisions, all texts", lambda cell: cell.decided.f1 if cell.decided else None),
    "rule-on-unseen": ("Share of texts never trained on that the rule calls leaked", lambda cell: cell.rule_on_unseen),
}


def name_sources(bench: Bench) -> Finding:
    """AUROC, macro-F1 and false alarms of the scores over variants, by the source of the new names."""
    old = runs_of(bench)
    runs: dict[NameChoice, Runs] = {}
    engines = attributes(bench.configurations, "judging.engine")
    if set(engines) != {DETERMINISTIC}:
        runs[", ".join(dict.fromkeys(engines)), "all"] = old
    for way in WAYS:
        # the runs of the other tables have these names already
        first = way == WAYS[0] and not runs
        runs[way] = old if first else runs_of(with_names(bench, *way))
    tables = list(map(partial(names_table, bench=bench, runs=runs), MEASURES))
    return Finding(
        name="srdetection/names",
        title="SrDetection with names from other sources (Tables 1 and 3 of SrDetection have the first)",
        tables=tuple(filter(attrgetter("rows"), tables)),
        notes=(
            *setting(bench, old),
            "Names: source; whether a variant changes all names or one. The checkpoints are the same in all rows.",
            "sr_gray decides by the paper's rule, the other scores by a threshold that was fitted on other texts.",
        ),
        seeds=bench.seeds,
    )


def with_names(bench: Bench, source: NamesFrom, rename: Extent) -> Bench:
    """Return the bench whose variants have other names; everything else is the same."""
    return replace(bench, configurations=tuple(judged_with(chosen, source, rename) for chosen in bench.configurations))


def judged_with(configuration: Configuration, source: NamesFrom, rename: Extent) -> Configuration:
    """Return the same run, judged by variants with other names."""
    judging = replace(configuration.judging, engine=DETERMINISTIC, names=source, rename=rename)
    return replace(configuration, name=f"{configuration.name}-{source}-{rename}", judging=judging)


def names_table(measure: str, bench: Bench, runs: Mapping[NameChoice, Runs]) -> ValueTable:
    """Return one measure of every score over variants; scores that no cell has are left out."""
    title, of_cell = MEASURES[measure]
    epochs = epochs_of(runs[WAYS[0]])
    rows = []
    for score, (way, evaluations) in product(compared(), runs.items()):
        values: list[Value] = []
        for name, epoch in product(evaluations, epochs):
            values.append(over_cells(evaluations[name], score, epoch, view="all", get=of_cell))
        if values.count(None) < len(values):
            rows.append(ValueRow(f"{score}, {way[0]}, {way[1]}", tuple(values)))
    return value_table(
        measure,
        title,
        head="score, names",
        columns=headings(attributes(bench.configurations, "name"), map(epoch_heading, epochs)),
        rows=rows,
        unit="number" if measure == "auroc" else "percent",
    )


def compared() -> tuple[str, ...]:
    """Return the scores over variants that read token probabilities."""
    return tuple(score.name for score in SCORES.values() if score.needs_variants and score.access == "gray")


EXPERIMENTS = (Reproduction("srdetection", "names", name_sources),)
