"""The product on labelled collections: classifiers on collections left out, generators named, zero-shot detectors.

`authorship/quality`: each collection is left out in turn. HumanEval and MBPP have solutions of the same three
generators from one source; they are left out one by one, and in a second run together. `dated` are folders with code
that people wrote before 2020, one per origin: half of each calibrates (at most 200 files), the other half counts false
positives.

`authorship/naming`: HumanEval and MBPP of `llm-generations-ldb` have solutions by people and by the same three
generators. The model of `assay lab authorship train --generators` is fitted on one collection and names the texts of
the other. Four classes, people among them, with one text of each a task: chance is 25 %. Beside it: the share on
held-out tasks of the same collection.

`authorship/detectors`: the first tasks of each collection that has tasks, by name, with people's solution and one
generated solution each: the generator of task i is the i-th in turn. One-pass scores run under every model; scores of
perturbed copies under built-in models only, whose copies they fill themselves.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from assay.authorship import CausalFiller, CopyStatistics, SpanPerturbation, StylePerturbation
from assay.authorship.open_set import UNKNOWN, Attribution
from assay.errors import DataError
from assay.evaluation import grouped_share, rank_score
from assay.models import StatisticsCache, cached_scorer, open_model
from assay.provenance import source_texts
from assay.scores import DerivationKind, requests
from assay.scoring import Deriver, plan, score_samples
from assay.types import Sample, TokenScorer
from assay_lab.authorship.collections import COLLECTIONS, collections, solutions
from assay_lab.classifiers.describing import part_data
from assay_lab.classifiers.evaluating import leave_out, measure_part
from assay_lab.classifiers.fitting import fit_classifier, subsample
from assay_lab.classifiers.generators import fit_generators
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.classifiers.settings import FitSettings
from assay_lab.classifiers.shortcuts import audit_shortcuts
from assay_lab.experiments.declaration import Data, Experiment, Result
from assay_lab.measuring import with_ends

MOST = 500
"""Files of one origin and language."""
METRICS = "loss,rank,log_rank,entropy,lrr,fast_detect_gpt"
PERTURBED = "detect_code_gpt:n=8,detect_gpt:n=4,npr:n=4"
WITH_TASKS = ("humaneval", "mbpp")


def run_quality(per_class: int, seed: int, data: Data) -> Result:
    """Quality of the classifier on collections that were left out, and error rates on dated human code."""
    labelled = collections(data)
    together = replace(labelled, collections=tuple(map(_source, labelled.collections)))
    settings = FitSettings(per_class=per_class)
    rows: list[dict[str, Any]] = []
    for title, texts in (("left out by collection", labelled), ("HumanEval and MBPP together", together)):
        transfer = leave_out(texts, settings)
        means = {"mean_auroc": transfer.mean_auroc, "mean_calibrated_auroc": transfer.mean_calibrated_auroc}
        rows.append({"name": title, "texts": len(texts), **means})
        rows += ({"part": title, **part_data(part)} for part in transfer.parts)
    if "dated" in data:
        folders = sorted(path for path in data["dated"].iterdir() if path.is_dir())
        rows += ({"part": "dated", **row} for row in dated(labelled, folders, settings))
    audit = audit_shortcuts(labelled, per_class=per_class)
    rows += ({"part": "shortcuts", "name": name, "auroc": step.auroc.value} for name, step in audit.steps.items())
    return Result(rows)


def dated(labelled: LabelledCode, folders: list[Path], settings: FitSettings) -> list[dict[str, Any]]:
    """Return the rates on human code of each origin, by a classifier that was fitted on all collections."""
    classifier = fit_classifier(labelled, settings)
    rows = []
    for folder in folders:
        samples = [Sample(text.path, text.text, text.language, "human") for text in source_texts([str(folder)])]
        people = LabelledCode.of(samples, partial(_name, folder.name))
        for language in sorted({str(sample.language) for sample in people.samples}):
            chosen = np.array([row for row, sample in enumerate(people.samples) if str(sample.language) == language])
            part = people.take(chosen[subsample(people.take(chosen), MOST)])
            prediction = classifier.predict(part.codes)
            result = part_data(measure_part(f"{folder.name} {language}", part, prediction))
            result["above one half without calibration"] = float((prediction.margins > 0).mean())
            rows.append(result)
    return rows


def _source(collection: str) -> str:
    return "humaneval and mbpp" if collection in {"humaneval", "mbpp"} else collection


def _name(collection: str, _: Sample) -> str:
    return collection


def run_naming(scale: None, seed: int, data: Data) -> Result:
    """How well a generator is named on a collection that the model of the generators was not fitted on."""
    place = data["llm-generations-ldb"]
    texts = {name: LabelledCode.of(solutions(place / name, name), lambda _: "one") for name in WITH_TASKS}
    rows = []
    for fitted, tested in permutations(WITH_TASKS):
        model = fit_generators(texts[fitted])
        row = {
            "name": f"fitted on {fitted}, tested on {tested}",
            "held-out tasks of the same collection": model.accuracy,
        }
        rows.append(row | named(texts[tested], model.attribute(texts[tested].codes)))
    return Result(rows)


def named(labelled: LabelledCode, attribution: Attribution) -> dict[str, Any]:
    """Return the shares of right and of unknown answers, with intervals over tasks, and the answers by origin."""
    truth = np.array(labelled.generators, object)
    best = np.array(attribution.classes, object)[attribution.probabilities.argmax(1)]
    unknown = np.array(attribution.answers, object) == UNKNOWN
    groups = np.array(labelled.groups, object)
    share = grouped_share((best == truth).tolist(), groups.tolist())
    generated = truth != "human"
    among = grouped_share((best == truth)[generated].tolist(), groups[generated].tolist())
    return {
        "texts": len(truth),
        "right": with_ends(share),
        "right, generated texts": with_ends(among),
        "unknown generator": float(unknown.mean()),
        "right among answers": float((best == truth)[~unknown].mean()),
        "by origin": {
            name: {answer: float((best[truth == name] == answer).mean()) for answer in attribution.classes}
            for name in attribution.classes
        },
    }


def run_detectors(scale: tuple[int, tuple[str, ...]], seed: int, data: Data) -> Result:
    """Zero-shot detectors of generated code on a fixed small sample of real data, under several surrogates."""
    tasks, names = scale
    samples = fixed_sample(data, tasks)
    models = [*names, *(str(data[name]) for name in ("model",) if name in data)]
    return Result([row for name in models for row in under(name, samples)])


def fixed_sample(data: Data, tasks: int) -> dict[str, list[Sample]]:
    """Return collection → people's and generated solutions of the first tasks, in pairs."""
    labelled = collections(data)
    chosen: dict[str, list[Sample]] = {}
    for name in WITH_TASKS:
        own = [s for s, c in zip(labelled.samples, labelled.collections, strict=True) if c == name]
        by_task: dict[str, dict[str, Sample]] = {}
        for sample in own:
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
    derivers: dict[DerivationKind, Deriver] = {}
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
        groups = np.array([str(sample.group) for sample in texts])
        about = {"model": Path(name).name, "collection": collection}
        for score, values in table.values.items():
            kept = ~np.isnan(values)
            area = rank_score(score, values[kept], positive[kept], groups[kept].tolist()).auroc
            rows.append({**about, "score": score, "auroc": with_ends(area), "n": int(kept.sum())})
        failures = {f"{score}: {words}": count for (score, words), count in table.counts.items() if count}
        rows.append({**about, "failures": failures, "processor seconds": time.process_time() - started})
    return rows


EXPERIMENTS = (
    Experiment(
        name="authorship/quality",
        run=run_quality,
        scales={"smoke": 8, "full": 300},
        columns=("name", "mean_auroc", "mean_calibrated_auroc", "part", "auroc"),
        needs=COLLECTIONS,
        takes={"dated": "a folder with a folder of code before 2020 for each origin"},
        stored="authorship/quality",
    ),
    Experiment(
        name="authorship/naming",
        run=run_naming,
        scales={"smoke": None, "full": None},
        columns=(
            "name",
            "right",
            "unknown generator",
            "held-out tasks of the same collection",
        ),
        needs={"llm-generations-ldb": COLLECTIONS["llm-generations-ldb"]},
        stored="authorship/naming",
    ),
    Experiment(
        name="authorship/detectors",
        run=run_detectors,
        scales={"smoke": (1, ("builtin:small",)), "full": (20, ("builtin:small", "builtin:control"))},
        needs=COLLECTIONS,
        takes={"model": "a further model, under which one-pass scores are measured"},
        stored="authorship/detectors",
    ),
)
