"""Readers of forms in which results are published.

HELM             the folder of a run, or its `per_instance_stats.json`; `stats.json` states the score
every_eval_ever  JSON lines of samples, and the score of the whole that lies beside them
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.annotation.log_file import LogFile, first_text, values_at
from assay.annotation.outcomes import choose_metric
from assay.annotation.readers.attempts import Attempts
from assay.annotation.readers.columns import check_paths, field_text
from assay.annotation.task_results import LogColumns, StatedScore, TaskLog

HELM_METRICS = ("pass", "strict_correctness", "code_eval_acc", "exact_match", "quasi_exact_match")
"""Statistics of HELM that say whether an answer is right, in the order in which they are tried."""
PARTS = frozenset({"sub_split", "perturbation"})
"""Fields of the name of a statistic of some instances alone."""


def read_helm(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read the statistics of HELM for each instance, of unchanged instances alone; `--metric` names one of them."""
    path = file.path / "per_instance_stats.json" if file.path.is_dir() else file.path
    if path.name != "per_instance_stats.json" or not path.is_file():
        return None
    texts, attempts, splits = _helm_texts(path), Attempts(str(path)), set()
    for row in LogFile(path).content:
        if row.get("perturbation") is None:
            # a statistic that counted nothing has no mean
            values = {stat["name"]["name"]: stat["mean"] for stat in row["stats"] if stat.get("count", 1)}
            splits |= set(values_at(row, "stats[].name.split"))
            attempts.add(row["instance_id"], texts.get(row["instance_id"], ""), values)
    metric = attempts.choose(columns.metric, HELM_METRICS)
    stated = []
    beside = path.with_name("stats.json")
    # a score is one of a split, so that only results of a single split can be compared with it
    for stat in (len(splits) == 1 and file.beside(beside)) or ():
        name = stat["name"]
        if name["name"] == metric and name.get("split") in splits and not PARTS & name.keys() and "mean" in stat:
            stated.append(StatedScore(stat["mean"], str(beside)))
    return attempts.log("HELM", metric, stated=stated)


def _helm_texts(path: Path) -> dict[str, str]:
    """Return the texts of the instances, by id, where a file of the run has them."""
    run = LogFile(path)
    instances = run.beside(path.with_name("instances.json"))
    if instances is None:
        instances = values_at(run.beside(path.with_name("scenario_state.json")), "request_states[].instance")
    texts = {}
    for instance in instances:
        if instance.get("perturbation") is None:
            texts[instance["id"]] = first_text(instance["input"].get("text"))
    return texts


def read_every_eval_ever(file: LogFile, columns: LogColumns) -> TaskLog | None:
    """Read the samples of every_eval_ever, or the scores of the whole: `--metric` names an evaluation."""
    if {"evaluation_results", "eval_library"} <= file.fields.keys():
        return TaskLog("every_eval_ever", ())
    if not {"sample_id", "evaluation", "evaluation_name"} <= file.row_names:
        return None
    used = check_paths(file, columns)
    scores: dict[str, list[object]] = {}
    for row in file.rows:
        scores.setdefault(str(row["evaluation_name"]), []).append(row["evaluation"]["score"])
    attempts = Attempts(str(file.path))
    chosen = choose_metric(columns.metric, scores, attempts.place, note=attempts.notes.append)
    for row in file.rows:
        if str(row["evaluation_name"]) == chosen:
            name = values_at(row, columns.id or "sample_id")[0]
            text = field_text(row, columns.text, "input.raw")
            attempts.add(
                name, text, {chosen: row["evaluation"]["score"]}, problem="errored" * bool(row.get("error")) or None
            )
    return attempts.log("every_eval_ever", chosen, stated=_whole_score(file, chosen), columns=used)


def _whole_score(file: LogFile, chosen: str) -> Iterator[StatedScore]:
    for path in sorted(file.path.parent.glob("*.json")):
        whole = LogFile(path).fields
        # several evaluations may lie in one folder: the id says which file is on these rows
        if whole.get("evaluation_id") == file.rows[0]["evaluation_id"]:
            for result in whole.get("evaluation_results") or ():
                if result.get("evaluation_name") == chosen and _is_share(result):
                    yield StatedScore(result["score_details"]["score"], str(path))


def _is_share(result: Mapping[str, Any]) -> bool:
    """Return True for a score between 0 and 1 of samples, which a mean of theirs can be compared with."""
    highest: object = (result.get("metric_config") or {}).get("max_score", 1)
    return highest == 1 and 0 <= float(result["score_details"]["score"]) <= 1
