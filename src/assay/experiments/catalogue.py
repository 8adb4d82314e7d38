"""All experiments by name: collected from the packages of the papers, one package a paper.

To add an experiment, write a function in a module of its paper's package and declare it there in `EXPERIMENTS`. To add
a paper, add a package with a `paper.toml`.
"""

import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

import assay.experiments
from assay.errors import DataError
from assay.experiments.bench import STORES
from assay.experiments.declaration import Experiment
from assay.files import check_target_folder

FORMER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        **{f"table-{n}": f"srdetection/table-{n}" for n in (1, 2, 3, 4, 9, 10, 11)},
        "table-5-6": "srdetection/table-5-6",
        **{f"figure-{n}": f"srdetection/figure-{n}" for n in (2, 3, 4)},
        "honest-null": "assay/honest-null",
        "every-cell": "assay/every-cell",
        "provenance": "hst/retrieval",
    }
)
"""Names of the last release → names of today; accepted for one release."""


@cache
def all_experiments() -> Mapping[str, Experiment]:
    """Return full name → experiment, sorted by paper and number."""
    declared = sorted(_declared(), key=lambda experiment: (experiment.paper, _by_number(experiment.name)))
    return MappingProxyType({experiment.full_name: experiment for experiment in declared})


def experiment_named(name: str) -> Experiment:
    """Return the experiment of that name, of today or of the last release; a paper may be left out where one fits.

    Raises:
        DataError: there is none.
    """
    experiments = all_experiments()
    full_name = FORMER_NAMES.get(name, name)
    fitting = [each for each in experiments if each.partition("/")[2] == name]
    if full_name not in experiments and len(fitting) == 1:
        full_name = fitting[0]
    if full_name not in experiments:
        raise DataError(f"{name!r}: expected a configuration file (.toml, .json) or one of {', '.join(experiments)}")
    return experiments[full_name]


def experiments_named(name: str) -> tuple[Experiment, ...]:
    """Return all experiments of a paper, or the experiment of that name.

    Raises:
        DataError: there is neither.
    """
    of_paper = tuple(each for each in all_experiments().values() if each.paper == name)
    return of_paper or (experiment_named(name),)


def check_folder_of_experiments(folder: Path) -> None:
    """Check that a folder is new, empty, or one of experiments.

    Raises:
        DataError: it holds other files, or cannot be written.
    """
    papers = {experiment.paper for experiment in all_experiments().values()}
    check_target_folder(folder, (*STORES, *papers), "assay testbed run")


def _declared() -> Iterator[Experiment]:
    for package in pkgutil.iter_modules(assay.experiments.__path__, "assay.experiments."):
        if package.ispkg:
            for module in pkgutil.iter_modules(import_module(package.name).__path__, f"{package.name}."):
                yield from getattr(import_module(module.name), "EXPERIMENTS", ())


def _by_number(name: str) -> list[str | int]:
    """Return a sorting key that puts table-2 before table-10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
