"""What does it cost to make a release and to test a model against it?

Wall time of `make` with tests run, and of `test` with `builtin:small`.
"""

import json
import time
from dataclasses import dataclass
from typing import Any

from assay.release import ReleaseSettings, ReleaseTestSettings, make_release, run_release_test
from assay_lab.columns import attributes
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result, benchmark_data
from assay_lab.release.plants import SMALL, task_rows


@dataclass(frozen=True, slots=True)
class Size:
    """Tasks (None for all), and copies."""

    tasks: int | None = None
    copies: int = 10


def run(size: Size, seed: int, data: Data) -> Result:
    """What does it cost to make a release and to test a model against it?"""
    rows = task_rows(data, size.tasks)
    folder = data[WORK]
    tasks = folder / "tasks.jsonl"
    tasks.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    began = time.perf_counter()
    made = make_release(
        tasks, out=folder / "public.jsonl", secret=folder / "secret.json", settings=ReleaseSettings(copies=size.copies)
    )
    between = time.perf_counter()
    result = run_release_test(SMALL, folder / "secret.json", ReleaseTestSettings())
    ended = time.perf_counter()
    levels = attributes(made.secret.committed.tasks, "level")
    row: dict[str, Any] = {
        "tasks": len(rows),
        "with tests run": levels.count("tests run"),
        "copies": size.copies,
        "make, seconds": between - began,
        "test, seconds": ended - between,
        "secret, megabytes": (folder / "secret.json").stat().st_size / 1e6,
        "passes of the model": result.tasks * result.copies,
    }
    return Result([row])


EXPERIMENTS = (
    Experiment(
        name="release/cost",
        run=run,
        scales={"smoke": Size(3, 5), "full": Size()},
        needs=benchmark_data("humaneval"),
        smoke_does_without=True,
        stored="release/cost",
    ),
)
