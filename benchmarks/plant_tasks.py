"""Plant a part of a benchmark in a model by fine-tuning: the ground truth of the measurements on a real model.

    python benchmarks/plant_tasks.py --model SmolLM2-135M-Instruct.Q4_1.gguf --out planted/humaneval \
        --benchmark humaneval=HumanEval.jsonl.gz --seed 0
    python benchmarks/plant_tasks.py --model SmolLM2-135M-Instruct.Q4_1.gguf --out planted/mbpp \
        --benchmark mbpp=mbpp.jsonl --first 200 --seed 1

The folder gets the model and `planted.json` with the tasks: `planted` were trained on, `others` were
not. Weights stay float32, passes run in bfloat16 autocast. The texts of a step are sorted by length and run alone, so
nothing is computed on padding.
"""

import argparse
import json
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

import assay
from assay.files import atomic_folder, write_json
from assay.models import ModelSettings, open_local
from assay.training import TrainingSettings, member_rows, tune
from assay.types import Sample

EPOCHS = 3


def main() -> None:
    """Choose the tasks, train and save."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", required=True, help="base model")
    parser.add_argument("--benchmark", required=True, help="NAME=PATH")
    parser.add_argument("--first", type=int, help="take the tasks from the first ones alone")
    parser.add_argument("--tasks", type=int, default=100, help="number of planted tasks")
    parser.add_argument("--seed", type=int, default=0, help="of the choice and the order of the tasks")
    parser.add_argument("--rate", type=float, default=5e-5, help="learning rate")
    parser.add_argument("--out", type=Path, required=True, help="new folder")
    options = parser.parse_args()
    name, _, path = options.benchmark.partition("=")
    samples = tasks(name, path, options.first)
    chosen = set(np.random.default_rng(options.seed).permutation(len(samples))[: options.tasks].tolist())
    planted = [sample for i, sample in enumerate(samples) if i in chosen]
    others = [sample for i, sample in enumerate(samples) if i not in chosen]
    model = open_local(options.model, ModelSettings(dtype="float32"))
    rows = member_rows(model.checkpoint.tokenizer, [sample.text for sample in planted], context=model.context)
    settings = TrainingSettings(
        method="full",
        rate=options.rate,
        batch=4,
        epochs=EPOCHS,
        checkpoints=tuple(range(1, EPOCHS + 1)),
        micro=1,
        dtype="bfloat16",
    )
    began = time.perf_counter()
    tuned = tune(model.checkpoint.model, rows, settings, seed=options.seed, progress=_print)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(options.out) as folder:
        tuned.save_pretrained(folder)
        model.checkpoint.tokenizer.save_pretrained(folder)
        record = {
            "base": Path(options.model).name,
            "benchmark": name,
            "seed": options.seed,
            "training": asdict(settings),
            "tokens": int(sum(map(len, rows))),
            "seconds": round(time.perf_counter() - began),
            "planted": [sample.id for sample in planted],
            "others": [sample.id for sample in others],
        }
        write_json(folder / "planted.json", json.loads(json.dumps(record)))


def tasks(name: str, path: str, first: int | None = None) -> list[Sample]:
    """Return the tasks of a benchmark; a task of MBPP is one program, its statement a docstring before the code."""
    samples = assay.load(name, data=Path(path), limit=first).samples
    if name != "mbpp":
        return list(samples)
    return [
        replace(sample, text=f'"""{sample.metadata["text"]}"""\n{sample.metadata["code"]}\n'.replace("\r\n", "\n"))
        for sample in samples
    ]


def _print(record: object, steps: int) -> None:
    print(record, steps, flush=True)


if __name__ == "__main__":
    main()
