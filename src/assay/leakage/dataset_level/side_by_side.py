"""Judgements side by side: models × benchmarks with verdict, share, sample-level rate and how far methods agree."""

from collections.abc import Callable, Mapping

from assay.errors import DataError
from assay.leakage.dataset_level.describing import calls_of
from assay.leakage.dataset_level.results import DatasetJudgement
from assay.reports import Cell, Column, ColumnKind, Missing, Report, Row, Table, encode


def describe_judgements(judgements: Mapping[str, DatasetJudgement]) -> Report:
    """Return finished judgements as one page; no model is run.

    Args:
        judgements: folder of a run → its judgement.

    Raises:
        DataError: two judgements of one model on one benchmark.
    """
    places: dict[tuple[str, str], tuple[str, DatasetJudgement]] = {}
    for run, judgement in judgements.items():
        place = judgement.model, judgement.benchmark
        if place in places:
            raise DataError(
                f"{places[place][0]} and {run} are both of {place[0]} on {place[1]}; expected one run of each"
            )
        places[place] = run, judgement
    return Report(
        title="Benchmarks in the training data of models",
        statement="",
        tables=(
            grid(places, "verdict", "Verdict", "text", verdict_cell),
            grid(places, "share", "Share that looks trained on", "share", share_cell),
            grid(places, "flagged", "Samples flagged at 5 %", "share", flagged_cell),
            grid(
                places,
                "agreement",
                "Other methods that call it contaminated, by their own rules",
                "text",
                agreement_cell,
            ),
        ),
        notes=("Chance flags 5 %. A share may count texts that were not seen, where others of the benchmark were.",),
        data=[{"run": run, **encode(judgement)} for run, judgement in places.values()],
        kind="comparison",
    )


def grid(
    places: Mapping[tuple[str, str], tuple[str, DatasetJudgement]],
    name: str,
    title: str,
    kind: ColumnKind,
    cell: Callable[[DatasetJudgement], Cell],
) -> Table:
    """Return one figure of all runs: models in rows, benchmarks in columns, in order of appearance."""
    benchmarks = tuple(dict.fromkeys(benchmark for _, benchmark in places))
    rows = []
    for model in dict.fromkeys(model for model, _ in places):
        cells: list[Cell] = []
        for benchmark in benchmarks:
            entry = places.get((model, benchmark))
            cells.append(Missing("there is no such run") if entry is None else cell(entry[1]))
        rows.append(Row((model, *cells)))
    columns = (Column("model", "name"), *(Column(benchmark, kind) for benchmark in benchmarks))
    return Table(name, title, columns, tuple(rows))


def verdict_cell(judgement: DatasetJudgement) -> Cell:
    """Return the verdict, with its reason where it is open."""
    decision = judgement.decision
    return decision.verdict.value + (f" ({decision.reason.value})" if decision.reason else "")


def share_cell(judgement: DatasetJudgement) -> Cell:
    """Return the contaminated share with its interval."""
    return judgement.reported_share or Missing("no verdict")


def flagged_cell(judgement: DatasetJudgement) -> Cell:
    """Return the share of samples that are flagged at 5 %."""
    return Missing("too few unseen texts") if judgement.flagged is None else judgement.flagged.rate


def agreement_cell(judgement: DatasetJudgement) -> Cell:
    """Return how many of the methods that have a rule call the benchmark contaminated."""
    calling, with_rule = calls_of(judgement)
    return f"{calling} of {with_rule}" if with_rule else Missing("no method with a rule was run")
