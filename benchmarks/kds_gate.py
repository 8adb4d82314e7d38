"""How often the gate of kernel divergence is open, by how the model was trained.

    python benchmarks/kds_gate.py --pools DIR [--packages DIR] [--seeds 5,6]

The gate should be open where members were trained with a decaying rate (the score has its direction there), and closed
where training stopped at a constant rate (it has none). Benchmarks of 50 texts are drawn from the pools of the
reliability grid; nothing is fine-tuned. DIR is the folder of `assay testbed run reliability -o DIR`;
pools that it lacks are made. The file of results is written after each seed.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from measuring import RESULTS, processor, shortened

from assay.evaluation import wilson
from assay.experiments.assay.planted_pools import BASE, CONTROLS, PlantedPool, pools
from assay.experiments.assay.pool_settings import SOURCES
from assay.experiments.bench import Bench
from assay.files import write_json
from assay.leakage import GradientGate, MeasuredModel
from assay.models import open_local

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
    opened: defaultdict[tuple[str, float], list[bool]] = defaultdict(list)
    for seed in seeds:
        for plant, pool in pools(bench, seed, context=False).items():
            if plant not in CONTROLS.values():
                for share, is_open in gates(pool, seed, options.draws):
                    opened[plant, share].append(is_open)
        rows = [
            {"plant": plant, "share": share, "benchmarks": len(gate), **shares_of(gate)}
            for (plant, share), gate in opened.items()
        ]
        write_json(options.out, {"n": N, "seeds": seeds, "processor": processor(), "rows": shortened(rows)})
        print(seed, *rows, sep="\n", flush=True)


def shares_of(gate: list[bool]) -> dict[str, object]:
    """The share of benchmarks whose gate is open, with its 95 % interval."""
    rate = wilson(sum(gate), len(gate))
    return {"open": rate.value, "low": rate.low, "high": rate.high}


def gates(pool: PlantedPool, seed: int, draws: int) -> list[tuple[float, bool]]:
    """Return the share and the gate of each drawn benchmark."""
    members, others, unseen = (pool.places(role) for role in ("member", "clean", "unseen"))
    model = MeasuredModel(open_local(pool.model), [pool.samples[at] for at in members], ())
    norm_of_unseen = model.mean_gradient([pool.samples[at] for at in unseen])
    results = []
    for share in SHARES[:1] if pool.plant == BASE else SHARES:
        for turn in range(draws):
            random = np.random.default_rng([seed, turn, round(100 * share)])
            seen = round(share * N)
            drawn = [*random.permutation(members)[:seen], *random.permutation(others)[: N - seen]]
            own = model.mean_gradient([pool.samples[at] for at in drawn])
            results.append((share, GradientGate(own, norm_of_unseen).is_open))
    return results


if __name__ == "__main__":
    main()
