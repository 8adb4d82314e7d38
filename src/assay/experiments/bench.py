"""Where an experiment's runs come from: one a configuration, ratio and seed, shared by all experiments of a folder."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.testbed import (
    ALONE,
    CONFIGURATION,
    FOLDER,
    SCORES,
    Configuration,
    Evaluation,
    Planted,
    Watchers,
    configuration_in,
    run,
    trained,
)

RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Bench:
    """The runs of one scale.

    Attributes:
        out: folder of the experiments; runs lie in `runs/`.
        configurations: one a model.
        seeds: of each run.
        data: benchmark → its file or folder, for experiments over benchmarks.
        watchers: who is told how runs get on.
    """

    out: Path
    configurations: tuple[Configuration, ...]
    seeds: tuple[int, ...]
    data: Mapping[str, Path] = field(default_factory=dict)
    watchers: Watchers = ALONE
    _known: dict[Path, Evaluation] = field(default_factory=dict, repr=False)

    def evaluations(self, configuration: Configuration, *, ratio: float | None = None) -> tuple[Evaluation, ...]:
        """What the runs of a configuration found, one a seed; what was run before is read, not run again.

        Args:
            configuration: of all but the seed.
            ratio: another mix; those runs end after the first epoch, as the paper's do.
        """
        return tuple(self._evaluation(self.configured(configuration, seed, ratio)) for seed in self.seeds)

    def configured(self, configuration: Configuration, seed: int, ratio: float | None = None) -> Configuration:
        """The configuration of one run."""
        found = replace(configuration, seed=seed)
        if ratio is None or ratio == configuration.mix.ratio:
            return found
        training = replace(configuration.training, epochs=1, checkpoints=(1,))
        return replace(found, mix=replace(configuration.mix, ratio=ratio), training=training)

    def folder(self, configuration: Configuration) -> Path:
        """Where the run of a configuration lies."""
        return self.out / RUNS / f"{configuration.name}-mix-{configuration.mix.ratio:g}-seed-{configuration.seed}"

    def planted(self, configuration: Configuration) -> Planted:
        """The texts of one run, whose checkpoints are trained; nothing is judged."""
        return trained(self._begun(configuration), configuration, self.watchers)

    def _evaluation(self, configuration: Configuration) -> Evaluation:
        folder = self.folder(configuration)
        if folder not in self._known:
            self._known[folder] = run(self._begun(configuration), configuration, self.watchers)
        return self._known[folder]

    def _begun(self, configuration: Configuration) -> Path:
        folder = self.folder(configuration)
        self.watchers.says(f"run {folder.name}")
        borrow(folder, configuration, sorted((self.out / RUNS).glob("*")))
        return folder


def borrow(folder: Path, configuration: Configuration, others: Sequence[Path]) -> None:
    """Take over planted texts and the base model's scores from a run that differs in its training alone."""
    if (folder / CONFIGURATION).exists():
        return
    for other in others:
        if not (other / CONFIGURATION).is_file() or not (other / SCORES / "epoch-0.parquet").is_file():
            continue
        known = configuration_in(other)
        if replace(known, mix=configuration.mix, training=configuration.training) == configuration:
            shutil.copytree(other / FOLDER, folder / FOLDER, dirs_exist_ok=True)
            (folder / SCORES).mkdir(parents=True, exist_ok=True)
            shutil.copy2(other / SCORES / "epoch-0.parquet", folder / SCORES)
            return
