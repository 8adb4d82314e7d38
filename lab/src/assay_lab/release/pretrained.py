"""How often does the test of a release find it in a pretrained model, by mixture, method and size of the release?

The published copies are trained on once, beside so many other functions for each; no task is in both. Other functions
are those of this machine's standard library and packages.
A lot that is done is kept in the folder `work`, so a run that was ended goes on. On a GPU several lots train at a time.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from assay.datasets import read_rows
from assay.files import write_json
from assay.models import TransformersModel, open_local
from assay.training import TrainingSettings, member_rows, tune
from assay_lab.columns import at_places, attributes
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result, benchmark_data
from assay_lab.measuring import machine
from assay_lab.papers.hst.corpus import installed_functions
from assay_lab.release.plants import (
    NAMINGS,
    SMALL,
    SMOKE_TASKS,
    CopySet,
    copy_set,
    copy_values,
    other_functions,
    share_up_to,
    task_rows,
)
from assay_lab.release.power import Plant, judged
from assay_lab.result_rows import column, grouped, mean_of

KEYS = ("names", "tasks", "others", "method", "parent")
SHORT = 2000
"""Characters of the longest other function."""
POOL = 12_000
"""Other functions that are drawn from."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting: kind of names, tasks of the release, other functions for each of them, and what is trained."""

    kind: str
    tasks: int
    others: int
    method: Literal["full", "lora"] = "full"


@dataclass(frozen=True, slots=True)
class Size:
    """Cells, lots of each, copies of a task, rates and batch of the training, new lots of a test, and what is read.

    The rate of LoRA is ten times that of all weights, as is usual; neither was chosen here.
    """

    cells: tuple[Cell, ...]
    lots: int = 10
    copies: int = 5
    rate: float = 2e-5
    lora_rate: float = 2e-4
    batch: int = 4
    draws: int = 4000
    workers: int = 6
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """What the lots of a run share: the model, all copies by kind of names, and the other functions."""

    model: str
    made: dict[str, CopySet]
    others: tuple[str, ...]
    size: Size
    seed: int


def copies_of(data: Data, size: Size, *, kind: str, seed: int) -> CopySet:
    """Return the copies of HumanEval, MBPP and BigCodeBench; of a smoke run those of functions that ship with assay."""
    parts = [task_rows(data, size.rows)]
    for name, file in (("mbpp", "mbpp.jsonl"), ("bigcodebench", "BigCodeBench.jsonl.gz")):
        if name in data:
            parts.append(list(read_rows(Path(data[name]) / file, lambda _: None))[: size.rows])
    # each benchmark by itself: their columns differ
    made = [copy_set(part, size.copies, kind=kind, seed=seed) for part in parts]
    originals, texts, clusters = (tuple(chain.from_iterable(attributes(made, name))) for name in CopySet.__slots__)
    return CopySet(originals, texts, clusters)


def other_texts(data: Data) -> tuple[str, ...]:
    """Return functions that are in no release."""
    if "bigcodebench" not in data:
        return tuple(other_functions(data))
    short = (document.text for document in installed_functions() if len(document.text) <= SHORT)
    return tuple(islice(short, POOL))


def lot_of(trial: Trial, cell: Cell, number: int) -> list[dict[str, Any]]:
    """Return what the test says of a model that was trained on one lot, without its parent and with it.

    Args:
        trial: what all lots share.
        cell: the setting.
        number: of the lot; with the seed it decides the published copies, the tasks and the other functions.
    """
    size, made = trial.size, trial.made[cell.kind]
    generator = np.random.default_rng([trial.seed, number])
    lot = made.lot(generator)
    chosen = generator.permutation(len(made.texts))[: cell.tasks]
    beside = generator.permutation(len(trial.others))[: cell.others * len(chosen)]
    plant = Plant(lot[chosen], at_places(made.clusters, chosen))
    model = open_local(trial.model, dtype="float32")
    texts = at_places(made.texts, chosen)
    before, _ = copy_values(model, texts)
    published = at_places(made.published(lot), chosen)
    train_on(model, [*published, *at_places(trial.others, beside)], size=size, method=cell.method, seed=number)
    after, _ = copy_values(model, texts)
    about = {"names": NAMINGS[cell.kind].title, "tasks": len(chosen), "others": len(beside), "method": cell.method}
    about |= {"lot": number, "device": machine().get("gpu", "cpu")}
    rows = []
    for with_parent in (False, True):
        found = judged(after, [before] * with_parent, plant, copies=size.copies, draws=size.draws)
        rows.append(about | {"parent": with_parent} | found)
    return rows


