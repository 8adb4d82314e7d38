"""Readers of code benchmarks that bring a harness of their own.

EvalPlus                    `…_eval_results.json`, since 0.1
BigCodeBench                `…_eval_results.json`, and `…_pass_at_k.json` beside it
LiveCodeBench               `…_eval_all.json`, and `…_eval.json` beside it
bigcode-evaluation-harness  `logs.json`; its `evaluation_results.json` is the stated score
predictions                 rows of `task_id` with `solution` or `completion`, or of `instance_id` with `model_patch`
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from assay.annotation.log_file import LogFile, values_at
from assay.annotation.outcomes import choose_metric, day_of, outcome_at, status_at
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
    if not isinstance(entries, dict) or not entries:
        return None
    first = next(iter(entries.values()))
    is_old = isinstance(first, dict) and {"nfiles", BASE} <= first.keys()
    if not is_old and not (isinstance(first, list) and first and "base_status" in first[0]):
        return None
    results: list[tuple[str, dict[str, float]]] = []
    for name, entry in entries.items():
        attempts = _old_attempts(entry) if is_old else entry
        words = OLD_STATUSES if is_old else STATUSES
        if not attempts:
            raise DataError(f"{file.path}: {name} has no attempt, expected at least one")
        results += [(name, _parts(attempt, words, f"{file.path}: {name}")) for attempt in attempts]
    names = [part for part in (PLUS, BASE) if all(part in parts for _, parts in results)]
    if any(PLUS in parts for _, parts in results) and PLUS not in names:
        raise DataError(f"{file.path}: some attempts have no plus_status; expected one for every attempt, or for none")
    notes: list[str] = []
    metrics = {part: [parts[part] for _, parts in results] for part in names}
    metric = choose_metric(columns.metric, metrics, str(file.path), notes.append)
    scored = tuple(TaskResult(name, correct=parts[metric]) for name, parts in results)
    if PLUS not in names:
        notes.append("the further tests of EvalPlus were not run: the outcomes are those of the base tests")
    return TaskLog("EvalPlus", scored, notes=tuple(notes), columns=frozenset({"metric"}))


def _parts(attempt: Mapping[str, Any], words: Mapping[str, float], place: str) -> dict[str, float]:
    """Return the outcome of the base tests, and of both kinds together where both were run."""
    base = status_at(attempt["base_status"], words, place)
    plus = attempt.get("plus_status")
    return {BASE: base} | ({} if plus is None else {PLUS: min(base, status_at(plus, words, place))})


def _old_attempts(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the attempts of EvalPlus 0.1, whose entry has a list for each kind of tests."""
    attempts = [{"base_status": status} for status, *_ in entry[BASE]]
    further = entry.get(PLUS) or []
    if len(attempts) != entry["nfiles"] or (further and len(further) != len(attempts)):
        raise TypeError(f"{entry['nfiles']} files, {len(attempts)} and {len(further)} outcomes")
    for attempt, (status, *_) in zip(attempts, further, strict=False):
        attempt["plus_status"] = status
    return attempts


def read_bigcodebench(file: LogFile, _columns: LogColumns) -> TaskLog | None:
    """Read results of BigCodeBench, and its pass@1 beside them."""
    entries = file.fields.get("eval")
    if not isinstance(entries, dict) or not entries:
        return None
    first = next(iter(entries.values()))
    if not (isinstance(first, list) and first and "status" in first[0]):
        return None
    results = []
    for name, attempts in entries.items():
        if not attempts:
            raise DataError(f"{file.path}: {name} has no attempt, expected at least one")
        for attempt in attempts:
            results.append(TaskResult(name, correct=status_at(attempt["status"], STATUSES, f"{file.path}: {name}")))
    beside = file.path.with_name(file.path.name.replace("eval_results.json", "pass_at_k.json"))
    return TaskLog("BigCodeBench", tuple(results), _pass_at_1(file, beside))


def _pass_at_1(file: LogFile, path: Path) -> tuple[StatedScore, ...]:
    content = None if path == file.path else file.beside(path)
    value = content.get("pass@1") if isinstance(content, dict) else None
    return () if value is None else (StatedScore(float(value), str(path)),)


