"""The reader of inspect's logs, `.eval` and `.json`, through inspect_ai itself."""

import math
from itertools import repeat
from operator import attrgetter
from typing import Any

from assay.annotation.log_file import LogFile, first_text, values_at
from assay.annotation.readers.attempts import UNSCORED, Attempts
from assay.annotation.task_results import LogColumns, StatedScore, TaskLog
from assay.datasets import check_nested, inspect_values, read_inspect_log
from assay.reports import number_of

MEANS = ("accuracy", "mean")
"""Metrics of inspect that are means of the outcomes."""


def is_inspect(file: LogFile) -> bool:
    """Return True for the file names and fields of an inspect log."""
    return file.path.suffix == ".eval" or {"eval", "status", "version"} <= file.fields.keys()


def read_inspect(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read a log of inspect; a scorer that returns several values has a metric `scorer.key` for each of them."""
    if not is_inspect(file):
        return None
    log = read_inspect_log(file.path)
    samples = log.samples or []
    places = {name: path for name, path in (("text", columns.text), ("id", columns.id)) if path is not None}
    attempts = Attempts(str(file.path))
    dumped: list[dict[str, Any]] = []
    for sample in samples:
        name, text, values = sample.id, _input(sample), inspect_values(sample)
        # a sample as JSON takes time, and only paths are looked up in it
        if places:
            dumped.append(sample.model_dump(mode="json"))
        if columns.text is not None:
            text = first_text(values_at(dumped[-1], columns.text))
        if columns.id is not None:
            name = next(iter(values_at(dumped[-1], columns.id)), name)
        attempts.add(name, text, values, problem=_problem(sample, is_scored=bool(values)))
    for path in places.values():
        if not any(map(values_at, dumped, repeat(path))):
            check_nested(dumped, path, str(file.path))
    metric = attempts.choose(columns.metric)
    if log.status != "success":
        attempts.notes.append(
            f"the run did not end: its status is {log.status}, with {number_of(len(samples), 'sample')} in it"
        )
    return attempts.log("inspect", metric, stated=_stated(log, metric, attempts.notes), columns=places)


def _input(sample: Any) -> str:  # noqa: ANN401
    return sample.input if isinstance(sample.input, str) else "\n".join(map(attrgetter("text"), sample.input))


def _problem(sample: Any, *, is_scored: bool) -> str | None:  # noqa: ANN401
    if sample.error is not None:
        return "errored and were scored" if is_scored else "errored, which leaves them without an outcome"
    if sample.limit is not None:
        return f"stopped at the limit of {sample.limit.type}"
    return None if is_scored else UNSCORED


def _stated(log: Any, metric: str, notes: list[str]) -> list[StatedScore]:  # noqa: ANN401
    """Return the means that the log states for a metric; a note where it states other statistics alone."""
    stated = []
    for score in getattr(log.results, "scores", ()):
        if metric not in (score.name, f"{score.scorer}.{score.name}"):
            continue
        for name in filter(score.metrics.__contains__, MEANS):
            value = score.metrics[name].value
            # of several epochs another reducer, such as the best of them, is not the mean of all attempts
            if score.reducer in (None, "mean") and not math.isnan(value):
                stated.append(StatedScore(value, f"the log ({score.scorer}, {name})"))
    if not stated and log.results:
        notes.append(f"the log states no mean of {metric} over all attempts, so ours was not compared with one")
    return stated
