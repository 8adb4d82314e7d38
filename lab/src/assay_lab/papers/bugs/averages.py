"""Averages of a model on the bug benchmarks at hand, behind tables 5 and 6 and figures 3 to 5.

The paper's nine models, its whole files (which need checkouts of all projects) and its 500 files of new repositories
are not at hand. What is given takes their place: the models of the bench, the benchmarks of `--data`, as hunks or as
whole files where `--data source-root=DIR` names checkouts, and control sets where `--data new-java=PATH` and
`--data new-python=PATH` name files of new repositories.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assay.datasets import DataSelection, read_dataset
from assay.errors import DataError
from assay.evaluation import Estimate
from assay.files import write_json
from assay.models import combined, open_local
from assay.scores import requests
from assay.scoring import plan, score_samples
from assay.types import Sample
from assay_lab.bugs import (
    MEASURES,
    BugSet,
    ControlSet,
    SideAverages,
    drawn_pairs,
    side_averages,
    with_whole_files,
    without_empty,
)
from assay_lab.bugs.pairs import read_pairs
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.papers import paper
from assay_lab.testbed import is_file

PAPER = paper("bugs")
BENCHMARKS: Mapping[str, str] = {
    "Defects4J": "defects4j",
    "BugsInPy": "bugsinpy",
    "GitBug-Java": "gitbug-java",
    "BugsC++": "bugscpp",
    "SWE-bench Lite": "swe-bench-lite",
}
"""Column of the paper → benchmark."""
NEEDED = tuple(BENCHMARKS.values())
CONTROLS: Mapping[str, str] = {"new Java repositories": "new-java", "new Python repositories": "new-python"}
"""Column of the paper → name of its files in `--data`."""
SOURCE_ROOT = "source-root"
"""Name of the folder of checkouts in `--data`."""
SCALES: Mapping[str, int | None] = {"smoke": 3, "small": 60, "paper": None}
"""Scale → most texts of a set; a configuration file has a limit of its own."""

Averages = Mapping[str, SideAverages]
"""Column of the paper → averages."""


def models_of(bench: Bench) -> tuple[str, ...]:
    """Return the models of a bench, each once."""
    return tuple(dict.fromkeys(configuration.model for configuration in bench.configurations))


def label_of(model: str) -> str:
    """Return the name of a model in tables: of a GGUF file its file name."""
    return Path(model).name if model.endswith(".gguf") else model


def most_texts(bench: Bench) -> int | None:
    """Return the most texts of a set; None for all.

    Raises:
        DataError: the scale is unknown.
    """
    if is_file(bench.scale):
        return bench.configurations[0].data.limit
    if bench.scale not in SCALES:
        raise DataError(f"scale {bench.scale!r}: expected one of {', '.join(SCALES)}, or a configuration file")
    return SCALES[bench.scale]


def sets_of(bench: Bench) -> tuple[tuple[BugSet | ControlSet, ...], tuple[str, ...]]:
    """Return the sets that the data of a bench hold, called as the columns of the paper, and notes on them.

    Raises:
        DataError: the scale or a name is unknown, no benchmark was given, or data cannot be read.
    """
    names = [*BENCHMARKS.values(), *CONTROLS.values()]
    if unknown := sorted(set(bench.data) - {*names, SOURCE_ROOT, *lists_of(bench)}):
        raise DataError(f"--data {unknown[0]}: expected one of {', '.join([*names, SOURCE_ROOT])}")
    limit, root = most_texts(bench), bench.data.get(SOURCE_ROOT)
    sets: list[BugSet | ControlSet] = []
    notes: list[str] = []
    for column, name in BENCHMARKS.items():
        if name in bench.data:
            pairs = drawn_pairs(read_pairs(name, DataSelection(data=bench.data[name])).pairs, limit)
            pairs, more = without_empty(pairs, benchmark=column)
            notes += more
            if root is not None:
                pairs, more = with_whole_files(pairs, root, benchmark=column)
                notes += more
            sets.append(BugSet(column, pairs))
    if not sets:
        raise DataError(f"no benchmark was given: expected --data NAME=PATH for {' or '.join(NEEDED)}")
    for column, name in CONTROLS.items():
        if name in bench.data:
            sets.append(ControlSet(column, read_dataset(bench.data[name], DataSelection(limit=limit)).samples))
    return tuple(sets), tuple(notes)


def lists_of(bench: Bench) -> tuple[str, ...]:
    """Return the names of the data that are lists of the repositories of a corpus: "the-stack-v1.0"."""
    return tuple(name for name in bench.data if name.startswith("the-stack-"))


def averages(bench: Bench) -> tuple[Mapping[str, Averages], tuple[str, ...]]:
    """Return label of a model → averages of the fixed side or the control texts of each set, and notes.

    Raises:
        DataError: as `sets_of`.
        ModelError: a model cannot be run.
    """
    sets, notes = sets_of(bench)
    ours = {label_of(model): averages_of(bench, model, sets) for model in models_of(bench)}
    return ours, (*notes, *missing_notes(sets, bench))


def averages_of(bench: Bench, model: str, sets: Sequence[BugSet | ControlSet]) -> Averages:
    """Return the averages of one model on each set; those that were computed before are read.

    Only the side that the paper's tables are about is scored.
    """
    texts = {each.name: main_texts(each) for each in sets}
    digest = combined([model, {name: [sample.text for sample in samples] for name, samples in texts.items()}])
    path = bench.out / "bug-averages" / f"{digest[:16]}.json"
    if not path.exists():
        bench.watchers.begin(f"{label_of(model)} on {len(sets)} sets")
        chosen = plan(requests(",".join(score for score, _ in MEASURES.values())), {"target": open_local(model)})
        flat = [replace(sample, id=f"{at}") for at, sample in enumerate(s for of in texts.values() for s in of)]
        columns = score_samples(flat, chosen, progress=bench.watchers.scoring).values
        measured, start = {}, 0
        for name, samples in texts.items():
            rows = slice(start, start + len(samples))
            measured[name] = side_averages(samples, {score: column[rows] for score, column in columns.items()})
            start += len(samples)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {name: _storable(asdict(side)) for name, side in measured.items()})
    stored = json.loads(path.read_text("utf-8"))
    return {column: _side_averages(content) for column, content in stored.items()}


def main_texts(each: BugSet | ControlSet) -> tuple[Sample, ...]:
    """Return the texts that sets are compared by: the fixed sides, or the texts of a control set."""
    return each.samples if isinstance(each, ControlSet) else tuple(pair.fixed for pair in each.pairs)


def _storable(value: object) -> object:
    """Return a value with None in place of NaN, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _storable(each) for key, each in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def _side_averages(content: Mapping[str, object]) -> SideAverages:
    fields = {**content, "characters": math.nan if content["characters"] is None else content["characters"]}
    measured: Mapping[str, Mapping[str, object]] = fields.pop("averages")  # type: ignore[assignment]  # of JSON
    estimates = {measure: _estimate(estimate) for measure, estimate in measured.items()}
    return SideAverages(averages=estimates, **fields)  # type: ignore[arg-type]  # of JSON


