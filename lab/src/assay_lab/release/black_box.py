"""Does a test by text alone find a model that was trained on the publication?

The content of a task is a lot of its own: which of four sets of examples is published. A model gets the public text up
to the first place where the four differ, and writes on, greedily. What it writes is compared with what each of the four
has there. All that is sent is public. The same lot is tested by log-likelihoods beside it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq, getitem
from os.path import commonprefix
from typing import Any

import numpy as np

from assay.models import TransformersModel, open_local
from assay.release import evidence, lot_test, standardised_within
from assay.types import Float64Array
from assay_lab.columns import at_places, text_column
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data
from assay_lab.release.harm import tasks_of
from assay_lab.release.plants import (
    SMALL,
    SMOKE_TASKS,
    copy_values,
    other_functions,
    share_up_to,
    task_rows,
    trained_on,
)
from assay_lab.result_rows import column, grouped, mean_of

CONTENTS = 4
WRITTEN = 64
"""Tokens that the model writes behind each prompt."""
WAYS = ("written alike", "written words", "log-likelihood")
_DETAIL = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Size:
    """Lots, exposures, other functions beside each, and tasks (None: all)."""

    lots: int = 4
    doses: tuple[int, ...] = (1, 4, 16)
    others: int = 100
    tasks: int | None = None


def written(model: TransformersModel, contents: Sequence[Sequence[str]]) -> tuple[Float64Array, Float64Array]:
    """Return how each content agrees with what the model writes, [tasks, contents]: equal characters, own words."""
    prompts = list(map(commonprefix, contents))
    alike, words = np.zeros((2, len(contents), CONTENTS))
    replies = model.generate(prompts, max_new_tokens=WRITTEN)
    for place, (texts, prompt, reply) in enumerate(zip(contents, prompts, replies, strict=True)):
        rests = [text[len(prompt) :][: len(str(reply))] for text in texts]
        details = list(map(set, map(_DETAIL.findall, rests)))
        common = set.intersection(*details)
        found = set(_DETAIL.findall(str(reply)))
        for at, (rest, own) in enumerate(zip(rests, details, strict=True)):
            alike[place, at] = sum(takewhile(bool, map(eq, rest, str(reply))))
            words[place, at] = len((own - common) & found) / max(1, len(own - common))
    return alike, words


def plants(size: Size, seed: int, data: Data) -> Iterator[dict[str, Any]]:
    """Yield the p-value of each lot, dose and way."""
    name = str(data.get("model", SMALL))
    tasks = tasks_of(task_rows(data, size.tasks), CONTENTS, seed)
    contents = [text_column(task.copies["examples"]) for task in tasks if len(set(task.copies["examples"])) == CONTENTS]
    others = other_functions(data)
    for number in range(size.lots):
        generator = np.random.default_rng([seed, number])
        lot = generator.integers(CONTENTS, size=len(contents))
        published = list(map(getitem, contents, lot))
        model = open_local(name, device="cpu")
        for dose in range(max(size.doses) + 1):
            if dose:
                beside = at_places(others, generator.permutation(len(others))[: size.others])
                model = trained_on(published, beside, seed=number * 100 + dose, model=model)
            if dose not in (0, *size.doses):
                continue
            values = (*written(model, contents), copy_values(model, contents)[0])
            for way, table in zip(WAYS, values, strict=True):
                result = lot_test(evidence(standardised_within(table)), lot)
                first = (table.argmax(axis=1) == lot) & (np.ptp(table, axis=1) > 0)
                told = {"dose": dose, "way": way, "tasks": len(contents), "first": float(first.mean())}
                yield told | {"p": result.p_value, "z": result.z}


def run(size: Size, seed: int, data: Data) -> Result:
    """Does a test by text alone find a model that was trained on the publication?"""
    rows = []
    for (dose, way), group in grouped(plants(size, seed, data), "dose", "way").items():
        row: dict[str, Any] = {"exposures": dose, "asked for": way, "tasks": group[0]["tasks"], "lots": len(group)}
        row |= {"z": mean_of(group, "z"), "ranks first": mean_of(group, "first")}
        row |= {f"p ≤ {level:g}": share_up_to(level, column(group, "p")) for level in (0.05, 0.001)}
        rows.append(row)
    return Result(rows, (f"{CONTENTS} contents a task, {WRITTEN} tokens; {size.others} other functions an epoch.",))


EXPERIMENTS = (
    Experiment(
        name="release/black-box",
        run=run,
        scales={"smoke": Size(lots=1, doses=(1,), others=4, tasks=SMOKE_TASKS), "full": Size()},
        needs=benchmark_data("humaneval", "mbpp"),
        takes={"model": "folder or GGUF file of another model"},
        smoke_does_without=True,
        stored="release/black_box",
    ),
)
