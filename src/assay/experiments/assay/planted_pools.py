"""Pools of texts whose truth is known, scored once under models that were trained on a part of them.

A seed splits projects into those of which a part is trained on, and others. A pool has five roles:

    member     trained on
    sibling    of the same projects as members, not trained on
    clean      of other projects
    unseen     of further projects; calibrates
    shifted    of the standard library: another project, other years, never trained on

The model is `builtin:small`. In the plant "converged" the members are functions that it saw in its own training, whose
rate decays to 0, and the other roles are functions of the standard library that it never saw. For the other plants it
is trained further, at a constant rate; the base model saw none of those texts.

The negative control is that of `assay dataset`, `builtin:control`; it has no value for texts that it was trained on.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from assay.code import variants
from assay.errors import DataError
from assay.experiments.bench import Bench
from assay.files import atomic_folder, write_json
from assay.leakage import Control, MeasuredModel, context_changes, control_scores
from assay.models import combined, default_control, open_local, quiet
from assay.scores import DatasetInputs, headline_score, requests
from assay.scoring import plan
from assay.testbed import (
    current_scores,
    fresh_functions,
    is_file,
    known_dose_functions,
    never_seen_functions,
    trained_texts,
    write_scores,
)
from assay.training import TrainingSettings, member_rows, tune
from assay.types import Float64Array, Sample

BASE, CONVERGED = "base", "converged"
CONTROLS = {BASE: "control", CONVERGED: "converged-control"}
"""Pool → the pool of the same texts under the negative control."""
CONTEXT_CHANGE = "context change"
"""Column: mean log-probability after a sample of its own role, minus that alone (CoDeC with one sample in front)."""
BASE_MODEL = "builtin:small"
UNSEEN_MODULES = 0.35
"""Share of the modules of the standard library that calibrate the plant "converged"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """Size of the pools of one seed.

    Attributes:
        members: texts that are trained on; the other roles likewise.
        siblings: see the head of this file.
        clean: likewise.
        unseen: likewise.
        shifted: likewise.
        per_project: most texts of a project, in each role.
        characters: shortest and longest text.
        epochs: of each plant.
        plants: names of the plants that are trained.
        fresh: draw from installed packages; else from the standard library alone, for a quick try.
    """

    members: int = 120
    siblings: int = 60
    clean: int = 170
    unseen: int = 120
    shifted: int = 60
    per_project: int = 6
    characters: tuple[int, int] = (150, 600)
    epochs: int = 3
    plants: tuple[str, ...] = ("constant rate", "LoRA", "renamed")
    fresh: bool = True

    @property
    def sizes(self) -> Mapping[str, int]:
        """Role → number of texts."""
        return {
            "member": self.members,
            "sibling": self.siblings,
            "clean": self.clean,
            "unseen": self.unseen,
            "shifted": self.shifted,
        }


SCALES = {
    "smoke": PoolSettings(
        members=24, siblings=12, clean=30, unseen=24, shifted=12, per_project=2, epochs=1, fresh=False
    ),
    "small": PoolSettings(),
    "paper": PoolSettings(members=500, siblings=164, clean=500, unseen=300, shifted=164, epochs=5),
}


def plants(epochs: int) -> dict[str, TrainingSettings]:
    """Return name → how the base model is trained on the members."""
    common = TrainingSettings(method="full", rate=1e-3, batch=8, epochs=epochs, checkpoints=())
    return {"constant rate": common, "LoRA": replace(common, method="lora", rate=3e-3), "renamed": common}


