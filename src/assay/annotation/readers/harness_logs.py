"""Readers of harnesses for any benchmark.

lm-eval          `samples_TASK_….jsonl` of `--log_samples`, and `results_….json` beside it
lighteval        `details_TASK_….parquet`, and `results_….json` of the same run
EvalScope        `reviews/MODEL/BENCHMARK_SUBSET.jsonl`, and `reports/MODEL/BENCHMARK.json`
OpenCompass      `results/MODEL/BENCHMARK.json` with details
HELM             the folder of a run, or its `per_instance_stats.json`
every_eval_ever  JSON lines of samples, and the score of the whole that lies beside them
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.annotation.log_file import LogFile, first_text, values_at
from assay.annotation.outcomes import choose_metric, outcome_at
from assay.annotation.readers.columns import check_paths, field_text
from assay.annotation.task_results import LogColumns, StatedScore, TaskLog, TaskResult
from assay.datasets import ID_COLUMNS, TEXT_COLUMNS, usual_column
from assay.errors import DataError

PROMPT_COLUMNS = ("prompt", "question", "problem", "problem_statement", *TEXT_COLUMNS)
"""Columns of a task that hold its text, in the order in which they are tried."""
UNSCORED = "were not scored"
PERCENT = 100


def _log(
    harness: str,
    rows: Sequence[tuple[str, str, Mapping[str, Any]]],
    columns: LogColumns,
    *,
    place: str,
    stated: Callable[[str], Iterable[StatedScore]] = lambda _: (),
    used: frozenset[str] = frozenset(),
    notes: Iterable[str] = (),
    problems: Mapping[int, str] | None = None,
    is_numbered: bool = False,
) -> TaskLog:
    """Return the log of rows of (id, text, value of each metric), by the chosen metric.

    Ids of a log that is numbered are places in the benchmark.

    Raises:
        DataError: a row lacks the metric, or has a value that is no outcome; a row with a problem may.
    """
    problems = problems or {}
    written = list(notes)
    metrics: dict[str, list[object]] = {}
    for _, _, values in rows:
        for name, value in values.items():
            metrics.setdefault(name, []).append(value)
    metric = choose_metric(columns.metric, metrics, place, written.append)
    results = []
    for number, (name, text, values) in enumerate(rows):
        problem = problems.get(number)
        if metric not in values and problem is None:
            raise DataError(f"{place}: row {number + 1}: no outcome {metric!r}; expected one in every row")
        correct = outcome_at(values[metric], f"{place}: row {number + 1}") if metric in values else None
        if correct is None and problem is None:
            problem = UNSCORED
        place_in = int(name) if is_numbered and name.isdecimal() else None
        results.append(TaskResult(name, text, correct, problem=problem, number=place_in))
    return TaskLog(harness, tuple(results), tuple(stated(metric)), tuple(written), used | {"metric"})


def read_lm_eval(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read a sample log of lm-eval; its metrics are named `metric`, or `metric,filter` of the harness."""
    if not {"doc_id", "doc"} <= file.row_names:
        return None
    rows, notes = file.rows, list[str]()
    filters = list(dict.fromkeys(row.get("filter") for row in rows))
    requested, comma, chosen = (columns.metric or "").rpartition(",")
    if comma and chosen in filters:
        columns = LogColumns(columns.text, columns.id, requested)
    else:
        chosen = filters[0]
    if len(filters) > 1:
        notes.append(f"the log has the filters {', '.join(map(str, filters))}; the outcomes are those of {chosen}")
    text = columns.text or _usual(rows[0], PROMPT_COLUMNS) or "arguments"
    if columns.text is None:
        notes.append(f"the text was taken from {text}; --columns text=NAME names another column")
    name = columns.id or _usual(rows[0], ID_COLUMNS) or "doc_id"
    used = check_paths(file, columns)
    entries = []
    for row in rows:
        if row.get("filter") == chosen:
            values = {metric: row[metric] for metric in row.get("metrics") or () if metric in row}
            entries.append((str(values_at(row, name)[0]), first_text(values_at(row, text)), values))

    def stated(metric: str) -> Iterator[StatedScore]:
        stamp = re.fullmatch(r"samples_(.+)_(\d{4}-\d{2}-\d{2}T[\d.:-]+)\.jsonl?", file.path.name)
        path = file.path.with_name(f"results_{stamp[2]}.json") if stamp else file.path
        content = file.beside(path) if stamp else None
        if stamp and isinstance(content, dict) and _is_mean(content, stamp[1], metric):
            value = content.get("results", {}).get(stamp[1], {}).get(f"{metric},{chosen}")
            if isinstance(value, int | float):
                yield StatedScore(value, str(path))

    return _log(
        "lm-eval",
        entries,
        columns,
        place=str(file.path),
        stated=stated,
        used=used,
        notes=notes,
        is_numbered=name == "doc_id",
    )


