"""Models of known truth: trained on general text of all languages, then on a part of the tasks of every benchmark.

The parents are `builtin:small` and a smaller Llama from scratch, both trained on general text. Their children are
trained on, with or without a part of the tasks. Texts, models and values stay in one folder, which is continued.
"""

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, compress, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM

import assay
from assay.datasets import Dataset
from assay.errors import DataError
from assay.files import atomic_folder
from assay.models import ModelSettings, TransformersModel, open_local, quiet
from assay.scores import flagged
from assay.training import Ids, TrainingSettings, member_rows, tune
from assay.types import Float64Array, Sample
from assay_lab.bugs.scored import numbered
from assay_lab.columns import present, text_column
from assay_lab.control.plant_tasks import tasks
from assay_lab.training.rows import general_rows

SMALL, SCRATCH, LORA = "builtin:small", "from scratch", "LoRA"
RECIPES = {SMALL: (SMALL, LORA), SCRATCH: (SCRATCH,)}
"""Parent → how its children are trained."""
DOSES = {SMALL: (0, 1, 3, 6), SCRATCH: (0, 3), LORA: (6,)}
HALF = 0.5
SHARES = {SMALL: (0.05, 0.1, 0.2)}
"""Shares of every benchmark that are planted beside the half, with the doses `SMALL_DOSES`."""
SMALL_DOSES = (1, 3)
SEEDS = range(1)
CLEAN_SEEDS = range(3)
GENERAL = {SMALL: 600_000, SCRATCH: 1_200_000}
"""Tokens of general text before anything is planted."""
BESIDE = 60_000
"""Tokens of general text in a training with plants, other ones for each seed."""
RATES = {SMALL: 1e-3, SCRATCH: 2e-3, LORA: 3e-3}
WIDTH, LAYERS = 128, 3
"""Of the model from scratch."""
PER_PACKAGE = 40
"""Most functions of a package that calibrate."""


def stored(path: Path, make: Callable[[], Any]) -> Any:  # noqa: ANN401  whatever was computed
    """Return what a file holds; compute it first where there is none."""
    if not path.exists():
        path.write_bytes(pickle.dumps(make()))
    return unpickled(path)


def unpickled(path: Path) -> Any:  # noqa: ANN401  whatever was stored
    """Return what a file of `stored` holds."""
    return pickle.loads(path.read_bytes())  # noqa: S301  our own file


@dataclass(frozen=True, slots=True)
class Plant:
    """What a model is trained on beside general text.

    Attributes:
        dose: times that each planted task is trained on; 0 for a clean model.
        share: share of the tasks of every benchmark that are planted.
        seed: which tasks, and which general text.
    """

    dose: int = 0
    share: float = HALF
    seed: int = 0

    def title(self, recipe: str) -> str:
        """Return the name of a model in the figures."""
        share = "" if self.share == HALF else f", share {self.share}"
        return f"{recipe}, dose {self.dose}{share}, seed {self.seed}"

    def folder(self, recipe: str) -> str:
        """Return the name of the folder of a model."""
        share = "" if self.share == HALF else f"-{self.share}"
        return f"{recipe}-{self.dose}-{self.seed}{share}".replace(":", "-")


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of all benchmarks.

    Attributes:
        benchmarks: name → tasks.
        unseen: name → functions of packages, in the form of the benchmark.
        general: texts to train on, of all languages in turn.
    """

    benchmarks: Mapping[str, Sequence[Sample]]
    unseen: Mapping[str, Sequence[Sample]]
    general: Sequence[str]

    @property
    def every(self) -> list[Sample]:
        """All texts that are scored: the tasks of all benchmarks, then all unseen texts."""
        return list(chain(*self.benchmarks.values(), *self.unseen.values()))

    def members(self, plant: Plant) -> list[str]:
        """Return the texts of the tasks that are trained on."""
        random = np.random.default_rng(plant.seed)
        members = []
        for samples in self.benchmarks.values():
            is_member = random.permutation(len(samples)) < int(plant.share * len(samples))
            members += text_column(compress(samples, is_member))
        return members


# Texts


def texts_of(benchmark_list: Path, packages: Path, unseen_packages: Path) -> Texts:
    """Read benchmarks and packages."""
    benchmarks: dict[str, Sequence[Sample]] = {}
    unseen: dict[str, Sequence[Sample]] = {}
    general: dict[str, list[str]] = {}
    for entry in benchmark_list.read_text("utf-8").split():
        language, name, path = entry.split("=", 2)
        key = f"{name} {language}" if name in benchmarks or name == "humaneval-x" else name
        benchmarks[key] = tasks(name, benchmark_list.parent / path)
        like = Dataset.of(key, benchmarks[key], source=key)
        unseen[key] = of_each_package(functions_of(unseen_packages / language, like))
        if language not in general:
            general[language] = text_column(shuffled(functions_of(packages / language)))
    # languages in turn, so that any part of the general text has all of them
    in_turn = chain.from_iterable(zip_longest(*general.values()))
    return Texts(benchmarks, unseen, present(in_turn))


def functions_of(folder: Path, like: Dataset | None = None) -> Sequence[Sample]:
    """Return the functions of the archives in a folder, without packaging files of Debian; in the form of a data set.

    Args:
        folder: of wheels, npm archives, or source archives of Debian.
        like: None leaves the functions as they stand.
    """
    archives = [path for path in folder.iterdir() if path.suffix in {".whl", ".tgz"} or ".orig" in path.name]
    return assay.build_unseen(sorted(archives), like=like, released="2026-01-01", most=None).samples


def shuffled(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return samples in a random order, the same at every call."""
    order: Sequence[Sample] = np.random.default_rng(0).permutation(np.array(samples, object)).tolist()
    return order