@dataclass(frozen=True, slots=True, eq=False)
class PlantedPool:
    """Texts and their scores under one model.

    Attributes:
        plant: how the model was trained; `BASE` for the base model.
        seed: of split and training.
        samples: label = role.
        scores: score → float64 [samples].
        model: folder of the model; None for the base model.
    """

    plant: str
    seed: int
    samples: tuple[Sample, ...]
    scores: Mapping[str, Float64Array]
    model: Path | None

    def places(self, role: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Return the positions of the texts of a role."""
        return np.flatnonzero([sample.label == role for sample in self.samples])


def pools(bench: Bench, seed: int, *, context: bool = True) -> dict[str, PlantedPool]:
    """Return plant → the pool of a seed; models and scores that are there already are read.

    Args:
        bench: scale and folder.
        seed: of the split and of the trainings.
        context: compute the column `CONTEXT_CHANGE`, which costs three times as much as all others together.

    Raises:
        DataError: the scale has no pools, or there are too few texts on this machine.
    """
    if bench.scale not in SCALES or is_file(bench.scale):
        raise DataError(f"scale {bench.scale!r}: expected one of {', '.join(SCALES)}")
    settings = SCALES[bench.scale]
    folder = bench.out / "pools" / f"seed-{seed}"
    samples = stored_texts(folder / "texts.json", settings, seed)
    converged = converged_pool(bench.out / "pools", settings, seed)
    result = {
        BASE: scored_pool(folder, BASE, samples, None, seed, context=context),
        CONVERGED: converged,
        CONTROLS[BASE]: control_pool(folder, CONTROLS[BASE], samples, seed),
        CONTROLS[CONVERGED]: control_pool(bench.out / "pools", CONTROLS[CONVERGED], converged.samples, seed),
    }
    for plant, training in plants(settings.epochs).items():
        if plant not in settings.plants:
            continue
        bench.watchers.begin(f"plant {plant}, seed {seed}")
        model = folder / plant.replace(" ", "-")
        if not model.is_dir():
            train_plant(model, plant, samples, training, seed)
        result[plant] = scored_pool(folder, plant, samples, model, seed, context=context)
    return result


def stored_texts(path: Path, settings: PoolSettings, seed: int) -> tuple[Sample, ...]:
    """Return the texts of a seed; they are drawn once, so that a resumed run has the same."""
    key = combined([asdict(replace(settings, plants=())) | {"seed": seed}])
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
        if stored["key"] != key:
            raise DataError(f"{path} holds texts of other settings: remove it, or take a new folder")
        return tuple(Sample(**entry) for entry in stored["texts"])
    samples = split(settings, seed)
    fields = ("id", "text", "language", "label", "group")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"key": key, "texts": [{name: getattr(s, name) for name in fields} for s in samples]})
    return samples


def split(settings: PoolSettings, seed: int) -> tuple[Sample, ...]:
    """Return texts with their roles as labels.

    Raises:
        DataError: a role has fewer texts than the settings name.
    """
    random = np.random.default_rng(seed)
    library = [replace(sample, label=None) for sample in never_seen_functions().samples]
    source = drawable_functions() if settings.fresh else library
    own = {sample.id for sample in library} if settings.fresh else set()
    by_project: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in random.permutation(np.array(source, object)):
        if settings.characters[0] <= len(sample.text) <= settings.characters[1] and sample.id not in own:
            by_project[sample.group or sample.id].append(sample)
    texts: defaultdict[str, list[Sample]] = defaultdict(list)
    for project in random.permutation(sorted(by_project)):
        start = 0
        for role in next_roles(texts, settings):
            chosen = by_project[project][start : start + settings.per_project]
            texts[role] += [replace(sample, label=role, id=f"{role}:{sample.id}") for sample in chosen]
            start += settings.per_project
    long = [sample for sample in library if len(sample.text) <= settings.characters[1]]
    texts["shifted"] = [
        replace(sample, label="shifted", id=f"shifted:{sample.id}") for sample in long[-settings.shifted :]
    ]
    for role, size in settings.sizes.items():
        if len(texts[role]) < size * (role != "sibling"):
            raise DataError(f"{len(texts[role])} texts for the role {role}, expected {size}: this machine has too few")
    return tuple(sample for role, size in settings.sizes.items() for sample in texts[role][:size])


@cache
def drawable_functions() -> tuple[Sample, ...]:
    """Return the functions that members are drawn from; reading all packages takes long, so once for all seeds."""
    return fresh_functions(0.5).samples


def converged_pool(folder: Path, settings: PoolSettings, seed: int) -> PlantedPool:
    """Return the pool of the plant "converged": roles by seed, scores computed once for all seeds.

    Members are functions that the base model saw twice or more. Whole modules calibrate. Texts of the plant's own
    source stand for another project.
    """
    texts = converged_texts(settings)
    pool = scored_pool(folder, CONVERGED, texts, None, seed)
    modules = sorted({str(sample.group) for sample in texts if sample.label == "other"})
    calibrating = set(np.random.default_rng(seed).permutation(modules)[: round(UNSEEN_MODULES * len(modules))])
    roles = [
        "member" if sample.label == "member" else "unseen" if sample.group in calibrating else "clean"
        for sample in texts
    ]
    return replace(pool, samples=tuple(replace(sample, label=role) for sample, role in zip(texts, roles, strict=True)))


def converged_texts(settings: PoolSettings) -> tuple[Sample, ...]:
    """Return functions of the standard library that the base model saw twice or more ("member") or never ("other")."""
    limit = None if settings.fresh else settings.clean
    parts: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in np.random.default_rng(0).permutation(np.array(known_dose_functions().samples, object)):
        dose = int(str(sample.metadata["dose"]))
        label = "member" if dose else "other"
        if dose != 1 and (limit is None or len(parts[label]) < limit):
            parts[label].append(replace(sample, label=label, id=f"{label}:{sample.id}"))
    return (*parts["member"], *parts["other"])


def next_roles(texts: Mapping[str, Sequence[Sample]], settings: PoolSettings) -> tuple[str, ...]:
    """Return the roles of the next project: the first that lacks texts; siblings come from the projects of members."""
    for roles in (("unseen",), ("clean",), ("member", "sibling")):
        if len(texts.get(roles[0], ())) < settings.sizes[roles[0]]:
            return roles
    return ()


def train_plant(folder: Path, plant: str, samples: Sequence[Sample], training: TrainingSettings, seed: int) -> None:
    """Train the base model on the members and write it to a folder, which exists only when it is complete."""
    model = open_local(BASE_MODEL)
    texts = [sample.text for sample in samples if sample.label == "member"]
    if plant == "renamed":
        texts = [rewritten[0].text if (rewritten := variants(text, 1).variants) else text for text in texts]
    rows = member_rows(model.checkpoint.tokenizer, texts, context=model.context)
    tuned = tune(model.checkpoint.model, rows, training, seed=seed)
    if training.method == "lora":
        tuned = tuned.merge_and_unload()
    with atomic_folder(folder) as unfinished, quiet():
        tuned.save_pretrained(unfinished)
        model.checkpoint.tokenizer.save_pretrained(unfinished)


def scored_pool(
    folder: Path, plant: str, samples: tuple[Sample, ...], model: Path | None, seed: int, *, context: bool = True
) -> PlantedPool:
    """Return the pool of a plant; its scores are computed once."""
    path = folder / f"{plant.replace(' ', '-')}.parquet"
    ids = [sample.id for sample in samples]
    scorer = open_local(BASE_MODEL if model is None else str(model))
    measured = MeasuredModel(scorer, samples)
    origins = dict.fromkeys((*measured.one_pass_scores, CONTEXT_CHANGE), scorer.digest)
    columns = current_scores(path, ids, origins)
    missing = [name for name in origins if name not in columns and (context or name != CONTEXT_CHANGE)]
    for name in missing:
        columns[name] = (
            context_column(measured, samples) if name == CONTEXT_CHANGE else measured.scores(name, measured.samples)
        )
    if missing:
        write_scores(path, ids, columns, origins)
    return PlantedPool(plant, seed, samples, columns, model)


def control_pool(folder: Path, name: str, samples: tuple[Sample, ...], seed: int) -> PlantedPool:
    """Return the declared score of texts under the negative control; NaN for texts that it was trained on."""
    path = folder / f"{name}.parquet"
    ids = [sample.id for sample in samples]
    model, score = default_control(), headline_score("gray").name
    scorer = open_local(model)
    origins = {score: scorer.digest}
    columns = current_scores(path, ids, origins)
    if not columns:
        trained = trained_texts(model)
        work = plan(requests(score), {"target": scorer})
        control = Control(work, None if trained is None else trained.contain)
        columns = dict(control_scores(control, samples, ()).samples)
        write_scores(path, ids, columns, origins)
    return PlantedPool(name, seed, samples, columns, None)


def context_column(measured: MeasuredModel, samples: Sequence[Sample]) -> Float64Array:
    """Return how much a sample of the same role in front changes each text; NaN where that cannot be computed.

    The unseen text has none: the method has no use for it.
    """
    column = np.full(len(samples), np.nan)
    for role in dict.fromkeys(sample.label for sample in samples if sample.label != "unseen"):
        places = [at for at, sample in enumerate(samples) if sample.label == role]
        chosen = [samples[at] for at in places]
        column[places] = context_changes(DatasetInputs(chosen, (), measured), chosen, 1)
    return column
