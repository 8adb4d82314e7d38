"""The gate of kernel divergence: how often it is open, and whether the score has its direction there.

Benchmarks of 50 texts are drawn from the pools of the reliability grid, four of each share. The score of a benchmark
has its direction if it is above the median of the clean benchmarks of the same model: by chance in half of the cases.
`pools` is the folder of runs of `assay/reliability`; pools that it lacks are made.
"""

from collections import defaultdict
from dataclasses import dataclass
from operator import itemgetter

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
    members, others = pool.places("member"), pool.places("clean")
    scorer, calibrating = open_local(pool.model), pool.of_role("unseen")
    norm_of_unseen = MeasuredModel(scorer, calibrating[:2], calibrating).mean_gradient(calibrating)
    rate = None
    (request,) = dataset_requests("kds")
    values: dict[float, list[tuple[bool, float]]] = {}
    for share in SHARES[:1] if pool.plant == BASE else SHARES:
        values[share] = []
        for turn in range(draws):
            random = np.random.default_rng([seed, turn, round(100 * share)])
            seen = round(share * N)
            places = [*random.permutation(members)[:seen], *random.permutation(others)[: N - seen]]
            samples = list(map(pool.samples.__getitem__, places))
            model = MeasuredModel(scorer, samples, calibrating, tuning=TuningOptions(rate=rate))
            value = request(DatasetInputs(samples, calibrating, model, seed=seed)).value
            # found once for all benchmarks of the pool
            rate = model.rate_used
            values[share].append((GradientGate(model.mean_gradient(samples), norm_of_unseen).is_open, value))
    clean = float(np.median(list(map(itemgetter(1), values[0.0]))))
    benchmarks = []
    for share, of_share in values.items():
        for is_open, value in of_share:
            benchmark = GatedBenchmark(plant=pool.plant, share=share, is_open=is_open, is_right=value > clean)
            benchmarks.append(benchmark)
    return benchmarks


def rows_of(results: list[GatedBenchmark]) -> list[dict[str, object]]:
    """The share of open gates by plant and share, and that of right directions where the gate is open or closed."""
    gates: defaultdict[tuple[str, float], list[bool]] = defaultdict(list)
    directions: dict[bool, list[bool]] = {True: [], False: []}
    for result in results:
        gates[result.plant, result.share].append(result.is_open)
        if result.share:
            directions[result.is_open].append(result.is_right)
    rows: list[dict[str, object]] = []
    for (plant, share), is_open in gates.items():
        rows.append({"plant": plant, "share": share} | counted("open", is_open))
    for name, is_right in (("open", directions[True]), ("closed", directions[False])):
        if is_right:
            rows.append({"gate": name} | counted("right", is_right))
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
    bench = Bench.of_scale(name, data["pools"], seeds, data=packages)
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
        scales={"full": ("full", 3, DRAWS)},
        columns=("plant", "share", "gate", "benchmarks", "open", "right"),
        needs={"pools": "a folder for the pools of the reliability grid; it is continued"},
        takes={"packages": "the folder of packages that the grid was given"},
        stored="dataset/kds-gate",
    ),
)
