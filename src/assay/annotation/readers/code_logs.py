"""Readers of code benchmarks that bring a harness of their own.

EvalPlus                    `…_eval_results.json`, since 0.1
BigCodeBench                `…_eval_results.json`, and `…_pass_at_k.json` beside it
LiveCodeBench               `…_eval_all.json`, and `…_eval.json` beside it
bigcode-evaluation-harness  `logs.json`; its `evaluation_results.json` is the stated score
predictions                 rows of `task_id` with `solution` or `completion`, or of `instance_id` with `model_patch`
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from assay.annotation.log_file import LogFile, first_object, values_at
from assay.annotation.outcomes import day_of, outcome_at, status_at
from assay.annotation.readers.attempts import Attempts
from assay.annotation.readers.columns import check_paths, field_text
from assay.annotation.task_results import ROUNDING, LogColumns, StatedScore, TaskLog, TaskResult
from assay.errors import DataError

STATUSES = {"pass": 1.0, "fail": 0.0, "timeout": 0.0}
OLD_STATUSES = {"success": 1.0, "failed": 0.0, "timed out": 0.0}
"""Words of EvalPlus before 0.2."""
BASE, PLUS = "base", "plus"


def read_evalplus(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read results of EvalPlus: `plus`, where the further tests were run, or `base`."""
    entries = file.fields.get("eval")
    first = _first_attempt(entries)
    is_old = {"nfiles", BASE} <= first.keys()
    if not isinstance(entries, dict) or not (is_old or "base_status" in first):
        return None
    words = OLD_STATUSES if is_old else STATUSES
    attempts = Attempts(str(file.path))
    with_plus = without_plus = 0
    for name, entry in entries.items():
        listed = _old_attempts(entry) if is_old else _present(entry, f"{file.path}: {name}")
        for attempt in listed:
            base = status_at(attempt["base_status"], words, f"{file.path}: {name}")
            if attempt.get("plus_status") is None:
                without_plus += 1
                attempts.add(name, "", {BASE: base})
                continue
            with_plus += 1
            plus = status_at(attempt["plus_status"], words, f"{file.path}: {name}")
            # EvalPlus takes a task for solved if it passes the base tests and the further ones
            attempts.add(name, "", {PLUS: min(base, plus), BASE: base})
    if with_plus and without_plus:
        raise DataError(f"{file.path}: some attempts have no plus_status; expected one for every attempt, or for none")
    if without_plus:
        attempts.notes.append("the further tests of EvalPlus were not run: the outcomes are those of the base tests")
    metric = attempts.choose(columns.metric)
    return attempts.log("EvalPlus", metric)


def _first_attempt(entries: object) -> Mapping[str, Any]:
    """Return the first attempt, or the first entry of EvalPlus 0.1, which has all attempts; empty for neither."""
    first = values_at(entries, "[]")[:1]
    return first_object(values_at(first, "[].0") or first)


def _present(attempts: Sequence[Any], place: str) -> Sequence[Any]:
    """Return the attempts at a task.

    Raises:
        DataError: there is none, from which no outcome follows.
    """
    if not attempts:
        raise DataError(f"{place} has no attempt, expected at least one")
    return attempts


