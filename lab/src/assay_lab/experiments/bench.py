"""The bench of experiments: their scale, seeds and data, and the runs that all experiments of a folder share."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.files import write_json
from assay.models import combined
from assay_lab.experiments.papers import FAMILIES, hub_models_of
from assay_lab.stand_ins.home import MARKER, stand_ins_in
from assay_lab.testbed import (
    ALONE,
    CONFIGURATION,
    FOLDER,
    MANIFEST,
    REPLIES,
    SCORES,
    Configuration,
    Evaluation,
    Planted,
    Watchers,
    configuration_from,
    configuration_in,
    is_file,
    manifest_of,
    parsed_configuration,
    run,
    scale,
    trained,
)
from assay_lab.training.finetuning import TRAIN, checkpoint_folder

PAPER_SCALE = "paper"
RUNS, AUDITED = "runs", "audited"
STORES = (RUNS, AUDITED, "pools", "kds-trials", "bug-averages", "classifiers", "*.sqlite", MARKER)
"""Names in the folder of experiments, beside those of the papers: what experiments keep to continue from."""
LONGEST_NAME = 40
"""Characters of a model's name in the name of a folder."""
SOURCE = ("source", "source_digest", "filtered_by")
"""Entries of a manifest that say where planted texts come from."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Settings that all experiments of a folder share.

    Attributes:
        out: folder of the experiments; runs lie in `runs/`.
        configurations: of the runs that are trained, one for each model.
        seeds: of each run.
        data: benchmark → its file or folder, for experiments over benchmarks.
        watchers: receive the progress of runs.
        scale: name of the scale, or path of the configuration file.
        models: that the user names in place of those of the scale.
        keys: of the configuration file that is the scale; empty for a scale that ships.
        sizes: paper → its table in that file.
    """

    out: Path
    configurations: tuple[Configuration, ...]
    seeds: tuple[int, ...]
    data: Mapping[str, Path] = field(default_factory=dict)
    watchers: Watchers = ALONE
    scale: str = ""
    models: tuple[str, ...] = ()
    keys: frozenset[str] = frozenset()
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _evaluated: dict[Configuration, Evaluation] = field(default_factory=dict, repr=False)

    @classmethod
    def of_scale(
        cls,
        name: str,
        out: Path,
        seeds: tuple[int, ...],
        data: Mapping[str, Path] | None = None,
        watchers: Watchers = ALONE,
        *,
        models: Sequence[str] = (),
        paper: str = "",
    ) -> "Bench":
        """Return the bench of a scale.

        Args:
            name: "smoke", "full", "paper" or a configuration file.
            out: folder of the experiments.
            seeds: of each run.
            data: benchmark → its file or folder.
            watchers: receive the progress.
            models: in place of those of the scale; each gets the first configuration of the scale.
            paper: whose own models the scale "paper" has; empty: those of SrDetection, of which the testbed is.

        Raises:
            DataError: there is no such scale, or the file is no configuration.
        """
        sizes: dict[str, Mapping[str, Any]] = {}
        keys: frozenset[str] = frozenset()
        listed: Sequence[str] = ()
        if is_file(name):
            content = parsed_configuration(Path(name))
            keys = frozenset(content)
            sizes, listed = tables_of_papers(content, name)
            if models and listed:
                raise DataError(f"received --model and models of {name}, expected one of them")
            models = models or listed
            configurations: tuple[Configuration, ...] = (configuration_from(content, name),)
        else:
            configurations = scale(name)
            if name == PAPER_SCALE and paper:
                listed = hub_models_of(paper)
        if models or listed:
            configurations = tuple(map(partial(of_model, configurations[0]), dict.fromkeys(models or listed)))
        return cls(
            out=out,
            configurations=configurations,
            seeds=seeds,
            data=data or {},
            watchers=watchers,
            scale=name,
            models=tuple(models),
            keys=keys,
            sizes=sizes,
        )

    @property
    def is_rehearsal(self) -> bool:
        """Whether a model or data set of it, or the hub cache, is a stand-in."""
        places: list[str | Path] = [*self.models, *self.data.values()]
        for each in self.configurations:
            named = (each.model, each.data.source, each.data.path, each.mix.corpus, each.mix.path)
            places += filter(None, named)
        return any(stand_ins_in(places))

    def evaluations(self, configuration: Configuration, *, ratio: float | None = None) -> tuple[Evaluation, ...]:
        """Return the results of the runs of a configuration, one for each seed; finished runs are read.

        Args:
            configuration: of all but the seed.
            ratio: another mix; those runs end after the first epoch, as the paper's do.
        """
        return tuple(self._evaluation(self.configured(configuration, seed, ratio)) for seed in self.seeds)

    def configured(self, configuration: Configuration, seed: int, ratio: float | None = None) -> Configuration:
        """Return the configuration of one run."""
        seeded = replace(configuration, seed=seed)
        if ratio is None or ratio == configuration.mix.ratio:
            return seeded
        training = replace(configuration.training, epochs=1, checkpoints=(1,))
        return replace(seeded, mix=replace(configuration.mix, ratio=ratio), training=training)

    def folder(self, configuration: Configuration) -> Path:
        """Return the folder of the run of a configuration."""
        return self.out / RUNS / f"{configuration.name}-mix-{configuration.mix.ratio:g}-seed-{configuration.seed}"

    def planted(self, configuration: Configuration) -> Planted:
        """Return the texts of one run whose checkpoints are trained; nothing is judged."""
        return trained(self._begun(configuration), configuration, self.watchers)

    def _evaluation(self, configuration: Configuration) -> Evaluation:
        if configuration not in self._evaluated:
            self._evaluated[configuration] = run(self._begun(configuration), configuration, self.watchers)
        return self._evaluated[configuration]

    def _begun(self, configuration: Configuration) -> Path:
        folder = self.folder(configuration)
        self.watchers.begin(f"run {folder.name}")
        borrow(folder, configuration, sorted((self.out / RUNS).glob("*")))
        return folder


