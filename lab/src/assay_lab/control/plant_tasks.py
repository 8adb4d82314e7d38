"""Plant a part of a benchmark in a model by fine-tuning: the ground truth of the measurements on a real model.

The folder `planted` gets the model and `planted.json` with the tasks: `planted` were trained on, `others` were
not. Weights stay float32, passes run in bfloat16 autocast. The texts of a step are sorted by length and run alone, so
nothing is computed on padding.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

import assay
from assay.files import atomic_folder, write_json
from assay.models import ModelSettings, open_local
from assay.training import TrainingSettings, member_rows, tune
from assay.types import Sample
from assay_lab.columns import id_column, text_column
from assay_lab.experiments.declaration import Data, Experiment, Result

EPOCHS = 3


@dataclass(frozen=True, slots=True)
class Case:
    """What is planted where: tasks of a benchmark, drawn by a seed from all or from the first ones."""

    benchmark: str
    seed: int = 0
    first: int | None = None
    rate: float = 5e-5
    tasks: int = 100


def tasks(name: str, path: Path, first: int | None = None) -> list[Sample]:
    """Return the tasks of a benchmark; a task of MBPP is one program, its statement a docstring before the code."""
    samples = assay.load(name, data=path, limit=first).samples
    if name == "mbpp":
        return list(map(program_of, samples))
    return list(samples)


def program_of(sample: Sample) -> Sample:
    """Return a task of MBPP as a program."""
    program = f'"""{sample.metadata["text"]}"""\n{sample.metadata["code"]}\n'
    return replace(sample, text=program.replace("\r\n", "\n"))


def run(case: Case, seed: int, data: Data) -> Result:
    """Plant a part of a benchmark in a model by fine-tuning: ground truth for the measurements on a real model."""
    samples = tasks(case.benchmark, data["benchmark"], case.first)
    drawn = seed + case.seed
    # drawn by position, so that the same seed plants the same tasks in every model
    chosen = set(np.random.default_rng(drawn).permutation(len(samples))[: case.tasks].tolist())
    planted = [sample for i, sample in enumerate(samples) if i in chosen]
    model = open_local(str(data["model"]), ModelSettings(dtype="float32"))
    rows = member_rows(model.checkpoint.tokenizer, text_column(planted), context=model.context)
    settings = TrainingSettings(
        method="full",
        rate=case.rate,
        batch=4,
        epochs=EPOCHS,
        checkpoints=tuple(range(1, EPOCHS + 1)),
        micro=1,
        dtype="bfloat16",
    )
    record = {
        "base": data["model"].name,
        "benchmark": case.benchmark,
        "seed": drawn,
        "training": asdict(settings),
        "tokens": int(sum(map(len, rows))),
        "planted": id_column(planted),
        "others": [sample.id for i, sample in enumerate(samples) if i not in chosen],
    }
    tuned = tune(model.checkpoint.model, rows, settings, seed=drawn)
    data["planted"].parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(data["planted"]) as folder:
        tuned.save_pretrained(folder)
        model.checkpoint.tokenizer.save_pretrained(folder)
        write_json(folder / "planted.json", json.loads(json.dumps(record)))
    return Result([record])


PLANTED = "the folder that control/plant_tasks wrote"
EXPERIMENTS = tuple(
    Experiment(
        name=f"control/plant_tasks-{name}",
        run=run,
        scales={"full": case},
        columns=("base", "benchmark", "seed", "tokens"),
        needs={
            "model": "the base model",
            "benchmark": "the file or folder of the benchmark",
            "planted": "a new folder for the planted model",
        },
        stored=f"planted/{name}",
    )
    for name, case in (
        ("humaneval", Case("humaneval")),
        ("mbpp", Case("mbpp", seed=1, first=200)),
        ("javascript", Case("humaneval-x", rate=1e-3)),
    )
)