def _old_attempts(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the attempts of EvalPlus 0.1, whose entry has a list for each kind of tests."""
    attempts = [{"base_status": status} for status, *_ in entry[BASE]]
    further = entry.get(PLUS) or []
    if len(attempts) != entry["nfiles"] or (further and len(further) != len(attempts)):
        # the table of readers reports it as a damaged entry
        raise TypeError(f"{entry['nfiles']} files, {len(attempts)} and {len(further)} outcomes")
    for attempt, (status, *_) in zip(attempts, further, strict=False):
        attempt["plus_status"] = status
    return attempts


def read_bigcodebench(file: LogFile, _columns: LogColumns) -> TaskLog | None:
    """Read results of BigCodeBench, and its pass@1 beside them."""
    entries = file.fields.get("eval")
    if not isinstance(entries, dict) or "status" not in _first_attempt(entries):
        return None
    results = []
    for name, attempts in entries.items():
        place = f"{file.path}: {name}"
        for attempt in _present(attempts, place):
            results.append(TaskResult(name, correct=status_at(attempt["status"], STATUSES, place)))
    return TaskLog("BigCodeBench", tuple(results), _beside(file, "eval_results.json", "pass_at_k.json"))


def _beside(file: LogFile, ending: str, other: str) -> tuple[StatedScore, ...]:
    """Return pass@1 that a file with another ending states, in an object or in the first one of a list."""
    path = file.path.with_name(file.path.name.replace(ending, other))
    # a file that was renamed has no other beside it
    content = path != file.path and file.beside(path)
    first = first_object([content]) or first_object(content or ())
    if "pass@1" not in first:
        return ()
    return (StatedScore(float(first["pass@1"]), str(path)),)


def read_livecodebench(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read `…_eval_all.json` of LiveCodeBench; each row and the file `…_eval.json` state pass@1."""
    if "graded_list" not in file.row_names:
        return None
    used = check_paths(file, columns)
    results: list[TaskResult] = []
    for number, row in enumerate(file.rows, 1):
        place = f"{file.path}: row {number}"
        outcomes = [correct for graded in row["graded_list"] if (correct := outcome_at(graded, place)) is not None]
        # NaN is no outcome of an attempt here: each was run
        if not outcomes or len(outcomes) < len(row["graded_list"]):
            raise DataError(f"{place}: received the graded_list {row['graded_list']!r:.40}, expected outcomes")
        mean = fmean(outcomes)
        if abs(mean - row.get("pass@1", mean)) > ROUNDING:
            raise DataError(f"{place} states pass@1 {row['pass@1']}, but its outcomes have a mean of {mean:g}")
        task = TaskResult(_problem(row, columns), _statement(row, columns), day=day_of(row.get("contest_date")))
        results += [replace(task, correct=correct) for correct in outcomes]
    stated = _beside(file, "_eval_all.json", "_eval.json")
    return TaskLog("LiveCodeBench", tuple(results), stated, columns=used)


def _problem(row: Mapping[str, Any], columns: LogColumns) -> str:
    if columns.id is not None or "id" in row:
        return str(values_at(row, columns.id or "id")[0])
    # one question has several tests where outputs are predicted
    return "/".join(str(row[name]) for name in ("question_id", "test_id") if name in row)


def _statement(row: Mapping[str, Any], columns: LogColumns) -> str:
    return field_text(row, columns.text, next(filter(row.__contains__, ("question_content", "code")), ""))


def read_bigcode(file: LogFile, _columns: LogColumns) -> TaskLog | None:
    """Read `logs.json` of bigcode-evaluation-harness, {number: [[attempt, outcome], …]}, or its stated score."""
    stated = []
    for score in file.fields.values():
        # the file of scores has an entry for each benchmark, and the configuration of the run
        if "config" in file.fields and isinstance(score, dict) and "pass@1" in score:
            stated.append(StatedScore(float(score["pass@1"]), str(file.path)))
    if stated:
        return TaskLog("bigcode-evaluation-harness", (), tuple(stated))
    if "passed" not in first_object(values_at(file.fields, "[].0.1")):
        return None
    results = []
    for name, attempts in file.fields.items():
        place = f"{file.path}: task {name}"
        for _, attempt in _present(attempts, place):
            results.append(TaskResult(name, correct=outcome_at(attempt["passed"], place), number=int(name)))
    return TaskLog("bigcode-evaluation-harness", tuple(results))


def read_predictions(file: LogFile, _columns: LogColumns) -> TaskLog | None:
    """Read predictions, which have no outcomes; rows of HumanEval's own harness have them in `passed`."""
    rows = file.rows or list(file.fields.values())  # swebench also takes one object, id → prediction
    names = first_object(rows).keys()
    is_code = "task_id" in names and bool({"solution", "completion"} & names)
    if not is_code and not {"instance_id", "model_patch"} <= names:
        return None
    results = []
    for number, row in enumerate(rows, 1):
        correct = outcome_at(row["passed"], f"{file.path}: row {number}") if "passed" in names else None
        results.append(TaskResult(str(row["task_id" if is_code else "instance_id"]), correct=correct))
    return TaskLog("predictions with outcomes", tuple(results))
