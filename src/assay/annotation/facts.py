"""Facts on the run of an evaluation, from the log that holds its results: harness, settings and day."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.errors import DataError, plain_reason, require
from assay.files import parse_json

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
    if path.suffix == ".eval" or _is_inspect(path):
        return _of_inspect(path)
    if path.suffix == ".json":
        content = _json(path)
        return RunFacts("EvalPlus", {}, _day(content.get("date")))
    stamp = re.search(r"_(\d{4}-\d{2}-\d{2}T[\d.:-]+)\.jsonl?$", path.name)
    if path.name.startswith("samples_"):
        beside = path.with_name(f"results_{stamp[1]}.json") if stamp else path
        content = _json(beside) if stamp and beside.is_file() else {}
        config = content.get("config")
        settings = {k: v for k, v in config.items() if k not in _TIMES} if isinstance(config, dict) else {}
        return RunFacts("lm-eval", settings, _day(stamp[1] if stamp else None))
    return RunFacts("predictions with outcomes", {}, None)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {plain_reason(error)}; expected the log of an evaluation") from error
    return content if isinstance(content, dict) else {}


def _is_inspect(path: Path) -> bool:
    return path.suffix == ".json" and {"eval", "status", "version"} <= _json(path).keys()


def _of_inspect(path: Path) -> RunFacts:
    require("inspect_ai", purpose=f"the inspect log {path}")
    from inspect_ai.log import read_eval_log  # noqa: PLC0415  slow to import

    try:
        log = read_eval_log(str(path), header_only=True)
    except Exception as error:  # inspect_ai raises what zip, JSON and pydantic raise
        raise DataError(f"{path} cannot be read as an inspect log: {plain_reason(error)[:200]}") from error
    settings: dict[str, object] = {
        "model": log.eval.model,
        "settings of the model": json.dumps(log.plan.config.model_dump(mode="json"), sort_keys=True),
        "steps": [(step.solver, json.dumps(step.params, sort_keys=True, default=str)) for step in log.plan.steps],
    }
    return RunFacts("inspect", settings, _day(log.eval.created))


def _day(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    cleaned = re.sub(r"T(\d{2})-(\d{2})-(\d{2}).*", r"T\1:\2:\3", text)
    try:
        return datetime.fromisoformat(cleaned)
    except ValueError:
        return None
