"""Attempts at tasks as a harness lists them, each with the values of several metrics, one of which is chosen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from assay.annotation.outcomes import choose_metric, outcome_at
from assay.annotation.task_results import StatedScore, TaskLog, TaskResult
from assay.errors import DataError

UNSCORED = "were not scored"
METRIC = frozenset({"metric"})
"""Name of the field of `LogColumns` that a reader of several metrics has."""


@dataclass(slots=True)
class Attempts:
    """Attempts that a reader collects, and the metric that decides.

    Attributes:
        place: begins error lines.
        numbered: True where ids are places in the benchmark.
        notes: what was guessed.
    """

    place: str
    numbered: bool = False
    notes: list[str] = field(default_factory=list)
    _results: list[TaskResult] = field(default_factory=list)
    _values: list[Mapping[str, object]] = field(default_factory=list)

    def add(self, name: object, text: str, values: Mapping[str, object], problem: str | None = None) -> None:
        """Add an attempt; only one with a problem may lack the metric that decides."""
        number = int(str(name)) if self.numbered and str(name).isdecimal() else None
        self._results.append(TaskResult(str(name), text, problem=problem, number=number))
        self._values.append(values)

    def choose(self, requested: str | None, usual: Iterable[str] = ()) -> str:
        """Return the metric that was requested, else the first of the usual ones, else the first one of all.

        Raises:
            DataError: see `choose_metric`.
        """
        metrics: dict[str, list[object]] = {}
        for values in self._values:
            for name, value in values.items():
                metrics.setdefault(name, []).append(value)
        preferred = requested or next(filter(metrics.__contains__, usual), None)
        return choose_metric(preferred, metrics, self.place, note=self.notes.append)

    def results(self, metric: str) -> tuple[TaskResult, ...]:
        """Return the attempts with their outcomes.

        Raises:
            DataError: an attempt without a problem has no outcome.
        """
        decided = []
        for number, (result, values) in enumerate(zip(self._results, self._values, strict=True), 1):
            place, problem, correct = f"{self.place}: row {number}", result.problem, None
            if metric in values:
                correct = outcome_at(values[metric], place)
            # only what the harness itself reports as a failure may lack its outcome: never a silent zero
            elif problem is None:
                raise DataError(f"{place}: no outcome {metric!r}; expected one in every row")
            if correct is None and problem is None:
                problem = UNSCORED
            decided.append(replace(result, correct=correct, problem=problem))
        return tuple(decided)

    def log(
        self, harness: str, metric: str, *, stated: Iterable[StatedScore] = (), columns: Iterable[str] = ()
    ) -> TaskLog:
        """Return the attempts as a log, with the scores that the harness states and the names of fields that were read.

        Raises:
            DataError: see `results`.
        """
        return TaskLog(
            harness=harness,
            results=self.results(metric),
            stated=tuple(stated),
            notes=tuple(self.notes),
            columns=METRIC.union(columns),
        )