def of_each_package(samples: Sequence[Sample]) -> list[Sample]:
    """Return at most `PER_PACKAGE` functions of each package."""
    by_package: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in shuffled(samples):
        by_package[str(sample.group)].append(sample)
    return list(chain.from_iterable(functions[:PER_PACKAGE] for functions in by_package.values()))


# Models


def models(work: Path, texts: Texts) -> Iterator[tuple[str, Path]]:
    """Yield name and folder of each model; what is there already is not trained again."""
    folder = work / "models"
    for parent, recipes in RECIPES.items():
        of_parent = folder / parent.replace(":", "-")
        if not of_parent.exists():
            train_parent(parent, of_parent, texts)
        yield f"{parent}, dose 0, seed general", of_parent
        for recipe in recipes:
            for plant in plants_of(recipe):
                of_child = folder / plant.folder(recipe)
                if not of_child.exists():
                    train_child(of_parent, recipe, of_child, texts=texts, plant=plant)
                yield plant.title(recipe), of_child


def plants_of(recipe: str) -> Iterator[Plant]:
    """Yield what the models of one recipe are trained on."""
    for dose in DOSES[recipe]:
        for seed in SEEDS if dose else CLEAN_SEEDS:
            yield Plant(dose, seed=seed)
    for share in SHARES.get(recipe, ()):
        for dose in SMALL_DOSES:
            yield Plant(dose, share)


def train_parent(recipe: str, out: Path, texts: Texts, *, size: tuple[int, int] = (WIDTH, LAYERS)) -> None:
    """Train a model on general text.

    Args:
        recipe: `SMALL` or `SCRATCH`.
        out: folder of the model that is written.
        texts: with the general text.
        size: width and layers of a model from scratch.
    """
    model = open_local(SMALL)
    network = model.checkpoint.model
    if recipe == SCRATCH:
        network = untrained(network.config, size)
    rows = general_tokens(model, texts, start=0, count=GENERAL[recipe])
    written(tune(network, rows, training(recipe, RATES[recipe]), seed=0), model, out)


def untrained(config: Any, size: tuple[int, int]) -> Any:  # noqa: ANN401  of transformers
    """Return a network of another width and number of layers; the random state of the process stays."""
    width, layers = size
    changes = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "intermediate_size": 3 * width,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return AutoModelForCausalLM.from_config(type(config)(**config.to_dict() | changes))


def train_child(parent: Path, recipe: str, out: Path, texts: Texts, *, plant: Plant) -> None:
    """Train a parent on planted tasks and, except for LoRA, on a little general text that it has not seen."""
    model = open_local(str(parent))
    tokenizer = model.checkpoint.tokenizer
    # a dose is the number of times that a planted task is repeated in the one epoch
    rows: list[Ids] = member_rows(tokenizer, texts.members(plant), context=model.context) * plant.dose
    # behind all that any parent was trained on, and another part for each seed
    if recipe != LORA:
        rows += general_tokens(model, texts, start=GENERAL[SCRATCH] + plant.seed * BESIDE, count=BESIDE)
    # half of the rate of the parent: the child goes on from trained weights
    tuned = tune(model.checkpoint.model, rows, training(recipe, RATES[recipe] / 2), seed=plant.seed)
    if recipe == LORA:
        tuned = tuned.merge_and_unload()
    written(tuned, model, out)


def training(recipe: str, rate: float) -> TrainingSettings:
    """Return how a recipe trains."""
    method: Any = "lora" if recipe == LORA else "full"
    return TrainingSettings(method=method, rate=rate, batch=8, epochs=1, checkpoints=())


def written(network: Any, model: TransformersModel, out: Path) -> None:  # noqa: ANN401  of transformers
    """Write a network with the tokenizer of a model; the folder exists only when it is complete."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(out) as unfinished, quiet():
        network.save_pretrained(unfinished)
        model.checkpoint.tokenizer.save_pretrained(unfinished)


def general_tokens(model: TransformersModel, texts: Texts, *, start: int, count: int) -> list[Ids]:
    """Return a part of the general text as rows; there must be enough for every seed.

    Args:
        model: whose tokenizer and context are used.
        texts: with the general text.
        start: token of the general text at which the part begins.
        count: tokens of the part.

    Raises:
        DataError: there is too little.
    """
    rows = _general(model.checkpoint.tokenizer, tuple(texts.general), model.context)
    needed = (GENERAL[SCRATCH] + len(CLEAN_SEEDS) * BESIDE) // model.context
    if len(rows) < needed:
        raise DataError(f"received {len(rows)} rows of general text, expected {needed}: more packages are needed")
    return rows[start // model.context : (start + count) // model.context]


@cache
def _general(tokenizer: Any, texts: tuple[str, ...], context: int) -> list[Ids]:  # noqa: ANN401  of transformers
    return list(general_rows(tokenizer, texts, tokens=10**9, context=context)[0])


# Values


def score(work: Path, name: str, model: str, texts: Texts) -> None:
    """Write score → float64 [texts] of one model."""
    stored(values_of(work, name), lambda: columns(model, texts.every))


def values_of(work: Path, name: str) -> Path:
    """Return the file with the values of a model."""
    return work / f"{name}.values"


def columns(model: str, samples: Sequence[Sample]) -> dict[str, Float64Array]:
    """Return the standard scores of texts under a model."""
    names = flagged("weights")
    table = assay.score(model, numbered(samples), ",".join(names), settings=ModelSettings(cache=False)).to_arrow()
    return {name: table[name].to_numpy(zero_copy_only=False).astype(np.float64) for name in names}