def tables_of_papers(content: dict[str, Any], source: str) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """Take the tables of papers and the list of models out of a configuration, which keeps what the testbed reads.

    Raises:
        DataError: a table is no table, or the models are no list of names.
    """
    tables = {}
    for family in FAMILIES:
        table = content.pop(family, {})
        if not isinstance(table, Mapping):
            raise DataError(f"{source}: {family} = {table!r}: expected a table")
        tables[family] = table
    models = content.pop("models", [])
    if not (isinstance(models, list) and all(isinstance(model, str) for model in models)):
        raise DataError(f"{source}: models = {models!r}: expected a list of models")
    return tables, models


def label_of(model: str) -> str:
    """Return the name of a model in tables: of a file or folder its own name, which says nothing of the machine."""
    return Path(model).name if model.endswith(".gguf") or Path(model).exists() else model


def check_labels(models: Sequence[str]) -> None:
    """Refuse two models that tables could not tell apart.

    Raises:
        DataError: two files or folders have the same name.
    """
    labels: dict[str, str] = {}
    for model in dict.fromkeys(models):
        label = label_of(model)
        if label in labels:
            raise DataError(f"received two models called {label} ({labels[label]}, {model}), expected different names")
        labels[label] = model


def of_model(configuration: Configuration, model: str) -> Configuration:
    """Return a configuration with another model; its name, and so its run folder, is then another one."""
    if model == configuration.model:
        return configuration
    # two paths may end alike, so a digest of the whole goes along
    name = f"{configuration.name}-{Path(model).name[-LONGEST_NAME:]}-{combined(model)[:8]}"
    return replace(configuration, model=model, revision=None, name=re.sub(r"[^\w.-]+", "-", name))


def borrow(folder: Path, configuration: Configuration, others: Sequence[Path]) -> None:
    """Copy what another run has in common with this one: from a run with the same training also its checkpoints.

    Either only the judging differs, and planted texts, checkpoints and scores are copied, or only the training, and the
    texts and the base model's scores are. The record of their source goes with the texts, and checkpoints and scores
    carry their own: a run refuses or recomputes what is not of its present source, settings and base model. Replies of
    a model that rewrites go to every run: they are kept by prompt.
    """
    if (folder / CONFIGURATION).exists():
        return
    for other in others:
        if not (other / CONFIGURATION).is_file() or not (other / SCORES / "epoch-0.parquet").is_file():
            continue
        lender = configuration_in(other)
        if lender.judging.engine == configuration.judging.engine and (other / REPLIES).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy2(other / REPLIES, folder)
        judged_alike = replace(lender, mix=configuration.mix, training=configuration.training) == configuration
        own = replace(lender, name=configuration.name, judging=configuration.judging)
        trained_alike = own == configuration and not configuration.data.filter and is_trained(other, lender)
        if not judged_alike and not trained_alike:
            continue
        shutil.copytree(other / FOLDER, folder / FOLDER, dirs_exist_ok=True)
        (folder / SCORES).mkdir(parents=True, exist_ok=True)
        scored, recorded = "epoch-0.parquet", list(SOURCE)
        if trained_alike:
            scored, recorded = "epoch-*.parquet", [*SOURCE, "checkpoints"]
            shutil.copytree(other / TRAIN, folder / TRAIN, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.pt"))
        for scores in sorted((other / SCORES).glob(scored)):
            shutil.copy2(scores, folder / SCORES)
        manifest = manifest_of(other)
        write_json(folder / MANIFEST, {key: manifest[key] for key in recorded if key in manifest})
        return


def is_trained(folder: Path, configuration: Configuration) -> bool:
    """Return True if a run has all its checkpoints."""
    return all(checkpoint_folder(folder / TRAIN, epoch).is_dir() for epoch in configuration.training.checkpoints)
