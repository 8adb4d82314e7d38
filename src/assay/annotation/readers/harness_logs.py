"""Readers of harnesses for any benchmark.

lm-eval          `samples_TASK_….jsonl` of `--log_samples`, and `results_….json` beside it
lighteval        `details_TASK_….parquet`, and `results_….json` of the same run
EvalScope        `reviews/MODEL/BENCHMARK_SUBSET.jsonl`, and `reports/MODEL/BENCHMARK.json`
OpenCompass      `results/MODEL/BENCHMARK.json` with details
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import methodcaller
from typing import Any

from assay.annotation.log_file import LogFile, first_text, values_at
from assay.annotation.readers.attempts import Attempts
from assay.annotation.readers.columns import check_paths, field_text
from assay.annotation.task_results import LogColumns, StatedScore, TaskLog
from assay.datasets import ID_COLUMNS, TEXT_COLUMNS, usual_column
from assay.errors import DataError

PROMPT_COLUMNS = ("prompt", "question", "problem", "problem_statement", *TEXT_COLUMNS)
"""Columns of a task that hold its text, in the order in which they are tried."""
STAMP = r"(\d{4}-\d{2}-\d{2}T[\d.:-]+)"
"""Time of a run in the names of its files."""
PERCENT = 100


def read_lm_eval(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read a sample log of lm-eval; its metrics are named `metric`, or `metric,filter` of the harness."""
    if not {"doc_id", "doc"} <= file.row_names:
        return None
    rows = file.rows
    filters = list(dict.fromkeys(map(methodcaller("get", "filter"), rows)))
    requested, chosen = _metric_and_filter(columns.metric, filters)
    text = columns.text or _usual(rows[0], PROMPT_COLUMNS) or "arguments"
    name = columns.id or _usual(rows[0], ID_COLUMNS) or "doc_id"
    attempts = Attempts(str(file.path), numbered=name == "doc_id")
    if len(filters) > 1:
        listed = ", ".join(map(str, filters))
        attempts.notes.append(f"the log has the filters {listed}; the outcomes are those of {chosen}")
    if columns.text is None:
        attempts.notes.append(f"the text was taken from {text}; --columns text=NAME names another column")
    used = check_paths(file, columns)
    for row in rows:
        # a log has each task once for each filter: all of them together would count it twice
        if row.get("filter") == chosen:
            values = {metric: row[metric] for metric in row.get("metrics") or () if metric in row}
            attempts.add(values_at(row, name)[0], first_text(values_at(row, text)), values)
    metric = attempts.choose(requested)
    return attempts.log("lm-eval", metric, stated=_lm_eval_score(file, metric, chosen), columns=used)


def _metric_and_filter(requested: str | None, filters: Sequence[str]) -> tuple[str | None, str]:
    """Return the requested metric and filter: "metric,filter" names both, else it is the first filter."""
    metric, comma, chosen = (requested or "").rpartition(",")
    if comma and chosen in filters:
        return metric, chosen
    return requested, filters[0]


def _lm_eval_score(file: LogFile, metric: str, chosen: str | None) -> Iterator[StatedScore]:
    named = re.fullmatch(rf"samples_(.+)_{STAMP}\.jsonl?", file.path.name)
    if named is None:
        return
    task, path = named[1], file.path.with_name(f"results_{named[2]}.json")
    content = file.beside(path)
    if isinstance(content, dict) and _is_mean(content, task, metric):
        # names of scores are metric and filter in one
        value = content.get("results", {}).get(task, {}).get(f"{metric},{chosen}")
        if isinstance(value, int | float):
            yield StatedScore(value, str(path))


def _is_mean(content: Mapping[str, Any], task: str, metric: str) -> bool:
    """Return True unless the configuration of a task names another aggregation of a metric."""
    for entry in content.get("configs", {}).get(task, {}).get("metric_list") or ():
        if entry.get("metric") == metric and entry.get("aggregation", "mean") not in ("mean", "nanmean"):
            return False
    return True


