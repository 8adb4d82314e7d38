"""Results of single tasks from the files that evaluation harnesses write.

lm-eval      `samples_TASK_….jsonl` of `--log_samples`
inspect      `.eval` and `.json` logs, read by inspect_ai itself
EvalPlus     predictions (`task_id`, `solution` or `completion`), and `…_eval_results.json`
SWE-bench    predictions (`instance_id`, `model_patch`), and the report of a run (`resolved_ids`)

Predictions have no outcome: name the file with the outcomes beside them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from assay.datasets import ID_COLUMNS, TEXT_COLUMNS, check_nested, nested_value, read_rows, usual_column
from assay.errors import DataError, plain_reason, require
from assay.files import parse_json

PROMPT_COLUMNS = ("prompt", "question", "problem", "problem_statement", *TEXT_COLUMNS)
"""Columns of a task that hold its text, in the order in which they are tried."""

FORMS = "an lm-eval sample log, an inspect log, or predictions and results of EvalPlus or SWE-bench"


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Result of one task.

    Attributes:
        id: of the task.
        text: of the task, as the log has it; "" where it has none.
        correct: outcome between 0 and 1, the mean over repetitions; None where the file has no outcome.
    """

    id: str
    text: str = ""
    correct: float | None = None


@dataclass(frozen=True, slots=True)
class LogColumns:
    """Places of the fields of a task in a log; None for the usual ones.

    Attributes:
        text: column of the text; dots lead into nested columns: "doc.prompt".
        id: column of the id.
        metric: name of the metric of lm-eval, or of the scorer of inspect.
    """

    text: str | None = None
    id: str | None = None
    metric: str | None = None


def read_task_results(
    paths: Sequence[Path], columns: LogColumns, note: Callable[[str], None]
) -> tuple[TaskResult, ...]:
    """Return the tasks of several files, in their order; entries of one id are one task.

    Args:
        paths: a log, or predictions and the file with their outcomes.
        columns: places of the fields.
        note: takes a sentence on what was guessed.

    Raises:
        DataError: a file cannot be read, or is of no known form.
        MissingExtra: an inspect log without inspect_ai.
    """
    merged: dict[str, list[TaskResult]] = {}
    for path in paths:
        try:
            results = list(_results(path, columns, note))
        except (KeyError, TypeError, AttributeError) as error:  # a field that is missing, or of another type
            raise DataError(f"{path}: an entry is damaged ({plain_reason(error)}); expected {FORMS}") from error
        for result in results:
            merged.setdefault(result.id, []).append(result)
    if not merged:
        raise DataError(f"{', '.join(map(str, paths))}: no task in it, expected {FORMS}")
    return tuple(map(_merged, merged.values()))


def _merged(results: Sequence[TaskResult]) -> TaskResult:
    outcomes = [result.correct for result in results if result.correct is not None]
    text = next((result.text for result in results if result.text), "")
    return replace(results[0], text=text, correct=fmean(outcomes) if outcomes else None)


def _results(path: Path, columns: LogColumns, note: Callable[[str], None]) -> Iterator[TaskResult]:
    if path.suffix == ".eval":
        return _of_inspect(path, columns, note)
    if path.suffix == ".json":
        content = _content(path)
        if isinstance(content, dict) and {"eval", "status", "version"} <= content.keys():
            return _of_inspect(path, columns, note)
        if isinstance(content, dict) and isinstance(content.get("eval"), dict):
            return _of_evalplus(content["eval"])
        if isinstance(content, dict) and "resolved_ids" in content:
            return _of_swebench_report(content)
        # swebench also takes predictions as one object, id → prediction
        rows = list(content.values()) if isinstance(content, dict) else content
        return _of_rows(rows, columns, note, path=path) if isinstance(rows, list) else iter(())
    return _of_rows(list(read_rows(path, note)), columns, note, path=path)


def _content(path: Path) -> Any:  # noqa: ANN401  JSON
    try:
        return parse_json(path.read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}, expected {FORMS}") from error
    except ValueError as error:
        raise DataError(f"{path} is not a JSON file: {plain_reason(error)}") from error


def _of_rows(
    rows: Sequence[Any], columns: LogColumns, note: Callable[[str], None], *, path: Path
) -> Iterator[TaskResult]:
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    if {"doc_id", "doc"} <= first.keys():
        return _of_lm_eval(rows, columns, note, path=path)
    if {"instance_id", "model_patch"} <= first.keys():
        return (TaskResult(str(row["instance_id"])) for row in rows)
    if "task_id" in first and {"solution", "completion"} & first.keys():
        return (TaskResult(str(row["task_id"]), correct=_outcome(row.get("passed"))) for row in rows)
    raise DataError(f"{path}: received rows with {', '.join(list(first)[:8]) or 'nothing'}; expected {FORMS}")


