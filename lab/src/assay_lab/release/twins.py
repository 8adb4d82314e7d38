"""How many tasks does a comparison of public copies and twins need?

A simulation, not a measurement: each task is solved with a chance of its own (mean 30 % or 60 %), independently on both
copies; of a share of the tasks the model knows the public copy and solves it. Power of the exact test at .05.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import binom

from assay_lab.experiments.declaration import Data, Experiment, Result

LEVEL, POWER = 0.05, 0.8


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers of tasks, and repetitions."""

    tasks: tuple[int, ...] = (50, 100, 164, 300, 500, 1000, 2000, 4000)
    repeats: int = 2000


def power(tasks: int, solved: float, known: float, *, repeats: int, seed: int) -> float:
    """Return the share of simulated comparisons with p ≤ .05."""
    generator = np.random.default_rng([seed, tasks, round(1000 * known)])
    shape = (repeats, tasks)
    # tasks differ in how hard they are: a beta distribution with a spread as wide as benchmarks have
    chance = generator.beta(2 * solved, 2 * (1 - solved), shape)
    twin = generator.random(shape) < chance
    public = (generator.random(shape) < chance) | (generator.random(shape) < known)
    # the exact sign test, on the tasks of which one copy alone is solved
    better, worse = (public & ~twin).sum(axis=1), (twin & ~public).sum(axis=1)
    return float((binom.sf(better - 1, better + worse, 0.5) <= LEVEL).mean())


def run(size: Size, seed: int, data: Data) -> Result:
    """How many tasks does a comparison of public copies and twins need?"""
    rows: list[dict[str, Any]] = []
    for solved, known in product((0.3, 0.6), (0.05, 0.1, 0.2, 0.4)):
        powers = {tasks: power(tasks, solved, known, repeats=size.repeats, seed=seed) for tasks in size.tasks}
        enough = next((tasks for tasks, value in powers.items() if value >= POWER), None)
        rows.append(
            {
                "solved without knowing": solved,
                "tasks known": known,
                # a task that is known gains only where it was not solved without
                "difference in points": 100 * known * (1 - solved),
                "tasks for 80 % power": enough or f"more than {size.tasks[-1]}",
                "power with 164 tasks": powers.get(164),
            }
        )
    return Result(rows, ("Simulation: nothing here was measured on a model.",))


EXPERIMENTS = (
    Experiment(
        name="release/twins", run=run, scales={"smoke": Size((50, 164), 50), "full": Size()}, stored="release/twins"
    ),
)
