"""The gate of kernel divergence: how often it is open, and whether the score has its direction there.

Benchmarks of 50 texts are drawn from the pools of the reliability grid, four of each share. The score of a benchmark
has its direction if it is above the median of the clean benchmarks of the same model: by chance in half of the cases.
`pools` is the folder of runs of `assay/reliability`; pools that it lacks are made.
"""

from dataclasses import dataclass

import numpy as np

from assay.leakage import GradientGate, MeasuredModel, TuningOptions
from assay.models import open_local
from assay.scores import DatasetInputs, dataset_requests
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.bench import Bench
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends
from assay_lab.reliability.planted_pools import BASE, CONTROLS, PlantedPool, pools
from assay_lab.reliability.pool_settings import SOURCES

N, DRAWS, SHARES = 50, 4, (0.0, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class GatedBenchmark:
    """One benchmark: how the model was trained, its share, its gate, and whether its score has the direction."""

    plant: str
    share: float
    is_open: bool
    is_right: bool


def drawn_benchmarks(pool: PlantedPool, seed: int, draws: int) -> list[GatedBenchmark]:
    """Draw benchmarks of each share and measure them."""
    members, others, unseen = (pool.places(role) for role in ("member", "clean", "unseen"))
    scorer, calibrating = open_local(pool.model), [pool.samples[at] for at in unseen]
    whole = MeasuredModel(scorer, calibrating[:2], calibrating)
    norm_of_unseen, rate = whole.mean_gradient(calibrating), None
    (request,) = dataset_requests("kds")
    measured = []
    for share in SHARES[:1] if pool.plant == BASE else SHARES:
        for turn in range(draws):
            random = np.random.default_rng([seed, turn, round(100 * share)])
            seen = round(share * N)
            places = [*random.permutation(members)[:seen], *random.permutation(others)[: N - seen]]
            samples = [pool.samples[at] for at in places]
            model = MeasuredModel(scorer, samples, calibrating, tuning=TuningOptions(rate=rate))
            value = request(DatasetInputs(samples, calibrating, model, seed)).value
            rate = model.rate_used
            measured.append((share, GradientGate(model.mean_gradient(samples), norm_of_unseen).is_open, value))
    clean = float(np.median([value for share, _, value in measured if share == 0]))
    return [GatedBenchmark(pool.plant, share, is_open, value > clean) for share, is_open, value in measured]


def rows_of(results: list[GatedBenchmark]) -> list[dict[str, object]]:
    """The share of open gates by plant and share, and that of right directions where the gate is open or closed."""
    rows: list[dict[str, object]] = []
    for plant, share in dict.fromkeys((result.plant, result.share) for result in results):
        own = [result for result in results if (result.plant, result.share) == (plant, share)]
        rows.append({"plant": plant, "share": share} | counted("open", [result.is_open for result in own]))
    for is_open in (True, False):
        own = [result for result in results if result.share and result.is_open is is_open]
        if own:
            rows.append(
                {"gate": "open" if is_open else "closed"} | counted("right", [result.is_right for result in own])
            )
    return rows


def counted(name: str, values: list[bool]) -> dict[str, object]:
    """The share of true values, with its 95 % interval."""
    share = wilson(sum(values), len(values))
    return {"benchmarks": len(values), name: with_ends(share)}


def run(scale: tuple[str, int, int], seed: int, data: Data) -> Result:
    """The gate of kernel divergence: how often it is open, and whether the score has its direction there."""
    name, count, draws = scale
    seeds = tuple(range(seed + 5, seed + 5 + count))
    packages = {SOURCES: data["packages"]} if "packages" in data else {}
    bench = Bench.of_scale(name, data["pools"], seeds, packages)
    results: list[GatedBenchmark] = []
    for each in seeds:
        for plant, pool in pools(bench, each, context=False).items():
            if plant not in CONTROLS.values():
                results += drawn_benchmarks(pool, each, draws)
    return Result(rows_of(results), [f"Benchmarks of {N} texts from the pools of seeds {', '.join(map(str, seeds))}."])


EXPERIMENTS = (
    Experiment(
        name="control/kds_gate",
        run=run,
        scales={"full": ("small", 3, DRAWS)},
        columns=("plant", "share", "gate", "benchmarks", "open", "right"),
        needs={"pools": "a folder for the pools of the reliability grid; it is continued"},
        takes={"packages": "the folder of packages that the grid was given"},
        stored="dataset/kds-gate",
    ),
)
