"""All experiments by name: collected from the packages of the papers, one package a paper, and from our own.

To add an experiment, write a function in a module of its paper's package and declare it there in `EXPERIMENTS`. To add
a paper, add a package with a `paper.toml`.
"""

import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.errors import DataError
from assay.files import check_target_folder
from assay_lab.columns import attributes, having, keyed
from assay_lab.experiments.bench import STORES
from assay_lab.experiments.declaration import Experiment
from assay_lab.experiments.reproduction import Reproduction

ROOMS = ("assay_lab.papers.", "assay_lab.reliability.")
"""Packages whose modules declare tables and figures of papers, which run on a bench."""
MEASURING = (
    "performance", "peers", "statistics", "detectors", "control", "variants", "authorship", "provenance", "release",
    "scan",
)  # fmt: skip
"""Packages whose modules declare experiments of their own form."""


@cache
def all_experiments() -> Mapping[str, Reproduction]:
    """Return full name → experiment, sorted by paper and number."""
    declared = list(chain.from_iterable(map(declared_in, ROOMS)))
    declared.sort(key=lambda experiment: (experiment.paper, _by_number(experiment.name)))
    return MappingProxyType(dict(zip(map(attrgetter("full_name"), declared), declared, strict=True)))


@cache
def all_measurements() -> Mapping[str, Experiment]:
    """Return name → experiment of our own, package by package."""
    declared: dict[str, Experiment] = {}
    for name in MEASURING:
        declared |= keyed(declared_in(f"assay_lab.{name}."), "name")
    return MappingProxyType(declared)


def experiment_named(name: str) -> Reproduction:
    """Return the experiment of that name; a paper may be left out where one fits.

    Raises:
        DataError: there is none.
    """
    experiments = all_experiments()
    if name in experiments:
        return experiments[name]
    fitting = having(experiments.values(), name=name)
    if len(fitting) != 1:
        raise DataError(f"{name!r}: expected one of `assay lab list`: {', '.join(experiments)}")
    return fitting[0]


def experiments_named(name: str) -> tuple[Reproduction, ...]:
    """Return all experiments of a paper, or the experiment of that name.

    Raises:
        DataError: there is neither.
    """
    of_paper = tuple(having(all_experiments().values(), paper=name))
    return of_paper or (experiment_named(name),)


def check_folder_of_experiments(folder: Path) -> None:
    """Check that a folder is new, empty, or one of experiments.

    Raises:
        DataError: it holds other files, or cannot be written.
    """
    papers = set(attributes(all_experiments().values(), "paper"))
    check_target_folder(folder, (*STORES, *papers), "assay lab run")


def declared_in(room: str) -> Iterator[Any]:
    """Yield what the modules of a package declare in a tuple `EXPERIMENTS`."""
    for module in pkgutil.walk_packages(import_module(room.removesuffix(".")).__path__, room):
        if not module.ispkg:
            yield from getattr(import_module(module.name), "EXPERIMENTS", ())


def _by_number(name: str) -> list[str | int]:
    """Return a sorting key that puts table-2 before table-10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]
