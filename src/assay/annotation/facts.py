"""Facts on the run of an evaluation, from the log that holds its results: harness, settings and day."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from assay.annotation.log_file import LogFile, first_object, values_at
from assay.annotation.readers import harness_of
from assay.annotation.readers.inspect_logs import is_inspect
from assay.datasets import read_inspect_log

_TIMES = ("model_name", "pretty_env_info", "date", "created", "total_evaluation_time_seconds", "start_time", "end_time")
"""Entries of the configuration of lm-eval that differ between equal runs."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts on an evaluation that its log states: harness, settings by name, and the day; empty or None where not."""

    harness: str
    settings: Mapping[str, object]
    day: datetime | None


def run_facts(path: Path) -> RunFacts:
    """Return the facts that the log of an evaluation states."""
    file = LogFile(path)
    if is_inspect(file):
        return _of_inspect(file)
    stamp = re.search(r"_(\d{4}-\d{2}-\d{2}T[\d.:-]+)\.jsonl?$", path.name)
    # lm-eval has the configuration in another file of the same time stamp
    if path.name.startswith("samples_"):
        day = stamp and stamp[1]
        config = first_object(values_at(file.beside(path.with_name(f"results_{day}.json")), "config"))
        return RunFacts("lm-eval", {k: v for k, v in config.items() if k not in _TIMES}, _moment(day))
    return RunFacts(harness_of(path), {}, _moment(file.fields.get("date")))


def _of_inspect(file: LogFile) -> RunFacts:
    log = read_inspect_log(file.path, header_only=True)
    settings: dict[str, object] = {
        "model": log.eval.model,
        "settings of the model": json.dumps(log.plan.config.model_dump(mode="json"), sort_keys=True),
        "steps": [(step.solver, json.dumps(step.params, sort_keys=True, default=str)) for step in log.plan.steps],
    }
    return RunFacts("inspect", settings, _moment(log.eval.created))


def _moment(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    # names of files have hyphens in place of the colons of a time, and a fraction of a second behind
    cleaned = re.sub(r"T(\d{2})-(\d{2})-(\d{2}).*", r"T\1:\2:\3", text)
    try:
        return datetime.fromisoformat(cleaned)
    except ValueError:
        return None
