"""The experiments by name. To add one, write its function and add its line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assay.errors import DataError
from assay.experiments.bench import Bench
from assay.experiments.finding import Finding
from assay.experiments.srdetection.benchmarks import figure_2
from assay.experiments.srdetection.black_box import table_2, table_9, table_11, writing
from assay.experiments.srdetection.case_study import figure_4, table_4
from assay.experiments.srdetection.detection import table_1
from assay.experiments.srdetection.null import every_cell, honest_null
from assay.experiments.srdetection.sensitivity import figure_3, table_3, table_10
from assay.experiments.srdetection.thresholds import table_5_6


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure.

    Attributes:
        name: as a user types it.
        source: where it stands.
        function: makes it; its first line of documentation says what it is.
        judged: the bench with the configurations of the runs behind it, where they are not the scale's own.
    """

    name: str
    source: str
    function: Callable[[Bench], Finding]
    judged: Callable[[Bench], Bench] | None = None

    def first_run(self, bench: Bench) -> Path:
        """Folder of the first run behind it, whose record goes with the table."""
        found = self.judged(bench) if self.judged else bench
        return found.folder(found.configured(found.configurations[0], found.seeds[0]))

    @property
    def summary(self) -> str:
        """One line."""
        return (self.function.__doc__ or "").splitlines()[0]


_SR = "SrDetection (Li et al.)"
_ALL = (
    Experiment("table-1", f"{_SR}, Table 1", table_1),
    Experiment("table-2", f"{_SR}, Table 2", table_2, writing),
    Experiment("table-3", f"{_SR}, Table 3", table_3),
    Experiment("table-4", f"{_SR}, Table 4", table_4),
    Experiment("table-5-6", f"{_SR}, Tables 5 and 6", table_5_6),
    Experiment("table-9", f"{_SR}, Table 9", table_9, writing),
    Experiment("table-10", f"{_SR}, Table 10", table_10),
    Experiment("table-11", f"{_SR}, Table 11", table_11, writing),
    Experiment("figure-2", f"{_SR}, Figure 2", figure_2),
    Experiment("figure-3", f"{_SR}, Figure 3", figure_3),
    Experiment("figure-4", f"{_SR}, Figure 4", figure_4),
    Experiment("honest-null", "ours", honest_null),
    Experiment("every-cell", "ours", every_cell),
)
EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({one.name: one for one in _ALL})
"""Name → experiment."""


def experiment(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        DataError: none has it.
    """
    if name not in EXPERIMENTS:
        raise DataError(f"{name!r}: expected a configuration file (.toml, .json) or one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
