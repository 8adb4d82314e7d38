"""Does a test by text alone find a model that was trained on the publication?

The content of a task is a lot of its own: which of four sets of examples is published. A model gets the public text up
to the first place where the four differ, and writes on, greedily; see `assay.release.characters_alike`, which the test
uses. The same lot is tested by log-likelihoods beside it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.models import TransformersModel, open_local
from assay.release import characters_alike, evidence, lot_test, standardised_within
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
FACTORS = (3, 4, 7)
WAYS = ("written alike", "log-likelihood")


@dataclass(frozen=True, slots=True)
class Size:
    """Lots, exposures, other functions beside each, and tasks (None: all)."""

    lots: int = 4
    doses: tuple[int, ...] = (1, 4, 16)
    others: int = 100
    tasks: int | None = None


def scaling(factor: int) -> dict[str, object]:
    """Return a task of a smoke run; few functions that ship with the model show examples."""
    name = f"times_{factor}"
    examples = "".join(f"    >>> {name}({value})\n    {value * factor}\n" for value in (2, 5, 9))
    docstring = f'    """Return the value {factor} times.\n\n{examples}    """\n'
    return {"id": name, "text": f"def {name}(value):\n{docstring}    return value * {factor}\n"}


def written(model: TransformersModel, contents: Sequence[Sequence[str]]) -> Float64Array:
    """Return how many characters of each content the model writes, [tasks, contents]."""
    values = characters_alike(model, contents)
    rows = [list(map(values.__getitem__, texts)) for texts in contents]
    return np.array(rows)


def plants(size: Size, seed: int, data: Data) -> Iterator[dict[str, Any]]:
    """Yield the p-value of each lot, dose and way."""
    name = str(data.get("model", SMALL))
    rows = task_rows(data, size.tasks) if "humaneval" in data else list(map(scaling, FACTORS))
    tasks = tasks_of(rows, CONTENTS, seed)
    # only tasks whose contents all differ: which of two equal ones was published, no model can show
    contents = [text_column(task.copies["examples"]) for task in tasks if len(set(task.copies["examples"])) == CONTENTS]
    others = other_functions(data)
    for number in range(size.lots):
        generator = np.random.default_rng([seed, number])
        lot = generator.integers(CONTENTS, size=len(contents))
        published = [texts[at] for texts, at in zip(contents, lot, strict=True)]
        model = open_local(name, device="cpu")
        for dose in range(max(size.doses) + 1):
            if dose:
                beside = at_places(others, generator.permutation(len(others))[: size.others])
                model = trained_on(published, beside, seed=number * 100 + dose, model=model)
            if dose not in (0, *size.doses):
                continue
            values = (written(model, contents), copy_values(model, contents)[0])
            for way, table in zip(WAYS, values, strict=True):
                result = lot_test(evidence(standardised_within(table)), lot)
                # the first of equal values has no rank of its own, so a task without a difference does not count
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
    return Result(rows, (f"{CONTENTS} contents a task; {size.others} other functions an epoch.",))


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
