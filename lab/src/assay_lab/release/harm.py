"""How much harder do copies make a task? Log-likelihoods of copies against their originals, by kind of change.

On tasks that no model saw: what memory adds to an original would look like harm of the copy. The difference is taken
within a task, over the whole text and over the solution given its prompt: the second is what a benchmark asks for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import getitem
from typing import Any

import numpy as np
from scipy.stats import t as student

from assay.code import Problem, reordered, replaced_tests
from assay.datasets import DataSelection, SourceRow, TaskLayout, cells_of, layout_of, read_rows, scored_text, with_cells
from assay.ground_truth import demo_functions
from assay.models import TransformersModel, open_local
from assay.release import drafted, shows_as_much
from assay.types import Float64Array
from assay_lab.columns import text_column
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.release.plants import CONTROL, NAMINGS, SMALL, hash_of

FRESH = "fresh-tasks"


@dataclass(frozen=True, slots=True)
class Size:
    """Copies of a task and kind, and tasks (None: all)."""

    copies: int = 4
    tasks: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A text, and where its solution begins."""

    text: str
    solution: int


DRAWN = 12
"""Sets of examples that are drawn for each that is kept, as `assay release make` does."""


@dataclass(frozen=True, slots=True)
class Task:
    """An original and its copies of each kind."""

    original: Piece
    copies: Mapping[str, Sequence[Piece]]


def fresh_files(data: Data, most: int | None) -> Iterator[list[SourceRow]]:
    """Yield the rows of each file of fresh tasks; without them, functions that ship with the built-in model."""
    if FRESH not in data:
        yield [{"id": sample.id, "text": sample.text} for sample in demo_functions().samples[:most]]
        return
    for file in sorted(data[FRESH].glob("*.jsonl")):
        yield list(read_rows(file, lambda _: None))[:most]


def tasks_of(rows: Sequence[SourceRow], copies: int, seed: int) -> list[Task]:
    """Return the tasks of one file with their copies; a kind is empty where a task has nothing of it to change."""
    layout = layout_of(rows, DataSelection(), "tasks")
    codes = [scored_text(row, replace(layout, statement=())) for row in rows]
    examples = replaced_tests(list(map(Problem, codes, codes)), DRAWN * copies, seed=seed)
    tasks = []
    for row, code, replaced in zip(rows, codes, examples, strict=True):
        original = piece(row, layout)
        shown = islice(filter(partial(shows_as_much, code), text_column(replaced.variants)), copies)
        in_front = partial(changed_in_front, original, original.text.removesuffix(code))
        made = {"order": list(map(in_front, reordered(code, copies, seed))), "examples": list(map(in_front, shown))}
        for kind, naming in NAMINGS.items():
            made[kind] = []
            draft = drafted(row, layout, "python", seed=hash_of(seed, code), most=copies, naming=naming)
            if isinstance(draft, str):
                continue
            for numbers in draft.copies:
                cells = draft.content.with_names(list(map(getitem, draft.words, numbers)))
                made[kind].append(piece(with_cells(row, cells), layout))
        tasks.append(Task(original, made))
    return tasks


def changed_in_front(original: Piece, before: str, code: str) -> Piece:
    """Return a task with other code, with a solution as long as the original one: what changes stands before it."""
    text = before + code
    return Piece(text, len(text) - len(original.text) + original.solution)


def piece(row: SourceRow, layout: TaskLayout) -> Piece:
    """Return the text of a row, and where its solution begins: its last cell of code."""
    text = scored_text(row, layout)
    *_, (_, solution) = cells_of(row, layout.code)
    return Piece(text, len(text) - len(solution))


def values_of(model: TransformersModel, pieces: Sequence[Piece]) -> dict[Piece, tuple[float, float]]:
    """Return the log-likelihood of each text in nats, and of its solution given what stands before it."""
    distinct = list(dict.fromkeys(pieces))
    values = {}
    for batch in model.completed([each.text for each in distinct]):
        for index, statistics in batch:
            each = distinct[index]
            # a token across the border belongs to the solution
            inside = statistics.offsets[:, 1] > each.solution
            log_probs = statistics.log_probs.astype(np.float64)
            values[each] = float(log_probs.sum()), float(log_probs[inside].sum())
    return values


def run(size: Size, seed: int, data: Data) -> Result:
    """How much harder do copies make a task that no model saw?"""
    tasks: list[Task] = []
    for rows in fresh_files(data, size.tasks):
        tasks += tasks_of(rows, size.copies, seed)
    kinds = list(tasks[0].copies)
    pieces = [task.original for task in tasks]
    for task in tasks:
        for copies in task.copies.values():
            pieces += copies
    found: list[dict[str, Any]] = []
    for name in str(data["model"]).split(",") if "model" in data else (SMALL, CONTROL):
        values = values_of(open_local(name, device="cpu"), pieces)
        for kind in kinds:
            changed = [task for task in tasks if task.copies[kind]]
            row: dict[str, Any] = {"model": name.rpartition("/")[2], "kind": kind, "tasks": len(changed)}
            for place, part in enumerate(("whole text", "solution")):
                of_part = {each: both[place] for each, both in values.items()}
                row |= losses(changed, kind, part=part, value=of_part.__getitem__)
            found.append(row)
    return Result(found, (f"Of {len(tasks)} tasks; up to {size.copies} copies of each kind.",))


def losses(
    tasks: Sequence[Task], kind: str, part: str, value: Callable[[Piece], float]
) -> dict[str, float | dict[str, float] | None]:
    """Return what a copy costs in nats (mean over tasks), and as a share of what the original costs."""
    originals = np.array([value(task.original) for task in tasks])
    copies = np.array([np.mean(list(map(value, task.copies[kind]))) for task in tasks])
    lost = originals - copies
    # a ratio of sums: the mean of ratios would be one of short texts
    share = float(lost.sum() / -originals.sum()) if len(tasks) else None
    return {f"{part}, nats": mean_with_ends(lost), f"{part}, share": share}


def mean_with_ends(values: Float64Array) -> dict[str, float]:
    """Return the mean with Student's 95 % interval."""
    mean, half = (
        float(values.mean()),
        float(student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5),
    )
    return {"value": mean, "low": mean - half, "high": mean + half}


EXPERIMENTS = (
    Experiment(
        name="release/harm",
        run=run,
        scales={"smoke": Size(2, 8), "full": Size()},
        needs={FRESH: "a folder of JSON lines with tasks in the form of HumanEval or MBPP that no model saw"},
        takes={"model": "folder or GGUF file of another model"},
        smoke_does_without=True,
        stored="release/harm",
    ),
)
