"""Are published and secret copies equally hard for models that saw neither?

The lot makes them so on average; here is how far apart single lots fall, in standard deviations within a task, and how
much further the original is, which is never a copy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.models import open_local
from assay.release import standardised_within
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data
from assay_lab.release.plants import (
    CONTROL,
    NAMINGS,
    SMALL,
    SMOKE_TASKS,
    copy_set,
    copy_values,
    published_of,
    task_rows,
)


@dataclass(frozen=True, slots=True)
class Size:
    """Copies of a task, lots, and tasks (None: all)."""

    copies: int = 10
    lots: int = 1000
    tasks: int | None = None


def run(size: Size, seed: int, data: Data) -> Result:
    """Are published and secret copies equally hard for models that saw neither?"""
    rows: list[dict[str, Any]] = []
    for kind in NAMINGS:
        made = copy_set(task_rows(data, size.tasks), size.copies, kind=kind, seed=seed)
        for name in (SMALL, CONTROL):
            model = open_local(name, device="cpu")
            values, _ = copy_values(model, made.texts)
            original, _ = copy_values(model, [[text] for text in made.originals])
            d, generator = standardised_within(values), np.random.default_rng(seed)
            # the same values in every lot: only the draw of what is published differs
            lots = [published_of(d, made.lot(generator)).mean() for _ in range(size.lots)]
            # in standard deviations of the copies of the same task, as tasks differ far more than their copies
            above = (original[:, 0] - values.mean(axis=1)) / values.std(axis=1)
            rows.append(
                {
                    "model": name,
                    "copies": kind,
                    "tasks": len(made.texts),
                    "published - secret, sd": float(np.mean(lots)),
                    "95 % of lots within": float(np.quantile(np.abs(lots), 0.95)),
                    "nats between copies": float(values.std(axis=1).mean()),
                    "original - copies, sd": float(np.median(above)),
                    "original is first": float((original[:, 0] > values.max(axis=1)).mean()),
                }
            )
    return Result(rows, ("pass@1 was not measured.",))


EXPERIMENTS = (
    Experiment(
        name="release/difficulty",
        run=run,
        scales={"smoke": Size(4, 20, SMOKE_TASKS), "full": Size()},
        needs=benchmark_data("humaneval"),
        smoke_does_without=True,
        stored="release/difficulty",
    ),
)
