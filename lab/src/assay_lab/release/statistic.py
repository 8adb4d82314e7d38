"""Which statistic of a release finds a model best that was trained on the publication?

Each lot trains a model once on the published copies: every second task with names from a dictionary, the others with
synonyms, beside other functions. Candidates are the log-likelihood of the text, its mean per token, and both of the
changed names alone; Σ log(1 - ε + ε w) or the mean of d; and what is taken off: nothing, the length, the values of
`builtin:control`, or those of the model before training.

With `--data model=FILE.gguf` the model is another one; the scale "pretrained" has the learning rate
of such a model.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, zip_longest
from operator import methodcaller
from typing import Any

import numpy as np

from assay.models import TransformersModel, open_local
from assay.release import by_cluster, lot_test, residuals, standardised_within
from assay.types import Float64Array, Int64Array
from assay_lab.columns import at_places, attributes
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data
from assay_lab.mappings import map_values
from assay_lab.release.plants import (
    CONTROL,
    NAMINGS,
    RATE,
    SMALL,
    SMOKE_TASKS,
    STATISTICS,
    CopySet,
    copy_set,
    first_of,
    other_functions,
    share_up_to,
    task_rows,
    trained_on,
)
from assay_lab.result_rows import column, grouped, mean_of

LEVEL = 0.01
_WORDS = re.compile(r"\w+|\W")


@dataclass(frozen=True, slots=True)
class Size:
    """Copies of a task, lots, other functions, rate of the training, new lots of a test, and tasks (None: all)."""

    copies: int = 10
    lots: int = 10
    others: int = 100
    rate: float = RATE
    draws: int = 4000
    tasks: int | None = None


def values_of(model: TransformersModel, texts: Sequence[Sequence[str]]) -> dict[str, Float64Array]:
    """Return each candidate's values of each copy, float64 [tasks, copies]."""
    flat = list(chain.from_iterable(texts))
    spans = list(chain.from_iterable(map(changed, texts)))
    found = {name: np.zeros(len(flat)) for name in ("whole text", "whole text, per token", "names", "names, per token")}
    for batch in model.completed(flat):
        for index, statistics in batch:
            log_probs = statistics.log_probs.astype(np.float64)
            starts, ends = statistics.offsets[:, 0], statistics.offsets[:, 1]
            own = np.zeros(len(log_probs), np.bool_)
            for begin, end in spans[index]:
                own |= (starts < end) & (ends > begin)
            found["whole text"][index] = log_probs.sum()
            found["whole text, per token"][index] = log_probs.mean()
            found["names"][index] = log_probs[own].sum()
            found["names, per token"][index] = log_probs[own].mean() if own.any() else 0.0
    shape = (len(texts), len(texts[0]))
    return map_values(methodcaller("reshape", shape), found)


def changed(copies: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Return the spans of the words of each copy that are not the same in all copies."""
    # copies differ in names alone, so their words stand in the same places
    differs = [len(set(words)) > 1 for words in zip_longest(*map(_WORDS.findall, copies))]

    def spans(text: str) -> list[tuple[int, int]]:
        return list(map(methodcaller("span"), compress(_WORDS.finditer(text), differs)))

    return list(map(spans, copies))


@dataclass(frozen=True, slots=True)
class Half:
    """The tasks that have copies of one kind, and the values that may be taken off."""

    kind: str
    made: CopySet
    off: dict[str, dict[str, Float64Array]]


def halves(model: TransformersModel, size: Size, seed: int, data: Data) -> list[Half]:
    """Return the tasks of each kind: no task is in two."""
    control, found = open_local(CONTROL, device="cpu"), []
    for at, kind in enumerate(NAMINGS):
        made = copy_set(task_rows(data, size.tasks)[at :: len(NAMINGS)], size.copies, kind=kind, seed=seed)
        by_control, before = values_of(control, made.texts), values_of(model, made.texts)
        length = np.array([list(map(len, row)) for row in made.texts], np.float64)
        off = {"control": by_control, "length": dict.fromkeys(before, length), "parent": before}
        found.append(Half(kind, made, off))
    return found


def tests(size: Size, seed: int, data: Data) -> Iterator[dict[str, Any]]:
    """Yield z and p of each candidate and lot."""
    name = str(data.get("model", SMALL))
    parts, others = halves(open_local(name, device="cpu"), size=size, seed=seed, data=data), other_functions(data)
    for number in range(size.lots):
        generator = np.random.default_rng([seed, number])
        lots = list(map(methodcaller("lot", generator), attributes(parts, "made")))
        published: list[str] = []
        for half, lot in zip(parts, lots, strict=True):
            published += half.made.published(lot)
        beside = at_places(others, generator.permutation(len(others))[: size.others])
        model = trained_on(published, beside, seed=number, model=open_local(name, device="cpu"), rate=size.rate)
        for half, lot in zip(parts, lots, strict=True):
            for values_name, values in values_of(model, half.made.texts).items():
                for off in ("nothing", *half.off):
                    covariates = [] if off == "nothing" else [half.off[off][values_name]]
                    d = standardised_within(residuals(values, covariates))
                    result = tested(d, half.made.clusters, lot=lot, draws=size.draws)
                    yield {"copies": half.kind, "values": values_name, "off": off} | result


def tested(d: Float64Array, clusters: Sequence[str], *, lot: Int64Array, draws: int) -> dict[str, Any]:
    """Return z and p of both statistics."""
    found: dict[str, Any] = {"tasks": len(d)}
    for title, statistic in STATISTICS.items():
        table, members = by_cluster(statistic(d), clusters)
        result = lot_test(table, lot[first_of(members)], draws=draws)
        found |= {f"z {title}": result.z, f"p {title}": result.p_value}
    return found


def run(size: Size, seed: int, data: Data) -> Result:
    """Which statistic of a release finds a model best that was trained on the publication?"""
    rows = []
    for (kind, values, off), group in grouped(tests(size, seed, data), "copies", "values", "off").items():
        row: dict[str, Any] = {"copies": kind, "values": values, "taken off": off, "tasks": group[0]["tasks"]}
        row["lots"] = len(group)
        for title in STATISTICS:
            row[f"z {title}"] = mean_of(group, f"z {title}")
            row[f"{title} p ≤ {LEVEL:g}"] = share_up_to(LEVEL, column(group, f"p {title}"))
        rows.append(row)
    return Result(rows, (f"Seen once, at rate {size.rate:g}, beside {size.others} other functions.",))


EXPERIMENTS = (
    Experiment(
        name="release/statistic",
        run=run,
        scales={
            "smoke": Size(copies=3, lots=1, others=2, draws=50, tasks=SMOKE_TASKS),
            "pretrained": Size(copies=5, lots=4, rate=2e-5, tasks=80),
            "full": Size(),
        },
        columns=("copies", "values", "taken off", "tasks", "lots", "z evidence", "z mean", "evidence p ≤ 0.01"),
        needs=benchmark_data("humaneval", "mbpp"),
        takes={"model": "folder or GGUF file of another model"},
        smoke_does_without=True,
        stored="release/statistic",
    ),
)
