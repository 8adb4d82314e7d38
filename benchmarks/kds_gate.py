"""The gate of kernel divergence: how often it is open, and whether the score has its direction there.

    python benchmarks/kds_gate.py --pools DIR [--packages DIR] [--seeds 5,6]

Benchmarks of 50 texts are drawn from the pools of the reliability grid, four of each share. The score of a benchmark
has its direction if it is above the median of the clean benchmarks of the same model: by chance in half of the cases.
DIR is the folder of `assay testbed run reliability -o DIR`; pools that it lacks are made. The file of results is
written after each model.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measuring import RESULTS, processor, shortened

from assay.evaluation import wilson
from assay.experiments.assay.planted_pools import BASE, CONTROLS, PlantedPool, pools
from assay.experiments.assay.pool_settings import SOURCES
from assay.experiments.bench import Bench
from assay.files import write_json
from assay.leakage import GradientGate, MeasuredModel, TuningOptions
from assay.models import open_local
from assay.scores import DatasetInputs, dataset_requests

N, DRAWS, SHARES = 50, 4, (0.0, 0.2, 0.5, 1.0)


def main() -> None:
    """Measure each seed and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pools", type=Path, required=True, help="folder of a reliability grid; it is continued")
    parser.add_argument("--packages", type=Path, help="folder of packages that the grid was given")
    parser.add_argument("--seeds", default="5,6", help="of the pools")
    parser.add_argument("--scale", default="small", help="of the grid")
    parser.add_argument("--draws", type=int, default=DRAWS, help="benchmarks of each share")
    parser.add_argument("--out", type=Path, default=RESULTS / "dataset" / "kds-gate.json")
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    data = {SOURCES: options.packages} if options.packages else {}
    bench = Bench.of_scale(options.scale, options.pools, tuple(seeds), data)
    results: list[GatedBenchmark] = []
    for seed in seeds:
        for plant, pool in pools(bench, seed, context=False).items():
            if plant not in CONTROLS.values():
                results += drawn_benchmarks(pool, seed, options.draws)
                content = {"n": N, "seeds": seeds, "processor": processor(), "rows": rows_of(results)}
                write_json(options.out, shortened(content))
                print(seed, plant, *rows_of(results)[-2:], sep="\n", flush=True)


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
    return {"benchmarks": len(values), name: share.value, "low": share.low, "high": share.high}


if __name__ == "__main__":
    main()