def _of_lm_eval(
    rows: Sequence[Mapping[str, Any]], columns: LogColumns, note: Callable[[str], None], *, path: Path
) -> Iterator[TaskResult]:
    first = rows[0]
    metric = columns.metric or next(iter(first.get("metrics") or ()), None)
    if metric is None or metric not in first:
        raise DataError(f"metric {metric!r}: expected one of {', '.join(first.get('metrics') or ())}")
    filters = list(dict.fromkeys(row.get("filter") for row in rows))
    if len(filters) > 1:
        note(f"the log has the filters {', '.join(map(str, filters))}; the outcomes are those of {filters[0]}")
    text = columns.text or _usual(first, PROMPT_COLUMNS) or "arguments"
    if columns.text is None:
        note(f"the text was taken from {text}; --columns text=NAME names another column")
    name = columns.id or _usual(first, ID_COLUMNS) or "doc_id"
    for column in filter(None, (columns.text, columns.id)):
        check_nested(rows, column, str(path))
    for row in rows:
        if row.get("filter") == filters[0]:
            value = _first_text(nested_value(row, text))
            yield TaskResult(str(nested_value(row, name)), value, _outcome(row[metric]))


def _usual(row: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """Return the first of these columns that the document of a row has, as a nested one; None without any."""
    usual = usual_column(columns, tuple(row["doc"]))
    return f"doc.{usual}" if usual else None


def _first_text(value: object) -> str:
    """Return a text, or the first one in a nested value, as the arguments of a request are."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence):
        return next(filter(None, map(_first_text, value)), "")
    return ""


def _of_inspect(path: Path, columns: LogColumns, note: Callable[[str], None]) -> Iterator[TaskResult]:
    require("inspect_ai", purpose=f"the inspect log {path}")
    from inspect_ai.log import read_eval_log  # noqa: PLC0415  slow to import
    from inspect_ai.scorer import value_to_float  # noqa: PLC0415

    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # inspect_ai raises what zip, JSON and pydantic raise
        raise DataError(f"{path} cannot be read as an inspect log: {plain_reason(error)[:200]}") from error
    as_float = value_to_float()
    samples = log.samples or []
    scorers = list(dict.fromkeys(chain.from_iterable(sample.scores or () for sample in samples)))
    scorer = columns.metric or next(iter(scorers), None)
    if columns.metric is not None and scorer not in scorers:
        raise DataError(f"{path}: scorer {scorer!r}: expected one of {', '.join(scorers) or 'none'}")
    if len(scorers) > 1 and columns.metric is None:
        note(f"the log has the scorers {', '.join(scorers)}; the outcomes are those of {scorer}")
    dumped = [sample.model_dump(mode="json") for sample in samples] if columns.text or columns.id else []
    for column in filter(None, (columns.text, columns.id)):
        check_nested(dumped, column, str(path))
    for number, sample in enumerate(samples):
        score = (sample.scores or {}).get(str(scorer))
        value = None if score is None else _outcome(as_float(score.value))
        if columns.text is not None:
            text = _first_text(nested_value(dumped[number], columns.text))
        else:
            text = sample.input if isinstance(sample.input, str) else "\n".join(m.text for m in sample.input)
        name = sample.id if columns.id is None else nested_value(dumped[number], columns.id)
        yield TaskResult(str(name), text, value)


def _of_evalplus(results: Mapping[str, Any]) -> Iterator[TaskResult]:
    """Yield the outcomes of EvalPlus: a solution counts where it passes the base tests and the further ones."""
    for name, attempts in results.items():
        for attempt in attempts:
            # None: the further tests were not run
            statuses = {attempt.get("base_status"), attempt.get("plus_status")}
            yield TaskResult(name, correct=float(statuses <= {"pass", None}))


def _of_swebench_report(report: Mapping[str, Any]) -> Iterator[TaskResult]:
    """Yield the outcomes of a run of SWE-bench: every submitted instance that is not resolved counts as wrong."""
    resolved = set(report["resolved_ids"])
    # a report that does not list the submitted instances names those that were judged
    names = report.get("submitted_ids") or [*report["resolved_ids"], *report.get("unresolved_ids", ())]
    for name in dict.fromkeys([*names, *sorted(resolved)]):
        yield TaskResult(str(name), correct=float(name in resolved))


def _outcome(value: object) -> float | None:
    """Return an outcome between 0 and 1; None where there is none.

    Raises:
        DataError: a value that is no outcome of one task.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):  # NaN: the sample was not scored
        return None
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:
        raise DataError(f"outcome {value!r}: expected a number between 0 and 1; name another metric with --metric")
    return float(value)
