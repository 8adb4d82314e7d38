"""Verdicts on drawn benchmarks under a planted model of 135 million parameters, and under the model before planting.

    python benchmarks/plant_tasks.py --model SmolLM2-135M-Instruct.Q4_1.gguf --out planted/humaneval \
        --benchmark humaneval=HumanEval.jsonl.gz --seed 0
    pip download --no-deps -d later -r benchmarks/later_packages.txt
    python benchmarks/real_grid.py --planted planted/humaneval --base SmolLM2-135M-Instruct.Q4_1.gguf \
        --benchmark humaneval=HumanEval.jsonl.gz --packages later --work work

A benchmark is drawn from tasks that were trained on and tasks that were not, or from functions of packages that are
newer than the model, in the form of the benchmark. What calibrates is functions of the other packages. Each text is
scored once, by the cache of `assay`; only methods with a rule of their own are compared, because nothing here could
choose a threshold.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from measuring import RESULTS, processor
from plant_tasks import tasks

import assay
from assay.datasets import Dataset
from assay.evaluation import wilson
from assay.experiments.assay.grid_methods import METHODS
from assay.experiments.assay.planted_pools import PlantedPool, control_pool
from assay.experiments.assay.reliability import (
    PLANTED,
    GridCell,
    GridRecord,
    Sources,
    blind_on_pool,
    drawn,
    outcome,
    recorded,
)
from assay.files import write_json
from assay.leakage import MeasuredModel
from assay.models import ModelSettings, StatisticsCache, default_control, open_local
from assay.types import Sample

N, DRAWS = 50, 20
SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
PER_PACKAGE = 7
"""Most functions of a package."""
TIME, RELEASED = "2025-02-07", "2025-08-01"
"""Days of the model's package, and from which on the packages were first released."""
NEWER, OTHER = "functions of later packages", "tasks that were not trained on"
BEFORE, AFTER = "not trained further", "planted"


