"""Zero-shot detectors of generated code on a fixed small sample of real data.

The first tasks of each collection that has tasks, by name, with people's solution and one generated solution each: the
generator of task i is the i-th in turn. One-pass scores run under every model; scores of perturbed copies under
built-in models only, whose copies they fill themselves.
"""

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from assay.errors import DataError
from assay.evaluation import rank_score
from assay.models import StatisticsCache, cached_scorer, open_model
from assay.scores import Deriver, requests
from assay.scoring import plan, score_samples
from assay.types import Sample, TokenScorer
from assay_lab.authorship.collections import COLLECTIONS, collections
from assay_lab.columns import group_column
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends
from assay_lab.methods.perturbing import CausalFiller, CopyStatistics, SpanPerturbation, StylePerturbation

METRICS = "loss,rank,log_rank,entropy,lrr,fast_detect_gpt"
PERTURBED = "detect_code_gpt:n=8,detect_gpt:n=4,npr:n=4"
WITH_TASKS = ("humaneval", "mbpp")


def run_detectors(scale: tuple[int, tuple[str, ...]], seed: int, data: Data) -> Result:
    """Zero-shot detectors of generated code on a fixed small sample of real data, under several surrogates."""
    tasks, names = scale
    samples = fixed_sample(data, tasks)
    models = [*names, str(data["model"])] if "model" in data else names
    rows: list[dict[str, object]] = []
    for name in models:
        rows += under(name, samples)
    return Result(rows)


def fixed_sample(data: Data, tasks: int) -> dict[str, list[Sample]]:
    """Return collection → people's and generated solutions of the first tasks, in pairs."""
    labelled = collections(data)
    chosen: dict[str, list[Sample]] = {}
    for name in WITH_TASKS:
        by_task: dict[str, dict[str, Sample]] = {}
        for sample, collection in zip(labelled.samples, labelled.collections, strict=True):
            if collection == name:
                by_task.setdefault(str(sample.group), {})[str(sample.label)] = sample
        whole = [by_task[task] for task in sorted(by_task) if len(by_task[task]) > 1 and "human" in by_task[task]]
        rows: list[Sample] = []
        for at, task in enumerate(whole[:tasks]):
            generators = sorted(set(task) - {"human"})
            rows += [task["human"], task[generators[at % len(generators)]]]
        chosen[name] = rows
    return chosen


def under(name: str, samples: Mapping[str, list[Sample]]) -> list[dict[str, object]]:
    """Return the AUROC of every score under one model, by collection."""
    model = open_model(name)
    if not isinstance(model, TokenScorer):
        raise DataError(f"received the model {name}, expected one with ranks and entropies")
    derivers: dict[str, Deriver] = {}
    asked = METRICS
    if name.startswith("builtin:"):
        asked = f"{METRICS},{PERTURBED}"
        derivers["style"] = CopyStatistics(StylePerturbation(), model)
        derivers["spans"] = CopyStatistics(SpanPerturbation(CausalFiller(model)), model)
    started = time.process_time()
    scorer = cached_scorer(model, StatisticsCache())
    rows: list[dict[str, object]] = []
    for collection, texts in samples.items():
        table = score_samples(texts, plan(requests(asked), {"target": scorer}, derivers=derivers))
        positive = np.array([sample.label != "human" for sample in texts])
        groups = np.array(list(map(str, group_column(texts))))
        about = {"model": Path(name).name, "collection": collection}
        for score, values in table.values.items():
            kept = ~np.isnan(values)
            ranking = rank_score(score, values[kept], positive=positive[kept], groups=groups[kept].tolist())
            area = ranking.auroc
            rows.append({**about, "score": score, "auroc": with_ends(area), "n": int(kept.sum())})
        failures = {f"{score}: {words}": count for (score, words), count in table.counts.items() if count}
        rows.append({**about, "failures": failures, "processor seconds": time.process_time() - started})
    return rows


EXPERIMENTS = (
    Experiment(
        name="authorship/detectors",
        run=run_detectors,
        scales={"smoke": (1, ("builtin:small",)), "full": (20, ("builtin:small", "builtin:control"))},
        needs=COLLECTIONS,
        takes={"model": "a further model, under which one-pass scores are measured"},
        stored="authorship/detectors",
    ),
)
