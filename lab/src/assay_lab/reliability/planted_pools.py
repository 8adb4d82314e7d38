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

A folder of packages (`--data sources=DIR`) adds texts, so that the pools are large enough for every cell. Another model
(`--model`) is planted with functions of such a folder alone: the model must not have seen its packages. It has no plant
"converged", and no shifted texts unless another folder of packages has them (`--data shifted=DIR`).

The negative control is that of `assay audit`, `builtin:control`; it has no value for texts that it was trained on.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import compress, islice
from operator import attrgetter
from pathlib import Path

import numpy as np

from assay.code import variants
from assay.errors import DataError
from assay.evaluation import ShingleIndex
from assay.files import LOCK, atomic_folder, sole_process, write_json
from assay.ground_truth import known_dose_functions, trained_texts
from assay.leakage import Control, MeasuredModel, control_scores
from assay.leakage.detectors import context_changes
from assay.models import StatisticsCache, combined, default_control, open_local, quiet
from assay.scores import DatasetInputs, headline_score, requests
from assay.scoring import plan
from assay.training import TrainingSettings, member_rows, tune
from assay.types import Float64Array, Sample
from assay_lab.columns import (
    attributes,
    group_column,
    having,
    id_column,
    label_column,
    of_length,
    outside,
    text_column,
    without,
)
from assay_lab.experiments.bench import Bench
from assay_lab.reliability.pool_settings import (
    BASE_MODEL,
    RENAMED,
    SHIFTED,
    SOURCES,
    PoolSettings,
    base_model_of,
    pool_settings_of,
)
from assay_lab.testbed import current_scores, folder_functions, fresh_functions, never_seen_functions, write_scores

BASE, CONVERGED = "not trained further", "converged"
CONTROLS = {BASE: "control", CONVERGED: "converged-control"}
"""Pool → the pool of the same texts under the negative control."""
OF_FEW_PROJECTS = 3
"""How many times more texts of a project are siblings or shifted texts than have another role: these roles have few
projects."""
CONTEXT_CHANGE = "context change"
"""Column: mean log-probability after a sample of its own role, minus that alone (CoDeC with one sample in front)."""
NEAR_DUPLICATE = 0.5
"""Share of common shingles from which a text counts as one that the base model was trained on."""
UNSEEN_MODULES = 0.35
"""Share of the modules of the standard library that calibrate the plant "converged"."""