def train_on(
    model: TransformersModel, texts: Sequence[str], *, size: Size, method: Literal["full", "lora"], seed: int
) -> None:
    """Train the weights of a model, or new ones of LoRA that it gets, on each text once."""
    rows = member_rows(model.checkpoint.tokenizer, texts, context=model.context)
    rate = {"full": size.rate, "lora": size.lora_rate}[method]
    settings = TrainingSettings(method=method, rate=rate, batch=size.batch, epochs=1, checkpoints=(1,))
    # LoRA's weights are put into the layers of the model itself, so it needs no other name afterwards
    tune(model.checkpoint.model, rows, settings, seed=seed)


def kept_lot(folder: Path, trial: Trial, job: tuple[Cell, int]) -> list[dict[str, Any]]:
    """Return a lot from the folder where it is done, else make it and keep it there."""
    cell, number = job
    # all that a lot depends on beside its cell: another model or rate must not find it
    shared = repr((trial.model, trial.seed, replace(trial.size, cells=(), workers=0)))
    run = hashlib.sha256(shared.encode()).hexdigest()[:12]
    file = folder / f"{run}-{cell.kind}-{cell.tasks}-{cell.others}-{cell.method}-{number}.json"
    if file.exists():
        rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
        return rows
    if torch.cuda.is_available():
        # products of matrices in TF32: their rounding is far below what a step of training changes
        torch.set_float32_matmul_precision("high")
    rows = lot_of(trial, cell, number)
    write_json(file, rows)
    return rows


def lots(size: Size, seed: int, data: Data) -> Iterator[dict[str, Any]]:
    """Yield the p-values of each cell and lot."""
    kinds = dict.fromkeys(attributes(size.cells, "kind"))
    made = {kind: copies_of(data, size, kind=kind, seed=seed) for kind in kinds}
    trial = Trial(str(data.get("model", SMALL)), made, other_texts(data), size=size, seed=seed)
    jobs = list(product(size.cells, range(size.lots)))
    one = partial(kept_lot, data[WORK], trial)
    if not torch.cuda.is_available():
        for job in jobs:
            yield from one(job)
        return
    # a forked process cannot use the GPU
    with ProcessPoolExecutor(size.workers, mp_context=get_context("spawn")) as pool:
        for rows in pool.map(one, jobs):
            yield from rows


def run(size: Size, seed: int, data: Data) -> Result:
    """How often does the test of a release find it in a pretrained model, by mixture and method?"""
    rows = []
    devices: dict[str, None] = {}
    for key, group in grouped(lots(size, seed, data), *KEYS).items():
        devices |= dict.fromkeys(column(group, "device"))
        row: dict[str, Any] = dict(zip(KEYS, key, strict=True)) | {"lots": len(group)}
        row["z evidence"] = mean_of(group, "z evidence")
        for level in (0.05, 0.01, 0.001):
            row[f"evidence p ≤ {level:g}"] = share_up_to(level, column(group, "p evidence"))
        row["known at least"] = mean_of(group, "memorised")
        rows.append(row)
    settings = f"rate {size.rate:g}, with LoRA {size.lora_rate:g}, batch {size.batch}, {size.copies} copies of a task"
    return Result(rows, (f"Seen once; {settings}; trained on {', '.join(devices)}.",))


FULL_CELLS = (
    Cell("dictionary", 40, 3),
    Cell("synonyms", 40, 3),
    Cell("synonyms", 40, 3, method="lora"),
    Cell("synonyms", 40, 10),
    Cell("synonyms", 40, 10, method="lora"),
    Cell("synonyms", 164, 3),
)
LARGE_CELLS = (Cell("dictionary", 1000, 1), Cell("dictionary", 1000, 1, method="lora"), Cell("synonyms", 40, 100))
EXPERIMENTS = (
    Experiment(
        name="release/pretrained",
        run=run,
        scales={
            "smoke": Size((Cell("synonyms", 4, 1),), lots=1, copies=3, draws=50, rows=SMOKE_TASKS),
            "full": Size(FULL_CELLS),
            "large": Size(LARGE_CELLS),
        },
        columns=(*KEYS, "lots", "z evidence", "evidence p ≤ 0.05", "evidence p ≤ 0.01", "known at least"),
        needs=benchmark_data("humaneval", "mbpp", "bigcodebench"),
        takes={"model": "folder or GGUF file of another model"},
        smoke_does_without=True,
        stored="release/pretrained",
    ),
)
