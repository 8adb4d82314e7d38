"""Rehearsals: each table and figure of a paper at its own scale, from first to last line, on stand-ins."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from assay_lab.experiments.bench import PAPER_SCALE, Bench
from assay_lab.experiments.papers import paper
from assay_lab.experiments.reproduction import Reproduction
from assay_lab.stand_ins.data_sets import DATA
from assay_lab.testbed import ALONE, Configuration, Watchers

TESTBED = "testbed"


@cache
def divided_sizes() -> Mapping[str, Mapping[str, Any]]:
    """Return paper → the sizes that a rehearsal has in place of those of the scale "paper"."""
    text = files("assay_lab.stand_ins").joinpath("rehearsal.toml").read_text("utf-8")
    return tomllib.loads(text)


def divided(configuration: Configuration) -> Configuration:
    """Return a run of the testbed with the sizes of a rehearsal; the rest is as published."""
    changes: dict[str, Any] = {}
    for part, sizes in divided_sizes()[TESTBED].items():
        # TOML has lists where the settings have tuples
        own = {key: tuple(value) if isinstance(value, list) else value for key, value in sizes.items()}
        changes[part] = replace(getattr(configuration, part), **own)
    return replace(configuration, **changes)


def rehearsal_bench(experiment: Reproduction, home: Path, out: Path, watchers: Watchers = ALONE) -> Bench:
    """Return the bench of a rehearsal: the scale "paper" with its sizes divided, on stand-ins.

    Args:
        experiment: that is rehearsed.
        home: of the stand-ins.
        out: folder of the results.
        watchers: receive the progress.
    """
    names = experiment.paper_data or experiment.needs or paper(experiment.paper).data
    if experiment.makes_texts:
        names = ()
    bench = Bench.of_scale(
        PAPER_SCALE, out, seeds=(0,), data=places_of(names, home), watchers=watchers, paper=experiment.paper
    )
    sizes = {family: table for family, table in divided_sizes().items() if family != TESTBED}
    bench = replace(bench, sizes=sizes, configurations=tuple(map(divided, bench.configurations)))
    return experiment.bench_of(bench)


def places_of(names: tuple[str, ...], home: Path) -> dict[str, Path]:
    """Return name → place of data: in the folders of the stand-ins, else by its name on the hub."""
    places: dict[str, Path] = {}
    for name in names:
        laid = sorted((home / DATA).glob(name)) or sorted((home / DATA).glob(f"*/{name}.*"))
        places[name] = next(iter(laid), Path(name))
    return places