@dataclass(frozen=True, slots=True, eq=False)
class PlantedPool:
    """Texts and their scores under one model.

    Attributes:
        plant: how the model was trained; `BASE` for the base model.
        seed: of split and training.
        samples: label = role.
        scores: score → float64 [samples].
        model: its name or folder.
    """

    plant: str
    seed: int
    samples: tuple[Sample, ...]
    scores: Mapping[str, Float64Array] = field(default_factory=dict)
    model: str = BASE_MODEL

    def places(self, role: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Return the positions of the texts of a role."""
        return np.flatnonzero([sample.label == role for sample in self.samples])

    def of_role(self, role: str) -> tuple[Sample, ...]:
        """Return the texts of a role."""
        return tuple(having(self.samples, label=role))


def pools(bench: Bench, seed: int, *, context: bool = True) -> dict[str, PlantedPool]:
    """Return plant → the pool of a seed; models and scores that are there already are read.

    Args:
        bench: scale and folder.
        seed: of the split and of the trainings.
        context: compute the column `CONTEXT_CHANGE`, which costs three times as much as all others together.

    Raises:
        DataError: the scale has no pools, or there are too few texts on this machine.
    """
    settings, base = pool_settings_of(bench), base_model_of(bench)
    context = context and settings.context
    shared = bench.out / "pools"
    folder = shared / f"seed-{seed}"
    source = TextSource(base, bench.data.get(SOURCES), bench.data.get(SHIFTED))
    samples = stored_texts(folder / "texts.json", settings, source, seed=seed)
    bench.watchers.begin(f"base model, seed {seed}")
    result = {
        BASE: scored_pool(folder, PlantedPool(BASE, seed, samples, model=base), context=context, cache=shared),
        CONTROLS[BASE]: control_pool(folder, CONTROLS[BASE], samples, model=default_control(base)),
    }
    if base == BASE_MODEL:
        converged = converged_pool(shared, settings, seed)
        control = control_pool(shared, CONTROLS[CONVERGED], converged.samples, model=default_control(base))
        result |= {CONVERGED: converged, CONTROLS[CONVERGED]: control}
    for plant, training in settings.plants.items():
        bench.watchers.begin(f"plant {plant}, seed {seed}")
        model = folder / plant.replace(" ", "-")
        if not model.is_dir():
            busy = DataError(
                f"{folder}: another process is training there; expected it to end first, or another folder"
            )
            with sole_process(folder / LOCK, busy):
                train_plant(model, result[BASE], training, renamed=plant == RENAMED)
        result[plant] = scored_pool(folder, PlantedPool(plant, seed, samples, model=str(model)), context=context)
    return result


@dataclass(frozen=True, slots=True)
class TextSource:
    """Origin of the texts of a pool.

    Attributes:
        model: that is planted; functions of installed packages are unseen text for `BASE_MODEL` alone.
        folder: of packages; None for installed packages alone.
        of_other_kind: folder of packages for the shifted texts; None for those of the standard library.
    """

    model: str
    folder: Path | None = None
    of_other_kind: Path | None = None

    @property
    def packages(self) -> list[str]:
        """Names in the folders."""
        names: list[str] = []
        for folder in filter(None, (self.folder, self.of_other_kind)):
            names += attributes(sorted(folder.iterdir()), "name")
        return names

    def functions(self) -> tuple[Sample, ...]:
        """Return functions that the model never saw; a package in the folder and installed counts as installed.

        Raises:
            DataError: the folder has functions of another language than Python for `BASE_MODEL`.
        """
        installed = drawable_functions() if self.model == BASE_MODEL else ()
        if self.folder is None:
            return installed
        added = functions_in_folder(self.folder)
        if installed and added[0].language != "python":
            raise DataError(
                f"{self.folder}: functions in {added[0].language}; {self.model} reads Python. "
                "Name another model with --model"
            )
        index = ShingleIndex(text_column(added))
        is_copy = index.near_any(text_column(installed), NEAR_DUPLICATE)
        packages = set(group_column(installed))
        new = compress(added, ~is_copy)
        return (*installed, *outside(new, "group", packages))


def stored_texts(path: Path, settings: PoolSettings, source: TextSource, seed: int) -> tuple[Sample, ...]:
    """Return the texts of a seed; they are drawn once, so that a resumed run has the same."""
    sizes = [dict(settings.sizes), settings.per_project, list(settings.characters), settings.fresh]
    key = combined([sizes, seed, source.model, source.packages])
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
        if stored["key"] != key:
            raise DataError(f"{path} holds texts of other settings: remove it, or take a new folder")
        return tuple(Sample(**entry) for entry in stored["texts"])
    samples = split(settings, source, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"key": key, "texts": list(map(text_record, samples))})
    return samples


def text_record(sample: Sample) -> dict[str, str | None]:
    """Return what is stored of a text: all but its metadata."""
    return {
        "id": sample.id,
        "text": sample.text,
        "language": sample.language,
        "label": sample.label,
        "group": sample.group,
    }


def split(settings: PoolSettings, source: TextSource, seed: int) -> tuple[Sample, ...]:
    """Return texts with their roles as labels.

    Raises:
        DataError: a role has fewer texts than the settings name.
    """
    random = np.random.default_rng(seed)
    library = list(map(partial(replace, label=None), never_seen_functions().samples))
    functions: Sequence[Sample] = library
    if settings.fresh:
        own = set(id_column(library))
        functions = outside(source.functions(), "id", own)
    by_project = of_projects(functions, settings, random)
    texts: defaultdict[str, list[Sample]] = defaultdict(list)
    for project in random.permutation(sorted(by_project)):
        # members and siblings of a project are different functions, so the roles share one iterator
        left = iter(by_project[project])
        for role in next_roles(texts, settings):
            most = settings.per_project * (OF_FEW_PROJECTS if role == "sibling" else 1)
            texts[role] += with_role(islice(left, most), role)
    texts["shifted"] = with_role(shifted_texts(settings, source, library, random=random), "shifted")
    chosen: list[Sample] = []
    for role, size in settings.sizes.items():
        if len(texts[role]) < size and role != "sibling":
            raise DataError(f"{len(texts[role])} texts for the role {role}, expected {size}: more packages are needed")
        chosen += texts[role][:size]
    return tuple(chosen)


def with_role(samples: Iterable[Sample], role: str) -> list[Sample]:
    """Return texts with a role as their label; a text may have two roles, so the role is a part of its id."""
    return [replace(sample, label=role, id=f"{role}:{sample.id}") for sample in samples]


def shifted_texts(
    settings: PoolSettings, source: TextSource, library: Sequence[Sample], *, random: np.random.Generator
) -> list[Sample]:
    """Return texts of another kind: of a folder of packages, or the last ones of the standard library."""
    if source.of_other_kind is None:
        short = of_length(library, 0, settings.characters[1])
        return short[-settings.shifted :]
    others = of_projects(functions_in_folder(source.of_other_kind), settings, random)
    texts: list[Sample] = []
    for project in random.permutation(sorted(others)):
        texts += others[project][: settings.per_project * OF_FEW_PROJECTS]
    return texts


def of_projects(
    functions: Sequence[Sample], settings: PoolSettings, random: np.random.Generator
) -> dict[str, list[Sample]]:
    """Return project → its functions of a fitting length, in a random order."""
    by_project: defaultdict[str, list[Sample]] = defaultdict(list)
    # an array of objects: numpy would make a table of texts out of samples
    for sample in random.permutation(np.array(functions, object)):
        if settings.characters[0] <= len(sample.text) <= settings.characters[1]:
            by_project[sample.group or sample.id].append(sample)
    return by_project


@cache
def functions_in_folder(folder: Path) -> tuple[Sample, ...]:
    """Return the functions of packages in a folder; reading them takes long, so once for all seeds."""
    return folder_functions(folder, NEAR_DUPLICATE).samples


@cache
def drawable_functions() -> tuple[Sample, ...]:
    """Return the functions that members are drawn from; reading all packages takes long, so once for all seeds."""
    return fresh_functions(NEAR_DUPLICATE).samples


def converged_pool(folder: Path, settings: PoolSettings, seed: int) -> PlantedPool:
    """Return the pool of the plant "converged": roles by seed, scores computed once for all seeds.

    Members are functions that the base model saw twice or more. Whole modules calibrate. Texts of the plant's own
    source stand for another project.
    """
    texts = converged_texts(settings)
    pool = scored_pool(folder, PlantedPool(CONVERGED, seed, texts))
    modules = sorted({str(sample.group) for sample in texts if sample.label == "other"})
    calibrating = set(np.random.default_rng(seed).permutation(modules)[: round(UNSEEN_MODULES * len(modules))])

    def role(sample: Sample) -> str:
        if sample.label == "member":
            return "member"
        return "unseen" if sample.group in calibrating else "clean"

    return replace(pool, samples=tuple(replace(sample, label=role(sample)) for sample in texts))


def converged_texts(settings: PoolSettings) -> tuple[Sample, ...]:
    """Return functions of the standard library that the base model saw twice or more ("member") or never ("other")."""
    limit = None if settings.fresh else settings.clean
    parts: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in np.random.default_rng(0).permutation(np.array(known_dose_functions().samples, object)):
        dose = int(str(sample.metadata["dose"]))
        # one reading leaves little memory: such functions are neither members nor unseen
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


def train_plant(folder: Path, base: PlantedPool, training: TrainingSettings, *, renamed: bool) -> None:
    """Train the base model on the members and write it to a folder, which exists only when it is complete."""
    model = open_local(base.model)
    form = renamed_text if renamed else attrgetter("text")
    texts = list(map(form, base.of_role("member")))
    rows = member_rows(model.checkpoint.tokenizer, texts, context=model.context)
    tuned = tune(model.checkpoint.model, rows, training, seed=base.seed)
    if training.method == "lora":
        tuned = tuned.merge_and_unload()
    with atomic_folder(folder) as unfinished, quiet():
        tuned.save_pretrained(unfinished)
        model.checkpoint.tokenizer.save_pretrained(unfinished)


def renamed_text(sample: Sample) -> str:
    """Return a version of a text with other names; the text itself where it has none."""
    rewritten = variants(sample.text, 1, language=sample.language or "python").variants
    if not rewritten:
        return sample.text
    return rewritten[0].text


def scored_pool(folder: Path, pool: PlantedPool, *, context: bool = True, cache: Path | None = None) -> PlantedPool:
    """Return a pool with its scores, which are computed once.

    Args:
        folder: of the scores.
        pool: without scores.
        context: compute the column `CONTEXT_CHANGE`.
        cache: folder of token statistics that pools of other seeds share; None: no other has this model.
    """
    path = folder / f"{pool.plant.replace(' ', '-')}.parquet"
    samples = pool.samples
    ids = id_column(samples)
    scorer = open_local(pool.model)
    with nullcontext() if cache is None else StatisticsCache(cache / "statistics.sqlite") as statistics:
        measured = MeasuredModel(scorer, samples, cache=statistics)
        # bound to the weights, so that values of another training are never read
        origins = dict.fromkeys((*measured.one_pass_scores, CONTEXT_CHANGE), scorer.digest)
        columns = current_scores(path, ids, origins)
        missing = without(measured.one_pass_scores, columns)
        for name in missing:
            columns[name] = measured.scores(name, samples)
        if context and CONTEXT_CHANGE not in columns:
            missing.append(CONTEXT_CHANGE)
            columns[CONTEXT_CHANGE] = context_column(measured, samples)
    if missing:
        write_scores(path, ids, columns, origins=origins)
    return replace(pool, scores=columns)


def control_pool(folder: Path, name: str, samples: tuple[Sample, ...], model: str) -> PlantedPool:
    """Return the declared score of texts under the negative control; NaN for texts that it was trained on."""
    path = folder / f"{name}.parquet"
    ids = id_column(samples)
    score = headline_score("gray").name
    scorer = open_local(model)
    origins = {score: scorer.digest}
    columns = current_scores(path, ids, origins)
    if not columns:
        trained = trained_texts(model)
        work = plan(requests(score), {"target": scorer})
        control = Control(work, None if trained is None else trained.contain)
        columns = dict(control_scores(control, samples, ()).samples)
        write_scores(path, ids, columns, origins=origins)
    return PlantedPool(name, seed=0, samples=samples, scores=columns, model=model)


def context_column(measured: MeasuredModel, samples: Sequence[Sample]) -> Float64Array:
    """Return how much a sample of the same role in front changes each text; NaN where that cannot be computed.

    The unseen text has none: the method has no use for it.
    """
    column = np.full(len(samples), np.nan)
    labels = np.array(label_column(samples), object)
    for role in dict.fromkeys(labels.tolist()):
        # CoDeC compares nothing with unseen text, which only calibrates the other methods
        if role != "unseen":
            chosen = list(compress(samples, labels == role))
            # context from the own set: memorised text is disturbed by it (CoDeC, arXiv:2510.27055)
            column[labels == role] = context_changes(DatasetInputs(chosen, (), measured), chosen, 1)
    return column
