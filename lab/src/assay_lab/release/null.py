"""Does the test of a release reject as often as it says, where the lot reached no model?

Copies of HumanEval under models that saw none of them: the built-in models, `builtin:small` after training on published
copies of other tasks, and after training on other code. The lot is drawn 1,000 times for each; the model is one and the
same, since the error rate is over lots.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from scipy.stats import binom

from assay.models import open_local
from assay.release import lot_test
from assay.types import Float64Array
from assay_lab.experiments.declaration import Data, Experiment, Result, benchmark_data
from assay_lab.release.plants import (
    CONTROL,
    SMALL,
    SMOKE_TASKS,
    CopySet,
    copy_set,
    copy_values,
    evidence_table,
    first_of,
    javascript_rows,
    other_functions,
    share_up_to,
    task_rows,
    trained_on,
)

LEVELS = (0.05, 0.01)


@dataclass(frozen=True, slots=True)
class Size:
    """Copies of a task, lots, new lots of a test, texts of a training, and tasks (None: all)."""

    copies: int = 10
    lots: int = 1000
    draws: int = 1000
    texts: int = 100
    tasks: int | None = None


def cells(
    size: Size, seed: int, data: Data
) -> Iterator[tuple[str, str, str, CopySet, Float64Array, list[Float64Array]]]:
    """Yield model, kind of copies, covariates, the copies, their values, and the values of the covariates."""
    rows = task_rows(data, size.tasks)
    others = other_functions(data)[: size.texts]
    small, control = open_local(SMALL, device="cpu"), open_local(CONTROL, device="cpu")
    for kind in ("dictionary", "synonyms"):
        made = copy_set(rows, size.copies, kind=kind, seed=seed)
        values, _ = copy_values(small, made.texts)
        yield SMALL, kind, "none", made, values, []
        if kind == "synonyms":
            continue
        by_control, _ = copy_values(control, made.texts)
        yield CONTROL, kind, "none", made, by_control, []
        yield SMALL, kind, CONTROL, made, values, [by_control]
        # one half is trained on, the other is tested: its lot reached no model
        half = np.arange(len(made.texts)) % 2 == 0
        lot = made.lot(np.random.default_rng(seed))
        siblings = list(compress(made.published(lot), half))
        rest = CopySet(
            tuple(compress(made.originals, ~half)),
            tuple(compress(made.texts, ~half)),
            tuple(compress(made.clusters, ~half)),
        )
        taught, _ = copy_values(trained_on(siblings, others, seed=seed), rest.texts)
        yield "trained on other tasks", kind, "none", rest, taught, []
        yield "trained on other tasks", kind, SMALL, rest, taught, [values[~half]]
        tuned, _ = copy_values(trained_on([], others, seed=seed), made.texts)
        yield "trained on other code", kind, SMALL, made, tuned, [values]
    if javascript := javascript_rows(data, size.tasks):
        made = copy_set(javascript, size.copies, seed=seed)
        yield CONTROL, "dictionary, JavaScript", "none", made, copy_values(control, made.texts)[0], []


def run(size: Size, seed: int, data: Data) -> Result:
    """Does the test of a release reject as often as it says, where the lot reached no model?"""
    rows: list[dict[str, Any]] = []
    for model, kind, covariate, made, values, covariates in cells(size, seed, data):
        table, members = evidence_table(values, made.clusters, covariates)
        generator = np.random.default_rng([seed, len(rows)])
        p_values = np.zeros(size.lots)
        for turn in range(size.lots):
            lot = made.lot(generator)[first_of(members)]
            p_values[turn] = lot_test(table, lot, draws=size.draws, seed=turn).p_value
        row: dict[str, Any] = {"model": model, "copies": kind, "covariate": covariate, "tasks": len(made.texts)}
        for level in LEVELS:
            count = int((p_values <= level).sum())
            row[f"p ≤ {level:g}"] = share_up_to(level, p_values)
            row[f"within limits at {level:g}"] = bool(count <= binom.ppf(0.999, size.lots, level))
        rows.append(row)
    return Result(rows, (f"{size.lots} lots of each; limits: the 99.9 % quantile of the binomial.",))


EXPERIMENTS = (
    Experiment(
        name="release/null",
        run=run,
        scales={"smoke": Size(copies=5, lots=20, draws=50, texts=4, tasks=SMOKE_TASKS), "full": Size()},
        needs=benchmark_data("humaneval", "mbpp"),
        takes=benchmark_data("humaneval-x"),
        smoke_does_without=True,
        stored="release/null",
    ),
)