def _is_mean(content: Mapping[str, Any], task: str, metric: str) -> bool:
    """Return True unless the configuration of a task names another aggregation of a metric."""
    listed = content.get("configs", {}).get(task, {}).get("metric_list") or ()
    named = [entry.get("aggregation", "mean") for entry in listed if entry.get("metric") == metric]
    return all(aggregation in ("mean", "nanmean") for aggregation in named)


def _usual(row: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """Return the first of these columns that the document of a row has, as a nested one; None without any."""
    usual = usual_column(columns, tuple(row["doc"]))
    return f"doc.{usual}" if usual else None


def read_lighteval(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read the details of lighteval, and the score of the same run."""
    if not {"doc", "metric", "model_response"} <= file.row_names:
        return None
    used = check_paths(file, columns)
    entries = []
    for number, row in enumerate(file.rows):
        name = field_text(row, columns.id, "doc.id") or str(number)
        # a column of a Parquet file holds the metrics of all rows, null where a row has none
        values = {metric: value for metric, value in row["metric"].items() if value is not None}
        entries.append((name, field_text(row, columns.text, "doc.query"), values))

    def stated(metric: str) -> Iterator[StatedScore]:
        named = re.fullmatch(r"details_(.+)_(\d{4}-\d{2}-\d{2}T[\d.:-]+)\.parquet", file.path.name)
        # …/details/MODEL/DATE/details_….parquet and …/results/MODEL/results_DATE.json
        roots = [folder.parent for folder in file.path.parents if folder.name == "details"] if named else []
        for path in sorted(roots[0].glob(f"results/**/results_{named[2]}.json")) if named and roots else ():
            value = (file.beside(path) or {}).get("results", {}).get(named[1], {}).get(metric)
            if isinstance(value, int | float):
                yield StatedScore(value, str(path))

    numbered = columns.id is None
    return _log("lighteval", entries, columns, place=str(file.path), stated=stated, used=used, is_numbered=numbered)


def read_evalscope(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read the reviews of EvalScope, and its report."""
    if "sample_score" not in file.row_names:
        return None
    used = check_paths(file, columns)
    entries, problems, is_numbered = [], {}, columns.id is None
    for number, row in enumerate(file.rows):
        sample, score = row["sample_score"], row["sample_score"]["score"]
        if score.get("status", "success") not in ("success", "fallback"):
            problems[number] = f"were not scored ({score['status']})"
        named = (sample.get("sample_metadata") or {}).get("task_id")
        is_numbered &= named is None
        if named is None:
            named = sample.get("group_id", row["index"])
        name = str(values_at(row, columns.id)[0] if columns.id else named)
        text = first_text(values_at(row, columns.text)) if columns.text else _first_message(row)
        # the main score is the first one
        main = score.get("main_score_name")
        values = {main: score["value"][main], **score["value"]} if main in score["value"] else score["value"]
        entries.append((name, text, values))

    def stated(metric: str) -> Iterator[StatedScore]:
        for path in sorted(file.path.parents[2].glob(f"reports/{file.path.parent.name}/*.json")):
            yield from _of_report(file, path, metric)

    return _log(
        "EvalScope",
        entries,
        columns,
        place=str(file.path),
        stated=stated,
        used=used,
        problems=problems,
        is_numbered=is_numbered,
    )


def _first_message(row: Mapping[str, Any]) -> str:
    asked = [message for message in row.get("messages") or () if message.get("role") == "user"]
    content = asked[0].get("content") if asked else row.get("input")
    if isinstance(content, list):
        return "\n".join(filter(None, (part.get("text") for part in content)))
    return first_text(content)


def _of_report(file: LogFile, path: Path, metric: str) -> Iterator[StatedScore]:
    """Yield the score of the subset whose reviews a file holds."""
    report = file.beside(path)
    for entry in report.get("metrics") or () if isinstance(report, dict) else ():
        for subset in values_at(entry, "categories[].subsets[]"):
            reviews = f"{report.get('dataset_name')}_{subset.get('name')}"
            if file.path.stem == reviews and entry.get("name") in (metric, f"mean_{metric}"):
                yield StatedScore(subset["score"], str(path))


def read_opencompass(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read results of OpenCompass with their details; it states scores in per cent."""
    details = file.fields.get("details")
    listed = list(details.values()) if isinstance(details, dict) else details
    if not isinstance(listed, list) or not listed:
        return None
    names = list(details) if isinstance(details, dict) else list(map(str, range(len(listed))))
    entries = []
    for name, entry in zip(names, listed, strict=True):
        if not isinstance(entry, dict):  # the kind of all entries, "GEN" or "PPL"
            continue
        outcomes = {key: entry[key] for key in ("correct", "is_correct") if key in entry}
        if not outcomes:
            raise DataError(f"{file.path}: entry {name} has no outcome 'correct'; expected one in every entry")
        prompt = entry.get("prompt")
        messages = [part.get("prompt", "") for part in prompt] if isinstance(prompt, list) else [prompt or ""]
        entries.append((str(name), "\n".join(messages), outcomes))

    def stated(_metric: str) -> Iterator[StatedScore]:
        scores = {key: value for key, value in file.fields.items() if isinstance(value, int | float)}
        means = [key for key in scores if key in ("accuracy", "score") or key.endswith("pass@1")]
        for key in means[:1]:
            yield StatedScore(scores[key] / PERCENT, f"{file.path} ({key})")

    return _log("OpenCompass", entries, columns, place=str(file.path), stated=stated, is_numbered=True)


def read_helm(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read the statistics of HELM for each instance, of unchanged instances alone; `--metric` names one of them."""
    path = file.path / "per_instance_stats.json" if file.path.is_dir() else file.path
    if path.name != "per_instance_stats.json" or not path.is_file():
        return None
    rows = [row for row in LogFile(path).content if row.get("perturbation") is None]
    entries, texts = [], _helm_texts(path)
    for row in rows:
        values = {stat["name"]["name"]: stat["mean"] for stat in row["stats"] if stat.get("count", 1)}
        entries.append((str(row["instance_id"]), texts.get(row["instance_id"], ""), values))
    preferred = next((name for name in HELM_METRICS if any(name in values for *_, values in entries)), None)
    if columns.metric is None and preferred is not None:
        columns = LogColumns(columns.text, columns.id, preferred)
    everything = LogFile(path.with_name("stats.json")).content if path.with_name("stats.json").is_file() else []
    splits = {stat["name"].get("split") for row in rows for stat in row["stats"]}

    def stated(metric: str) -> Iterator[StatedScore]:
        means = [
            stat for stat in everything if stat["name"]["name"] == metric and len(stat["name"].keys() & _PARTS) == 0
        ]
        for stat in means if len(splits) == 1 else ():
            if stat["name"].get("split") in splits and "mean" in stat:
                yield StatedScore(stat["mean"], str(path.with_name("stats.json")))

    return _log("HELM", entries, columns, place=str(path), stated=stated)


HELM_METRICS = (
    "pass",
    "strict_correctness",
    "code_eval_acc",
    "exact_match",
    "quasi_exact_match",
    "ifeval_strict_accuracy",
)
"""Statistics of HELM that say whether an answer is right, in the order in which they are tried."""
_PARTS = {"sub_split", "perturbation"}


def _helm_texts(path: Path) -> dict[str, str]:
    """Return the texts of the instances, by id, where a file of the run has them."""
    instances = LogFile(path.with_name("instances.json")).content if path.with_name("instances.json").is_file() else []
    state = LogFile(path).beside(path.with_name("scenario_state.json"))
    if not instances and isinstance(state, dict):
        instances = [request["instance"] for request in state.get("request_states") or ()]
    unchanged = [instance for instance in instances if instance.get("perturbation") is None]
    return {instance["id"]: first_text(instance["input"].get("text")) for instance in unchanged}


def read_every_eval_ever(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read the samples of every_eval_ever, or the scores of the whole: `--metric` names an evaluation."""
    if {"evaluation_results", "eval_library"} <= file.fields.keys():
        return TaskLog("every_eval_ever", ())
    if not {"sample_id", "evaluation", "evaluation_name"} <= file.row_names:
        return None
    used = check_paths(file, columns)
    notes: list[str] = []
    names = {str(row["evaluation_name"]): [row["evaluation"]["score"]] for row in file.rows}
    chosen = choose_metric(columns.metric, names, str(file.path), notes.append)
    rows = [row for row in file.rows if str(row["evaluation_name"]) == chosen]
    entries, problems = [], {}
    for number, row in enumerate(rows):
        if row.get("error"):
            problems[number] = "errored"
        name = str(values_at(row, columns.id)[0] if columns.id else row["sample_id"])
        entries.append((name, field_text(row, columns.text, "input.raw"), {chosen: row["evaluation"]["score"]}))

    def stated(_metric: str) -> Iterator[StatedScore]:
        for path in sorted(file.path.parent.glob("*.json")):
            whole = file.beside(path)
            if isinstance(whole, dict) and whole.get("evaluation_id") == rows[0]["evaluation_id"]:
                for result in whole.get("evaluation_results") or ():
                    if result.get("evaluation_name") == chosen and _is_share(result):
                        yield StatedScore(result["score_details"]["score"], str(path))

    return _log(
        "every_eval_ever",
        entries,
        LogColumns(),
        place=str(file.path),
        stated=stated,
        used=used,
        notes=notes,
        problems=problems,
    )


def _is_share(result: Mapping[str, Any]) -> bool:
    """Return True for a score between 0 and 1 of samples, which a mean of theirs can be compared with."""
    configured = result.get("metric_config") or {}
    return configured.get("max_score", 1) == 1 and 0 <= result["score_details"]["score"] <= 1