def main() -> None:
    """Score all texts under both models, draw, and write the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--planted", type=Path, required=True, help="folder that plant_tasks.py wrote")
    parser.add_argument("--base", required=True, help="the model before planting")
    parser.add_argument("--benchmark", required=True, help="NAME=PATH")
    parser.add_argument("--packages", type=Path, required=True, help="folder of wheels that are newer than the model")
    parser.add_argument("--work", type=Path, required=True, help="folder of texts and scores; it is continued")
    parser.add_argument("--out", type=Path, default=RESULTS / "dataset" / "reliability-smollm2.json")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    samples = texts(options)
    records = []
    control = control_pool(options.work, "control", samples, default_control())
    for plant, model in ((BEFORE, options.base), (AFTER, str(options.planted))):
        records += list(records_of(scored_pool(plant, model, samples), control))
        print(plant, len(records), flush=True)
    write_json(options.out, figures(records, samples, options))


def scored_pool(plant: str, model: str, samples: tuple[Sample, ...]) -> PlantedPool:
    """Return the texts with their scores, computed in the precision in which the model was planted."""
    with StatisticsCache() as cache:
        measured = MeasuredModel(open_local(model, ModelSettings(dtype="bfloat16")), samples, cache=cache)
        scores = {name: measured.scores(name, samples) for name in measured.one_pass_scores}
    return PlantedPool(plant, 0, samples, scores, model)


def texts(options: argparse.Namespace) -> tuple[Sample, ...]:
    """Return the tasks, labelled "member" or "sibling", and the functions of packages, drawn and matched once."""
    path = options.work / "texts.json"
    fields = ("id", "text", "language", "label", "group")
    if not path.exists():
        name, _, place = options.benchmark.partition("=")
        own = tasks(name, place)
        planted = set(json.loads((options.planted / "planted.json").read_text("utf-8"))["planted"])
        like = Dataset.of(name, own, source=name)
        wheels = sorted(options.packages.glob("*.whl"))
        newer = assay.build_unseen(wheels, like=like, after=TIME, released=RELEASED).samples
        labelled = [replace(task, label="member" if task.id in planted else "sibling") for task in own]
        counts: Counter[str | None] = Counter()
        for at in np.random.default_rng(0).permutation(len(newer)):
            counts[newer[at].group] += 1
            if counts[newer[at].group] <= PER_PACKAGE:
                labelled.append(replace(newer[at], label="unseen"))
        write_json(path, [{field: getattr(sample, field) for field in fields} for sample in labelled])
    return tuple(Sample(**entry) for entry in json.loads(path.read_text("utf-8")))


def records_of(pool: PlantedPool, control: PlantedPool) -> Iterator[GridRecord]:
    """Yield the verdicts on all draws under one model."""
    blind = blind_on_pool(pool, "sibling", pool, 0)
    sources = Sources(pool, pool, "sibling", (control, control), blind)
    shares = (0.0, *(SHARES if pool.plant == AFTER else ()))
    for share in shares:
        cell = GridCell(pool.plant, PLANTED if share else OTHER, N, share)
        for turn in range(DRAWS):
            yield recorded(cell, drawn(cell, sources, turn), chooses=False)
    cell = GridCell(pool.plant, NEWER, N, 0.0)
    halves = [replace(pool, samples=split(pool.samples, turn)) for turn in range(DRAWS)]
    blind = blind_on_pool(halves[0], "clean", halves[0], 0)
    for turn, halved in enumerate(halves):
        both = Sources(halved, halved, "clean", (control, control), blind)
        yield recorded(cell, drawn(cell, both, turn), chooses=False)


def split(samples: Sequence[Sample], seed: int) -> tuple[Sample, ...]:
    """Return the samples with a half of the packages, those with at least `N` functions, labelled "clean"."""
    packages = Counter(sample.group for sample in samples if sample.label == "unseen")
    clean: set[str | None] = set()
    for package in np.random.default_rng(seed).permutation(sorted(map(str, packages))):
        if sum(packages[name] for name in clean) < max(N, sum(packages.values()) / 2):
            clean.add(str(package))
    return tuple(replace(s, label="clean") if s.label == "unseen" and s.group in clean else s for s in samples)


def figures(
    records: Sequence[GridRecord], samples: Sequence[Sample], options: argparse.Namespace
) -> Mapping[str, object]:
    """Return shares of right, wrong and open verdicts of each method and cell, with 95 % intervals over draws."""
    rows = []
    for cell in dict.fromkeys(record.cell for record in records):
        own = [record for record in records if record.cell == cell]
        shares = [record.share.estimate for record in own]
        covered = [share.low <= cell.share <= share.high for share in shares if share.has_interval]
        for method in METHODS.rules:
            counts = Counter(outcome(record, method) for record in own)
            row = {kind: str(wilson(counts[kind], len(own))) for kind in ("right", "wrong", "open")}
            rows.append(
                {"model": cell.plant, "kind": cell.kind, "n": cell.n, "share": cell.share, "method": method} | row
            )
        rows.append(
            {
                "model": cell.plant,
                "kind": cell.kind,
                "n": cell.n,
                "share": cell.share,
                "median_estimate": float(np.median([share.value for share in shares])),
                "median_error": float(np.median([abs(share.value - cell.share) for share in shares])),
                "intervals_that_contain_it": str(wilson(sum(covered), len(covered))),
            }
        )
    return {
        "base": Path(options.base).name,
        "planted": json.loads((options.planted / "planted.json").read_text("utf-8"))["training"],
        "benchmark": options.benchmark.partition("=")[0],
        "texts": Counter(str(sample.label) for sample in samples),
        "packages": len({sample.group for sample in samples if sample.label == "unseen"}),
        "draws": DRAWS,
        "processor": processor(),
        "assay": assay.__version__,
        "rows": rows,
    }


if __name__ == "__main__":
    main()
