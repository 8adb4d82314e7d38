"""Verdicts on drawn benchmarks under a planted model of 135 million parameters, and under the model before planting.

A benchmark is drawn from tasks that were trained on and tasks that were not, or from functions of packages that are
newer than the model, in the form of the benchmark. What calibrates is functions of the other packages. Each text is
scored once, by the cache of `assay`; only methods with a rule of their own are compared, because nothing here could
choose a threshold.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

import assay
from assay.datasets import Dataset
from assay.files import write_json
from assay.leakage import MeasuredModel
from assay.models import ModelSettings, StatisticsCache, default_control, open_local
from assay.types import Sample
from assay_lab.control.plant_tasks import PLANTED as PLANTED_FOLDER
from assay_lab.control.plant_tasks import tasks
from assay_lab.control.real_model import SMOLLM2
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import SHARED_DATA, WORK, Data, Experiment, Result
from assay_lab.reliability.grid_methods import METHODS
from assay_lab.reliability.planted_pools import PlantedPool, control_pool
from assay_lab.reliability.reliability import (
    PLANTED,
    GridCell,
    GridRecord,
    Sources,
    blind_on_pool,
    drawn,
    outcome,
    recorded,
)

N, DRAWS = 50, 20
SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
PER_PACKAGE = 7
"""Most functions of a package."""
TIME, RELEASED = "2025-02-07", "2025-08-01"
"""Days of the model's package, and from which on the packages were first released."""
NEWER, OTHER = "functions of later packages", "tasks that were not trained on"
BEFORE, AFTER = "not trained further", "planted"


def scored_pool(plant: str, model: str, samples: tuple[Sample, ...]) -> PlantedPool:
    """Return the texts with their scores, computed in the precision in which the model was planted."""
    with StatisticsCache() as cache:
        measured = MeasuredModel(open_local(model, ModelSettings(dtype="bfloat16")), samples, cache=cache)
        scores = {name: measured.scores(name, samples) for name in measured.one_pass_scores}
    return PlantedPool(plant, 0, samples, scores, model)


def texts(data: Data) -> tuple[Sample, ...]:
    """Return the tasks, labelled "member" or "sibling", and the functions of packages, drawn and matched once."""
    path = data[WORK] / "texts.json"
    fields = ("id", "text", "language", "label", "group")
    if not path.exists():
        own = tasks("humaneval", data["humaneval"])
        planted = set(json.loads((data["planted"] / "planted.json").read_text("utf-8"))["planted"])
        like = Dataset.of("humaneval", own, source="humaneval")
        wheels = sorted(data["packages"].glob("*.whl"))
        newer = assay.build_unseen(wheels, like=like, after=TIME, released=RELEASED, most=None).samples
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
    sources = Sources(pool, pool, "sibling", (control, control))
    sources = replace(sources, blind=blind_on_pool(sources, 0))
    shares = (0.0, *(SHARES if pool.plant == AFTER else ()))
    for share in shares:
        cell = GridCell(pool.plant, PLANTED if share else OTHER, N, share)
        for turn in range(DRAWS):
            yield recorded(cell, drawn(cell, sources, turn), chooses=False)
    cell = GridCell(pool.plant, NEWER, N, 0.0)
    halves = [replace(pool, samples=split(pool.samples, turn)) for turn in range(DRAWS)]
    first = Sources(halves[0], halves[0], "clean", (control, control))
    blind = blind_on_pool(first, 0)
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


def figures(records: Sequence[GridRecord]) -> list[dict[str, object]]:
    """Return shares of right, wrong and open verdicts of each method and cell, with 95 % intervals over draws."""
    rows: list[dict[str, object]] = []
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
    return rows


def run(scale: None, seed: int, data: Data) -> Result:
    """Verdicts on drawn benchmarks under a planted model of 135 million parameters, and before planting."""
    data[WORK].mkdir(parents=True, exist_ok=True)
    samples = texts(data)
    control = control_pool(data[WORK], "control", samples, default_control())
    records: list[GridRecord] = []
    for plant, model in ((BEFORE, data["smollm2"]), (AFTER, data["planted"])):
        records += records_of(scored_pool(plant, str(model), samples), control)
    counts = ", ".join(f"{count} {label}" for label, count in Counter(str(s.label) for s in samples).items())
    packages = len({sample.group for sample in samples if sample.label == "unseen"})
    return Result(figures(records), [f"Texts: {counts}, of {packages} packages; {DRAWS} draws a cell."])


EXPERIMENTS = (
    Experiment(
        name="control/real_grid",
        run=run,
        scales={"full": None},
        columns=("model", "kind", "n", "share", "method", "right", "wrong", "open", "median_estimate"),
        needs={
            **SMOLLM2,
            "planted": f"{PLANTED_FOLDER}-humaneval",
            "humaneval": SHARED_DATA["humaneval"],
            "packages": "a folder of the wheels that lab/lists/later_packages.txt names",
        },
        stored="dataset/reliability-smollm2",
    ),
)
