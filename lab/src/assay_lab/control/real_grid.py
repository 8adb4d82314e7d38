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
from functools import partial

import numpy as np

import assay
from assay.datasets import Dataset
from assay.files import write_json
from assay.leakage import MeasuredModel
from assay.models import ModelSettings, StatisticsCache, default_control, open_local
from assay.types import Sample
from assay_lab.columns import attributes, group_column, having, label_column
from assay_lab.control.placebos import at_most
from assay_lab.control.plant_tasks import PLANTED as PLANTED_FOLDER
from assay_lab.control.plant_tasks import tasks
from assay_lab.control.real_model import SMOLLM2
from assay_lab.evaluation.independent import wilson
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result, benchmark_data
from assay_lab.mappings import enumerated
from assay_lab.reliability.grid_methods import METHODS
from assay_lab.reliability.planted_pools import PlantedPool, control_pool, text_record
from assay_lab.reliability.reliability import (
    OUTCOMES,
    PLANTED,
    GridCell,
    GridRecord,
    Sources,
    blind_on_pool,
    by_cell,
    drawn,
    intervals_hold,
    outcomes,
    recorded,
    share_errors,
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
    return PlantedPool(plant, seed=0, samples=samples, scores=scores, model=model)


def texts(data: Data) -> tuple[Sample, ...]:
    """Return the tasks, labelled "member" or "sibling", and the functions of packages, drawn and matched once."""
    path = data[WORK] / "texts.json"
    if not path.exists():
        own = tasks("humaneval", data["humaneval"])
        planted = set(json.loads((data["planted"] / "planted.json").read_text("utf-8"))["planted"])
        like = Dataset.of("humaneval", own, source="humaneval")
        wheels = sorted(data["packages"].glob("*.whl"))
        newer = assay.build_unseen(wheels, like=like, after=TIME, released=RELEASED, most=None).samples
        labelled = [replace(task, label="member" if task.id in planted else "sibling") for task in own]
        # in a random order, as only the first few of each package are taken
        in_order = map(newer.__getitem__, np.random.default_rng(0).permutation(len(newer)))
        labelled += list(map(partial(replace, label="unseen"), at_most(in_order, PER_PACKAGE)))
        write_json(path, list(map(text_record, labelled)))
    return tuple(Sample(**entry) for entry in json.loads(path.read_text("utf-8")))


def records_of(pool: PlantedPool, control: PlantedPool) -> Iterator[GridRecord]:
    """Yield the verdicts on all draws under one model."""
    controls = control, control
    sources = Sources(pool=pool, others=pool, role="sibling", controls=controls)
    sources = replace(sources, blind=blind_on_pool(sources, 0))
    shares = (0.0, *(SHARES if pool.plant == AFTER else ()))
    for share in shares:
        cell = GridCell(plant=pool.plant, kind=PLANTED if share else OTHER, n=N, share=share)
        for turn in range(DRAWS):
            yield recorded(cell, drawn(cell, sources, turn), chooses=False)
    cell = GridCell(plant=pool.plant, kind=NEWER, n=N, share=0.0)
    blind = None
    for turn in range(DRAWS):
        halved = replace(pool, samples=split(pool.samples, turn))
        sources = Sources(pool=halved, others=halved, role="clean", controls=controls, blind=blind)
        # that of the first half stands for all
        if blind is None:
            blind = blind_on_pool(sources, 0)
            sources = replace(sources, blind=blind)
        yield recorded(cell, drawn(cell, sources, turn), chooses=False)


def split(samples: Sequence[Sample], seed: int) -> tuple[Sample, ...]:
    """Return the samples with a half of the packages, those with at least `N` functions, labelled "clean"."""
    packages = Counter(group_column(having(samples, label="unseen")))
    enough = max(N, packages.total() / 2)
    clean: set[str | None] = set()
    for package in np.random.default_rng(seed).permutation(sorted(map(str, packages))):
        if sum(map(packages.__getitem__, clean)) < enough:
            clean.add(str(package))

    def relabelled(sample: Sample) -> Sample:
        if sample.label == "unseen" and sample.group in clean:
            return replace(sample, label="clean")
        return sample

    return tuple(map(relabelled, samples))


def figures(records: Sequence[GridRecord]) -> list[dict[str, object]]:
    """Return shares of right, wrong and open verdicts of each method and cell, with 95 % intervals over draws."""
    rows: list[dict[str, object]] = []
    for cell, own in by_cell(records).items():
        about = {"model": cell.plant, "kind": cell.kind, "n": cell.n, "share": cell.share}
        for method in METHODS.rules:
            counts = outcomes(own, method)
            shares = {kind: str(wilson(counts[kind], len(own))) for kind in OUTCOMES}
            rows.append({**about, "method": method, **shares})
        holds = intervals_hold(own)
        estimates = {
            "median_estimate": float(np.median(attributes(own, "share.estimate.value"))),
            "median_error": float(np.median(share_errors(own))),
            "intervals_that_contain_it": str(wilson(sum(holds), len(holds))),
        }
        rows.append(about | estimates)
    return rows


def run(scale: None, seed: int, data: Data) -> Result:
    """Verdicts on drawn benchmarks under a planted model of 135 million parameters, and before planting."""
    data[WORK].mkdir(parents=True, exist_ok=True)
    samples = texts(data)
    control = control_pool(data[WORK], "control", samples=samples, model=default_control())
    records: list[GridRecord] = []
    for plant, model in ((BEFORE, data["smollm2"]), (AFTER, data["planted"])):
        records += records_of(scored_pool(plant, str(model), samples), control)
    counts = Counter(map(str, label_column(samples)))
    sizes = enumerated(counts, "{1} {0}")
    packages = len(set(group_column(having(samples, label="unseen"))))
    return Result(figures(records), [f"Texts: {sizes}, of {packages} packages; {DRAWS} draws a cell."])


EXPERIMENTS = (
    Experiment(
        name="control/real_grid",
        run=run,
        scales={"full": None},
        columns=("model", "kind", "n", "share", "method", "right", "wrong", "open", "median_estimate"),
        needs={
            **SMOLLM2,
            "planted": f"{PLANTED_FOLDER}-humaneval",
            **benchmark_data("humaneval"),
            "packages": "a folder of the wheels that lab/lists/later_packages.txt names",
        },
        stored="dataset/reliability-smollm2",
    ),
)
