"""Readers of SWE-bench and of the benchmarks that follow it.

report       of a run, `resolved_ids` and more; Multi-SWE-bench's `final_report.json` has the same fields
instances    `report.json` of one instance, or a folder of them
Pro          `eval_results.json`: {id: true or false}
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from assay.annotation.log_file import LogFile
from assay.annotation.task_results import LogColumns, StatedScore, TaskLog, TaskResult
from assay.errors import DataError

ERRORED = "errored, which the harness counts as not resolved"
EMPTY = "with an empty patch, which the harness counts as not resolved"


def read_patch_report(file: LogFile, _columns: LogColumns) -> TaskLog | None:
    """Read the report of a run of SWE-bench or Multi-SWE-bench: every submitted instance counts."""
    if "resolved_ids" not in file.fields:
        return None
    report = file.fields
    # dictionaries in place of sets: they keep the order of the file
    listed = {name: dict.fromkeys(map(str, report.get(f"{name}_ids") or ())) for name in _LISTS}
    results = []
    for name in {**listed["submitted"], **listed["resolved"], **listed["unresolved"]}:
        is_resolved = name in listed["resolved"]
        if is_resolved and name in listed["unresolved"]:
            raise DataError(f"{file.path}: {name} is among the resolved and the unresolved ids; expected one of them")
        problem = None
        if name in listed["error"]:
            problem = ERRORED
        elif name in listed["empty_patch"]:
            problem = EMPTY
        if not (is_resolved or problem or name in listed["unresolved"]):
            raise DataError(
                f"{file.path}: {name} was submitted, and is in none of resolved_ids, unresolved_ids, error_ids and "
                "empty_patch_ids; expected a known outcome"
            )
        results.append(TaskResult(name, correct=float(is_resolved), problem=problem))
    stated = []
    if results and report.get("resolved_instances") is not None:
        stated.append(StatedScore(report["resolved_instances"] / len(results), str(file.path)))
    return TaskLog("SWE-bench", tuple(results), tuple(stated))


_LISTS = ("submitted", "resolved", "unresolved", "error", "empty_patch")


def read_single_reports(file: LogFile, _columns: LogColumns) -> TaskLog | None:
    """Read the reports of single instances of SWE-bench, {id: {"resolved": …}}: a file, or all files of a folder."""
    # a folder has one report for each instance, in a folder of its own
    files = list(map(LogFile, sorted(file.path.rglob("report.json")))) or [file]
    results: list[TaskResult] = []
    for each in files:
        first = next(iter(each.fields.values()), None)
        if not isinstance(first, dict) or "resolved" not in first:
            if each is file:
                return None
            raise DataError(f"{each.path}: received no report of an instance, expected {{id: {{'resolved': …}}}}")
        results += map(partial(_instance, file=each), each.fields, each.fields.values())
    return TaskLog("SWE-bench", tuple(results)) if results else None


def _instance(name: str, entry: Mapping[str, Any], file: LogFile) -> TaskResult:
    if not isinstance(entry["resolved"], bool):
        raise DataError(f"{file.path}: {name}: received resolved {entry['resolved']!r:.40}, expected true or false")
    missing = entry.get("patch_is_None") or entry.get("patch_exists") is False
    return TaskResult(name, correct=float(entry["resolved"]), problem=EMPTY * bool(missing) or None)


def read_outcomes_by_id(file: LogFile, _columns: LogColumns) -> TaskLog | None:
    """Read `eval_results.json` of SWE-bench Pro: {id: true or false}."""
    if not file.fields or not isinstance(next(iter(file.fields.values())), bool):
        return None
    for name, value in file.fields.items():
        if not isinstance(value, bool):
            raise DataError(f"{file.path}: {name}: received the outcome {value!r:.40}, expected true or false")
    return TaskLog("SWE-bench Pro", tuple(TaskResult(name, correct=float(v)) for name, v in file.fields.items()))