def _usual(row: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """Return the first of these columns that the document of a row has, as a nested one; None without any."""
    usual = usual_column(columns, tuple(row["doc"]))
    return usual and f"doc.{usual}"


def read_lighteval(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read the details of lighteval, and the score of the same run."""
    if not {"doc", "metric", "model_response"} <= file.row_names:
        return None
    used = check_paths(file, columns)
    attempts = Attempts(str(file.path), numbered=columns.id is None)
    for number, row in enumerate(file.rows):
        # a column of a Parquet file holds the metrics of all rows, null where a row has none
        values = {metric: value for metric, value in row["metric"].items() if value is not None}
        name = field_text(row, columns.id, "doc.id") or str(number)
        attempts.add(name, field_text(row, columns.text, "doc.query"), values)
    metric = attempts.choose(columns.metric)
    return attempts.log("lighteval", metric, stated=_lighteval_score(file, metric), columns=used)


def _lighteval_score(file: LogFile, metric: str) -> Iterator[StatedScore]:
    named = re.fullmatch(rf"details_(.+)_{STAMP}\.parquet", file.path.name)
    if named is None:
        return
    # …/details/MODEL/DATE/details_….parquet and …/results/MODEL/results_DATE.json
    for folder in file.path.parents:
        if folder.name == "details":
            for path in sorted(folder.parent.glob(f"results/**/results_{named[2]}.json")):
                value = (file.beside(path) or {}).get("results", {}).get(named[1], {}).get(metric)
                if isinstance(value, int | float):
                    yield StatedScore(value, str(path))


def read_evalscope(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read the reviews of EvalScope, and its report."""
    if "sample_score" not in file.row_names:
        return None
    used = check_paths(file, columns)
    attempts = Attempts(str(file.path))
    for row in file.rows:
        sample, score = row["sample_score"], row["sample_score"]["score"]
        problem = None
        if score.get("status", "success") not in ("success", "fallback"):
            problem = f"were not scored ({score['status']})"
        name = (sample.get("sample_metadata") or {}).get("task_id")
        if columns.id is not None:
            name = values_at(row, columns.id)[0]
        # only a row without an id of the benchmark is known by its number
        attempts.numbered = name is None
        if name is None:
            name = sample.get("group_id", row["index"])
        text = first_text(values_at(row, columns.text)) if columns.text else _first_message(row)
        # the main score is the first, which decides where no metric is requested
        values = sorted(score["value"].items(), key=lambda entry: entry[0] != score.get("main_score_name"))
        attempts.add(name, text, dict(values), problem=problem)
    metric = attempts.choose(columns.metric)
    return attempts.log("EvalScope", metric, stated=_evalscope_score(file, metric), columns=used)


def _first_message(row: Mapping[str, Any]) -> str:
    """Return the text of the first message of a user; rows of earlier versions have it as `input`."""
    for message in row.get("messages") or ():
        content = message.get("content")
        if message.get("role") == "user" and isinstance(content, list):
            return "\n".join(values_at(content, "[].text"))
        if message.get("role") == "user":
            return first_text(content)
    return first_text(row.get("input"))


def _evalscope_score(file: LogFile, metric: str) -> Iterator[StatedScore]:
    """Yield the score of the subset whose reviews a file holds."""
    if len(file.path.absolute().parents) < 3:  # noqa: PLR2004  reviews/MODEL/FILE
        return
    root, model = file.path.absolute().parents[2], file.path.absolute().parent.name
    for path in sorted(root.glob(f"reports/{model}/*.json")):
        report = LogFile(path).fields
        for entry in report.get("metrics") or ():
            for subset in values_at(entry, "categories[].subsets[]"):
                is_same = file.path.stem == f"{report.get('dataset_name')}_{subset.get('name')}"
                # a mean may be named after its metric, or `mean_` and its metric
                if is_same and entry.get("name") in (metric, f"mean_{metric}"):
                    yield StatedScore(subset["score"], str(path))


def read_opencompass(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read results of OpenCompass with their details; it states scores in per cent."""
    details = file.fields.get("details")
    # a list has the tasks in the order of the benchmark
    if isinstance(details, list):
        details = dict(enumerate(details))
    if not isinstance(details, dict) or not details:
        return None
    attempts = Attempts(str(file.path), numbered=True)
    for name, entry in details.items():
        if not isinstance(entry, dict):  # the kind of all entries, "GEN" or "PPL"
            continue
        outcomes = {key: entry[key] for key in ("correct", "is_correct") if key in entry}
        if not outcomes:
            raise DataError(f"{file.path}: entry {name} has no outcome 'correct'; expected one in every entry")
        attempts.add(name, _prompt(entry.get("prompt")), outcomes)
    metric = attempts.choose(columns.metric)
    return attempts.log("OpenCompass", metric, stated=_opencompass_score(file))


def _prompt(prompt: object) -> str:
    """Return the text of a prompt, which may be a list of messages."""
    return "\n".join(values_at(prompt, "[].prompt")) or first_text(prompt)


def _opencompass_score(file: LogFile) -> Iterator[StatedScore]:
    """Yield the first score that is a mean of the outcomes."""
    for key, value in file.fields.items():
        if isinstance(value, int | float) and (key in ("accuracy", "score") or key.endswith("pass@1")):
            yield StatedScore(value / PERCENT, f"{file.path} ({key})")
            return
