"""The labelled collections of the experiments on authorship: public data sets in one form."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from assay.types import Sample
from assay_lab.classifiers.labelled import LabelledCode
from assay_lab.experiments.declaration import Data

LANGUAGES = {"Python": "python", "C++": "cpp", "Java": "java", "python3": "python"}
HUMAN = "human"
COLLECTIONS = {
    "semeval2026-task13": "task_a_trial.parquet of SemEval-2026 Task 13, in a folder",
    "classeval": "classeval.jsonl.gz, in a folder",
    "debugbench": "generated.jsonl.gz, in a folder",
    "llm-generations-ldb": "the folders humaneval and mbpp of github.com/WannaBSteve/llm-generations-ldb",
}
"""Name of the data → how to get them."""
SOURCES = {"humaneval": ("humaneval", "mbpp"), "mbpp": ("humaneval", "mbpp")}
"""Collection → all of its source, which have the same generators: they are left out together."""


def collections(data: Data, per_class: int | None = None) -> LabelledCode:
    """Return code of people and of generators from the places of `COLLECTIONS`.

    Args:
        data: name → folder.
        per_class: most texts of one class, collection and language, drawn at random; None for all.
    """
    samples, names = [], {}
    for name, reader in (("semeval", _semeval), ("classeval", _classeval), ("debugbench", _debugbench)):
        for sample in reader(data):
            samples.append(sample)
            names[sample.id] = name
    for name in ("mbpp", "humaneval"):
        for sample in solutions(data["llm-generations-ldb"] / name, name):
            samples.append(sample)
            names[sample.id] = name
    return LabelledCode.of(_drawn(samples, names, per_class), lambda sample: names[sample.id])


def _drawn(samples: list[Sample], names: dict[str, str], per_class: int | None) -> list[Sample]:
    """Return at most `per_class` samples of each class of each collection and language."""
    counts: Counter[tuple[str, str | None, bool]] = Counter()
    drawn = []
    for place in np.random.default_rng(0).permutation(len(samples)).tolist():
        sample = samples[place]
        cell = (names[sample.id], sample.language, str(sample.label).casefold() == HUMAN)
        counts[cell] += 1
        if per_class is None or counts[cell] <= per_class:
            drawn.append(sample)
    return drawn


def _semeval(data: Data) -> Iterator[Sample]:
    # its own labels are inverted against the map of the task, so the generator decides
    for number, row in enumerate(pq.read_table(data["semeval2026-task13"] / "task_a_trial.parquet").to_pylist()):
        language = LANGUAGES[row["language"]]
        yield Sample(f"semeval/{number}", row["code"], language=language, label=row["generator"])


def _classeval(data: Data) -> Iterator[Sample]:
    for row in _rows(data["classeval"] / "classeval.jsonl.gz"):
        name = f"classeval/{row['id']}"
        yield Sample(name, row["text"], language=row["language"], label=row["label"], group=row["group"])


def _debugbench(data: Data) -> Iterator[Sample]:
    for number, row in enumerate(_rows(data["debugbench"] / "generated.jsonl.gz")):
        language = LANGUAGES.get(row["language"], row["language"])
        name = f"debugbench/{number}"
        yield Sample(name, row["text"], language=language, label=row["label"], group=row["group"])


def solutions(folder: Path, name: str) -> Iterator[Sample]:
    """Yield the solutions of people and of generators in a folder of llm-generations-ldb."""
    people: set[str] = set()
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            task, generator = row["task_id"], path.parent.name
            identifier = f"{name}/{generator}/{task}"
            yield Sample(identifier, row["solution"], language="python", label=generator, group=task)
            # the rows of all generators repeat people's solution, which counts once
            if task not in people:
                people.add(task)
                # a solution of MBPP is a whole function, one of HumanEval the body below its prompt
                prompt = row["prompt"] if name == "humaneval" else ""
                text = prompt + row["canonical_solution"]
                yield Sample(f"{name}/human/{task}", text, language="python", label="human", group=task)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)
