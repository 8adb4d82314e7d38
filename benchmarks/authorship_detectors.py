"""Zero-shot detectors of generated code on a fixed small sample of real data, under several surrogates.

python benchmarks/authorship_detectors.py --data DIR --model MODEL … [--tasks N] [--one-pass]
    [--out FILE]

`--data` holds the public data sets that `authorship_collections.py` names; without them nothing is measured. The sample
is the first N tasks of each collection that has tasks, by name, with people's solution and one generated solution each:
the generator of task i is the i-th in turn. One-pass scores run under every model; scores of perturbed copies under
built-in models only, whose copies they fill themselves, and not with `--one-pass`. Models that the output file has
already, and that are not named again, stay in it.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from authorship_collections import NEEDED, collections

from assay.authorship import CausalFiller, CopyStatistics, SpanPerturbation, StylePerturbation
from assay.evaluation import rank_score
from assay.files import write_json
from assay.models import StatisticsCache, cached_scorer, open_model
from assay.scores import DerivationKind, requests
from assay.scoring import Deriver, plan, score_samples
from assay.types import Sample, TokenScorer

METRICS = "loss,rank,log_rank,entropy,lrr,fast_detect_gpt"
PERTURBED = "detect_code_gpt:n=8,detect_gpt:n=4,npr:n=4"
BUILT_IN = "builtin:"
CHOSEN = ("mbpp", "humaneval")
OUT = Path(__file__).parent / "results" / "authorship" / "detectors.json"


def fixed_sample(data: Path, tasks: int) -> dict[str, list[Sample]]:
    """Return collection → people's and generated solutions of the first tasks, in pairs."""
    labelled = collections(data)
    chosen: dict[str, list[Sample]] = {}
    for name in CHOSEN:
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


def measured(name: str, samples: dict[str, list[Sample]], *, one_pass: bool = False) -> dict[str, object]:
    """Return the AUROC of every score under one model, by collection."""
    model = open_model(name)
    if not isinstance(model, TokenScorer):
        raise SystemExit(f"{name} gives no ranks and entropies")
    derivers: dict[DerivationKind, Deriver] = {}
    asked = METRICS
    if name.startswith(BUILT_IN) and not one_pass:
        asked = f"{METRICS},{PERTURBED}"
        derivers["style"] = CopyStatistics(StylePerturbation(), model)
        derivers["spans"] = CopyStatistics(SpanPerturbation(CausalFiller(model)), model)
    started = time.process_time()
    scorer = cached_scorer(model, StatisticsCache())
    results: dict[str, dict[str, object]] = {}
    for collection, rows in samples.items():
        table = score_samples(rows, plan(requests(asked), {"target": scorer}, derivers=derivers))
        positive = np.array([sample.label != "human" for sample in rows])
        groups = np.array([str(sample.group) for sample in rows])
        for score, values in table.values.items():
            kept = ~np.isnan(values)
            area = rank_score(score, values[kept], positive[kept], groups[kept].tolist()).auroc
            row = {"auroc": area.value, "low": area.low, "high": area.high, "n": int(kept.sum())}
            results.setdefault(score, {})[collection] = row
            print(name, score, collection, json.dumps(row), flush=True)
        failures: dict[str, object] = {
            f"{score}: {words}": count for (score, words), count in table.counts.items() if count
        }
        results[f"failures, {collection}"] = failures
    return {**results, "processor seconds": time.process_time() - started}


def main() -> int:
    """Measure, print, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--tasks", type=int, default=30)
    parser.add_argument("--one-pass", action="store_true", help="only scores of one pass")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    missing = [name for name in NEEDED if options.data is None or not (options.data / name).is_dir()]
    if missing:
        print(f"skipped: --data has no {', '.join(missing)}")
        return 0
    samples = fixed_sample(options.data, options.tasks)
    tasks = {name: len(rows) // 2 for name, rows in samples.items()}
    figures: dict[str, object] = json.loads(options.out.read_text()) if options.out.exists() else {"tasks": tasks}
    if figures["tasks"] != tasks:
        parser.error(f"{options.out} was made with the tasks {figures['tasks']}, received {tasks}")
    for name in options.model or ["builtin:small"]:
        shown = Path(name).name if name.endswith(".gguf") else name
        figures[shown] = measured(name, samples, one_pass=options.one_pass)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_json(options.out, figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