def read_livecodebench(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read `…_eval_all.json` of LiveCodeBench; each row and the file `…_eval.json` state pass@1."""
    if "graded_list" not in file.row_names:
        return None
    used = check_paths(file, columns)
    results: list[TaskResult] = []
    for number, row in enumerate(file.rows, 1):
        place = f"{file.path}: row {number}"
        outcomes = [correct for graded in row["graded_list"] if (correct := outcome_at(graded, place)) is not None]
        if not outcomes or len(outcomes) < len(row["graded_list"]):
            raise DataError(f"{place}: received the graded_list {row['graded_list']!r:.40}, expected outcomes")
        mean = fmean(outcomes)
        if abs(mean - row.get("pass@1", mean)) > ROUNDING:
            raise DataError(f"{place} states pass@1 {row['pass@1']}, but its outcomes have a mean of {mean:g}")
        task = TaskResult(_problem(row, columns), _statement(row, columns), day=day_of(row.get("contest_date")))
        results += [TaskResult(task.id, task.text, correct, task.day) for correct in outcomes]
    beside = file.path.with_name(file.path.name.replace("_eval_all.json", "_eval.json"))
    content = None if beside == file.path else file.beside(beside)
    stated: tuple[StatedScore, ...] = ()
    if isinstance(content, list) and content and "pass@1" in content[0]:
        stated = (StatedScore(content[0]["pass@1"], str(beside)),)
    return TaskLog("LiveCodeBench", tuple(results), stated, columns=used)


def _problem(row: Mapping[str, Any], columns: LogColumns) -> str:
    if columns.id is not None:
        return str(values_at(row, columns.id)[0])
    # one question has several tests where outputs are predicted
    parts = [str(row[name]) for name in ("question_id", "test_id") if name in row]
    return str(row["id"]) if "id" in row else "/".join(parts)


def _statement(row: Mapping[str, Any], columns: LogColumns) -> str:
    return field_text(row, columns.text, "question_content" if "question_content" in row else "code")


def read_bigcode(file: LogFile, _columns: LogColumns) -> TaskLog | None:
    """Read `logs.json` of bigcode-evaluation-harness, {number: [[attempt, outcome], …]}, or its stated score."""
    if "config" in file.fields and any("pass@1" in score for score in _scores(file.fields)):
        stated = [StatedScore(score["pass@1"], str(file.path)) for score in _scores(file.fields) if "pass@1" in score]
        return TaskLog("bigcode-evaluation-harness", (), tuple(stated))
    first = next(iter(file.fields.values()), None)
    if not (isinstance(first, list) and first and isinstance(first[0], list) and "passed" in _last(first[0])):
        return None
    results = []
    for name, attempts in file.fields.items():
        if not attempts:
            raise DataError(f"{file.path}: task {name} has no attempt, expected at least one")
        for _, attempt in attempts:
            correct = outcome_at(attempt["passed"], f"{file.path}: task {name}")
            results.append(TaskResult(name, correct=correct, number=int(name)))
    return TaskLog("bigcode-evaluation-harness", tuple(results))


def _scores(fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (score for score in fields.values() if isinstance(score, dict))


def _last(values: list[Any]) -> Mapping[str, Any]:
    return values[-1] if values and isinstance(values[-1], dict) else {}


def read_predictions(file: LogFile, _columns: LogColumns) -> TaskLog | None:
    """Read predictions, which have no outcomes; rows of HumanEval's own harness have them in `passed`."""
    rows = file.rows or list(file.fields.values())  # swebench also takes one object, id → prediction
    names = rows[0].keys() if rows and isinstance(rows[0], dict) else set()
    is_code = "task_id" in names and bool({"solution", "completion"} & names)
    if not is_code and not {"instance_id", "model_patch"} <= names:
        return None
    results = []
    for number, row in enumerate(rows, 1):
        correct = outcome_at(row["passed"], f"{file.path}: row {number}") if "passed" in names else None
        results.append(TaskResult(str(row["task_id" if is_code else "instance_id"]), correct=correct))
    return TaskLog("predictions with outcomes", tuple(results))
