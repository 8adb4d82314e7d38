"""A table or figure of a paper, run on a bench; each module of a paper declares its own in a tuple `EXPERIMENTS`."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatch
from functools import partial
from itertools import chain
from operator import methodcaller
from pathlib import Path

from assay.datasets import benchmark, is_benchmark
from assay.errors import DataError
from assay_lab.columns import attributes, present, without
from assay_lab.experiments.bench import PAPER_SCALE, Bench, check_labels
from assay_lab.experiments.describing import marked
from assay_lab.experiments.finding import Finding
from assay_lab.experiments.papers import FAMILIES
from assay_lab.testbed import Configuration

ANY = ("*",)
TESTBED_KEYS = frozenset(attributes(fields(Configuration), "name"))


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One table or figure of a paper, or one of this project.

    Attributes:
        paper: package of `assay_lab.experiments` that it belongs to; "assay" for our own.
        name: within its paper, as "table-1".
        run: makes it; the first line of its docstring is the summary.
        needs: names of data of which it needs one at least; none: it makes its own.
        takes: patterns of the names of data that it reads; "*" stands for all names.
        models: most models of the bench that it runs; None for all.
        models_with_data: the same where data are given.
        seeds: most seeds of the bench that it runs; None for all.
        paper_data: names of the data that the paper has here. The scale "paper" reads those of the hub by itself.
        paper_models: how many of the models of the paper it has, the first ones; None for all.
        audits: models that it audits at the scale "paper", without training, in place of those of the bench.
        keys: of the table of its paper in a configuration file, those that it reads; None for all.
        checks: called with the bench before anything runs; each raises a DataError about what the user gave.
        makes_texts: True if it makes its own texts, and data only take their place. In a run of the whole paper the
            data are those of the other experiments, so it gets none.
    """

    paper: str
    name: str
    run: Callable[[Bench], Finding]
    makes_texts: bool = False
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    models: int | None = None
    models_with_data: int | None = None
    seeds: int | None = None
    paper_data: tuple[str, ...] = ()
    paper_models: int | None = None
    keys: tuple[str, ...] | None = None
    audits: tuple[str, ...] = ()
    checks: tuple[Callable[[Bench], object], ...] = ()

    @property
    def full_name(self) -> str:
        """The name that a user types: "srdetection/table-1"."""
        return f"{self.paper}/{self.name}"

    @property
    def summary(self) -> str:
        """One line."""
        return (self.run.__doc__ or "").partition("\n")[0]

    def most_models(self, bench: Bench) -> int | None:
        """Return how many of the models of a bench it runs at most; None for all."""
        return self.models_with_data if self.data_of(bench) else self.models

    def data_of(self, bench: Bench) -> dict[str, Path]:
        """Return the data of a bench that it reads; at the scale of the paper those of the hub where none is named."""
        given = {name: place for name, place in bench.data.items() if any(map(partial(fnmatch, name), self.takes))}
        if given or bench.scale != PAPER_SCALE:
            return given
        return {name: Path(name) for name in self.paper_data if is_benchmark(name) and benchmark(name).hub_id}

    def run_on(self, bench: Bench) -> Finding:
        """Run it; what stand-ins gave says so."""
        finding = self.run(bench)
        return marked(finding) if bench.is_rehearsal else finding

    def bench_of(self, bench: Bench) -> Bench:
        """Return a bench with the data and the models that it takes."""
        most = self.most_models(bench)
        if most is None and bench.scale == PAPER_SCALE and not bench.models:
            most = self.paper_models
        models = bench.models if most is None else bench.models[:most]
        chosen = bench.configurations if most is None else bench.configurations[: max(1, most)]
        return replace(
            bench, data=self.data_of(bench), models=models, configurations=chosen, seeds=bench.seeds[: self.seeds]
        )


def check_used(name: str, experiments: Sequence[Reproduction], bench: Bench) -> None:
    """Check that experiments use all that a user gives: data, models, and keys of a configuration file.

    Args:
        name: what the user runs: an experiment or a paper.
        experiments: those that run.
        bench: with what the user gives.

    Raises:
        DataError: something has no use, or two models have one name; the line names the first.
    """
    used: set[str] = set()
    for experiment in experiments:
        used |= experiment.data_of(bench).keys()
    if unused := without(bench.data, used):
        patterns = list(dict.fromkeys(chain.from_iterable(attributes(experiments, "takes"))))
        raise DataError(f"{name}: received --data {unused[0]}, expected {' or '.join(patterns) or 'no data'}")
    most = list(map(methodcaller("most_models", bench), experiments))
    if None not in most and len(bench.models) > (largest := max(present(most))):
        words = f"at most {largest}"
        if not largest:
            words = "none with these data" if bench.data else "none without --data"
        raise DataError(f"{name}: received {len(bench.models)} models ({', '.join(bench.models)}), expected {words}")
    if len(bench.seeds) > 1 and None not in attributes(experiments, "seeds"):
        seeds = ",".join(map(str, bench.seeds))
        raise DataError(f"{name}: received --seed {seeds}, expected one seed: it repeats nothing over seeds")
    check_labels(bench.models)
    check_keys(name, experiments, bench)
    for experiment in experiments:
        for check in experiment.checks:
            check(experiment.bench_of(bench))


def check_keys(name: str, experiments: Sequence[Reproduction], bench: Bench) -> None:
    """Check that experiments read all keys of a configuration file; arguments and errors as `check_used`."""
    family = experiments[0].paper
    allowed = {"name", "model", "models", family} if family in FAMILIES else {*TESTBED_KEYS, "models"}
    if surplus := sorted(bench.keys - allowed):
        raise DataError(f"{bench.scale}: received {surplus[0]}, which {name} does not use; expected {listed(allowed)}")
    own_keys = attributes(experiments, "keys")
    if None in own_keys:
        return
    readable = set(chain.from_iterable(own_keys))
    if idle := without(bench.sizes.get(family, {}), readable):
        expected = listed(readable) or "no table of it"
        raise DataError(f"{bench.scale}: received {family}.{idle[0]}, which {name} does not use; expected {expected}")


def listed(keys: Collection[str]) -> str:
    """Return keys in a line, sorted."""
    return ", ".join(sorted(keys))
