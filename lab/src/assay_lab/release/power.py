"""How often does the test of a release find a model that was trained on the publication?

Half of HumanEval's tasks: their published copies are trained on beside other functions, once or more often. The
statistics that were candidates stand side by side: log-likelihood of the text, Σ log(1 - ε + ε w) or the mean of d,
with and without the model before training as parent. Tasks not trained on stand beside them in some cells, as where a
part of a publication was seen. `mid_pit` sees the same plants, against tasks not trained on.

`release/power` has names of a dictionary, `release/power-synonyms` what `assay release make` does by default: small
releases, once.
With `--data model=FILE.gguf` the model is another one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from assay.models import open_local
from assay.release import by_cluster, lot_test, memorised_at_least, residuals, standardised_within
from assay.types import Float64Array
from assay_lab.columns import at_places
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data
from assay_lab.release.plants import (
    NAMINGS,
    SMALL,
    SMOKE_TASKS,
    STATISTICS,
    copy_set,
    copy_values,
    first_of,
    other_functions,
    published_of,
    share_up_to,
    task_rows,
    trained_on,
)
from assay_lab.result_rows import column, grouped, mean_of

KEYS = ("dose", "tasks", "others", "copies", "parent")


@dataclass(frozen=True, slots=True)
class Size:
    """Kind and number of copies, lots, doses, other functions, tasks seen and not, copies read, and all tasks."""

    kind: str = "dictionary"
    copies: int = 10
    lots: int = 10
    doses: tuple[int, ...] = (1, 4)
    others: int = 100
    tasks: tuple[tuple[int, int], ...] = ((20, 0), (40, 0), (81, 0), (20, 80))
    read: tuple[int, ...] = (5, 10)
    draws: int = 4000
    rows: int | None = None


def plants(size: Size, seed: int, data: Data) -> Iterator[dict[str, Any]]:
    """Yield the p-values of each lot, dose, statistic, parent, number of tasks and of copies."""
    name = str(data.get("model", SMALL))
    made = copy_set(task_rows(data, size.rows), size.copies, kind=size.kind, seed=seed)
    others = other_functions(data)
    parent, _ = copy_values(open_local(name, device="cpu"), made.texts)
    for number in range(size.lots):
        generator = np.random.default_rng([seed, number])
        lot = made.lot(generator)
        order = generator.permutation(len(made.texts))
        planted, spare = order[: len(order) // 2], order[len(order) // 2 :]
        published = made.published(lot)
        texts = at_places(published, planted)
        model = open_local(name, device="cpu")
        for dose in range(1, max(size.doses) + 1):
            beside = at_places(others, generator.permutation(len(others))[: size.others])
            model = trained_on(texts, beside, seed=number * 100 + dose, model=model)
            if dose not in size.doses:
                continue
            values, ranks = copy_values(model, made.texts)
            labels = np.r_[np.ones(len(planted)), np.zeros(len(spare))]
            area = float(roc_auc_score(labels, published_of(ranks, lot)[np.r_[planted, spare]]))
            for (seen, unseen), copies, with_parent in product(size.tasks, size.read, (False, True)):
                kept = np.r_[planted[:seen], spare[:unseen]]
                drawn = Plant(lot[kept], at_places(made.clusters, kept))
                # a list times False is empty: no parent
                parents = [parent[kept]] * with_parent
                found = judged(values[kept], parents, drawn, copies=copies, draws=size.draws)
                cell = {"dose": dose, "tasks": seen, "others": unseen, "copies": copies, "parent": with_parent}
                yield cell | {"area": area} | found


@dataclass(frozen=True, slots=True)
class Plant:
    """The published copy of each task, and its cluster."""

    published: np.ndarray
    clusters: Sequence[str]


def judged(
    values: Float64Array, parents: Sequence[Float64Array], lot: Plant, copies: int, draws: int
) -> dict[str, Any]:
    """Return p and z of both statistics for the published copy among `copies`, and how often it ranks first."""
    rows = np.arange(len(values))[:, None]
    # the lot falls on one of the blocks of copies first, and then on a copy of that block: it is uniform there too
    columns = (lot.published[:, None] // copies) * copies + np.arange(copies)[None, :]
    own = lot.published % copies
    d = standardised_within(residuals(values[rows, columns], [parent[rows, columns] for parent in parents]))
    found: dict[str, Any] = {"first": int((d.argmax(axis=1) == own).sum())}
    for title, statistic in STATISTICS.items():
        table, members = by_cluster(statistic(d), lot.clusters)
        result = lot_test(table, own[first_of(members)], draws=draws)
        found |= {f"p {title}": result.p_value, f"z {title}": result.z}
    found["memorised"] = memorised_at_least(found["first"], len(values), copies)
    return found


def run(size: Size, seed: int, data: Data) -> Result:
    """How often does the test of a release find a model that was trained on the publication?"""
    rows = []
    for key, group in grouped(plants(size, seed, data), *KEYS).items():
        row: dict[str, Any] = dict(zip(KEYS, key, strict=True)) | {
            "lots": len(group),
            "names": NAMINGS[size.kind].title,
        }
        for title in STATISTICS:
            row[f"z {title}"] = mean_of(group, f"z {title}")
            for level in (0.05, 0.01):
                row[f"{title} p ≤ {level:g}"] = share_up_to(level, column(group, f"p {title}"))
        row["ranks first"] = mean_of(group, "first") / (row["tasks"] + row["others"])
        row["known at least"] = mean_of(group, "memorised")
        row["mid_pit AUROC"] = mean_of(group, "area")
        rows.append(row)
    return Result(rows, (f"{size.others} other functions beside each epoch; {size.lots} lots a cell.",))


DICTIONARY = Experiment(
    name="release/power",
    run=run,
    scales={
        "smoke": Size(copies=6, lots=1, doses=(1,), others=4, tasks=((6, 0),), read=(3,), draws=100, rows=SMOKE_TASKS),
        "full": Size(),
    },
    columns=(
        "dose",
        "tasks",
        "others",
        "copies",
        "parent",
        "evidence p ≤ 0.05",
        "evidence p ≤ 0.01",
        "z evidence",
        "ranks first",
    ),
    needs=benchmark_data("humaneval", "mbpp"),
    takes={"model": "folder or GGUF file of another model"},
    smoke_does_without=True,
    stored="release/power",
)
SYNONYMS = replace(
    DICTIONARY,
    name="release/power-synonyms",
    scales={
        "smoke": replace(DICTIONARY.scales["smoke"], kind="synonyms"),
        "full": Size(kind="synonyms", lots=5, doses=(1,), tasks=((12, 0), (40, 0), (12, 40)), read=(10,), rows=140),
    },
    stored="release/power_synonyms",
)
EXPERIMENTS = (DICTIONARY, SYNONYMS)