def _estimate(content: Mapping[str, object]) -> Estimate:
    numbers = {key: math.nan if content[key] is None else content[key] for key in ("value", "low", "high")}
    groups: Sequence[int] = content["groups"]  # type: ignore[assignment]  # of JSON
    return Estimate(**{**content, **numbers, "groups": tuple(groups)})  # type: ignore[arg-type]  # of JSON


def missing_notes(sets: Sequence[BugSet | ControlSet], bench: Bench) -> tuple[str, ...]:
    """Return what of the paper is not at hand, and what takes its place."""
    names = {each.name for each in sets}
    absent = [column for column in (*BENCHMARKS, *CONTROLS) if column not in names]
    limit = most_texts(bench)
    unit = (
        "whole files of the bugs" if SOURCE_ROOT in bench.data else "the fixed side of each patch, not the whole file"
    )
    notes = [
        f"The paper's models are not at hand: the models are {', '.join(map(label_of, models_of(bench)))}.",
        "NLL and 5-gram accuracy compare within one model: compare the order of the sets, not values.",
        f"Texts are {unit}" + ("." if limit is None else f", at most {limit} of each set."),
    ]
    if absent:
        notes.append(f"No data was named for these rows, which have the paper's value only: {', '.join(absent)}.")
    return tuple(notes)
