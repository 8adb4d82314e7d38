"""Run a local task on `builtin:small` with a real evaluation harness, in a process of its own; return the log.

Usage: python harness_runs.py lm-eval|inspect|inspect-dict|evalplus|swebench FOLDER MODEL, or score LOG EVIDENCE
"""

import json
import sys
from pathlib import Path

ITEMS = [
    {"task_id": f"T/{i}", "prompt": f"def add_{i}(first, second):\n    total = first + second + {i}\n", "right": i % 3}
    for i in range(24)
]
TASK = """
task: local_functions
dataset_path: json
dataset_kwargs:
  data_files:
    test: {items}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{prompt}}}}"
doc_to_choice: ["    return total\\n", "    import nothing\\n", "    raise total\\n"]
doc_to_target: right
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
"""


def lm_eval_log(folder: Path, model: str) -> Path:
    from lm_eval import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    items = folder / "items.jsonl"
    items.write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    (folder / "task.yaml").write_text(TASK.format(items=items))
    tracker = EvaluationTracker(output_path=str(folder / "out"))
    results = simple_evaluate(
        model="hf",
        model_args={"pretrained": model, "dtype": "float32"},
        tasks=["local_functions"],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        device="cpu",
        batch_size=8,
        log_samples=True,
        bootstrap_iters=0,
        evaluation_tracker=tracker,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    tracker.save_results_samples("local_functions", samples["local_functions"])
    return next((folder / "out").rglob("samples_*.jsonl"))


def inspect_logs(folder: Path, model: str) -> list[Path]:
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.log import write_eval_log
    from inspect_ai.model import get_model
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    samples = [Sample(id=item["task_id"], input=item["prompt"], target="re") for item in ITEMS]
    task = inspect_ai.Task(dataset=samples, solver=generate(max_tokens=4), scorer=includes(), name="local_functions")
    local = get_model(
        "hf/local", model_path=model, tokenizer_path=model, device="cpu", chat_template="{{ messages[0]['content'] }}"
    )
    log = inspect_ai.eval(task, model=local, log_dir=str(folder), log_format="eval", display="none")[0]
    as_json = folder / "log.json"
    write_eval_log(log, str(as_json))
    return [Path(log.location), as_json]


def inspect_dict_log(folder: Path) -> Path:
    """Write a log whose scorer returns a dict, and whose third sample errors."""
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Score, accuracy, mean, scorer
    from inspect_ai.solver import solver

    @scorer(metrics={"correct": [accuracy()], "length": [mean()]})
    def by_key():
        async def score(state, target):
            number = int(state.sample_id.partition("/")[2])
            return Score(value={"correct": "I" if number == 1 else "C", "length": 7 + number})

        return score

    @solver
    def fails():
        async def solve(state, generate):
            if state.sample_id == "T/2":
                raise ValueError("no answer")
            return state

        return solve

    samples = [Sample(id=item["task_id"], input=item["prompt"]) for item in ITEMS]
    task = inspect_ai.Task(dataset=samples, solver=fails(), scorer=by_key(), name="by_key")
    log = inspect_ai.eval(task, model="mockllm/model", log_dir=str(folder), display="none", fail_on_error=False)[0]
    return Path(log.location)


def scored_log(log: Path, evidence: str) -> Path:
    """Add the scorer `assay/contamination` to a finished log."""
    import inspect_ai
    from inspect_ai.log import read_eval_log, write_eval_log

    from assay.api.inspect_extension import contamination

    scored = inspect_ai.score(read_eval_log(str(log)), contamination(scan=evidence), action="append", display="none")
    path = log.with_name("scored.json")
    write_eval_log(scored, str(path))
    return path


def evalplus_files(folder: Path) -> list[Path]:
    """Write predictions with EvalPlus's own writer, and results in the form of its `evaluate`."""
    from evalplus.data.utils import write_jsonl

    predictions = folder / "samples.jsonl"
    write_jsonl(str(predictions), [{"task_id": item["task_id"], "solution": "def f(): pass"} for item in ITEMS])
    results = {
        item["task_id"]: [{"task_id": item["task_id"], "solution": "", "base_status": "pass", "plus_status": plus}]
        for item, plus in zip(ITEMS, ["pass", "fail"] * len(ITEMS), strict=False)
    }
    outcome = folder / "samples_eval_results.json"
    outcome.write_text(json.dumps({"date": "2026-01-01 00:00", "hash": "0" * 32, "eval": results}))
    return [predictions, outcome]


def swebench_files(folder: Path) -> list[Path]:
    """Write predictions, and the report of a run by SWE-bench's own `make_run_report`."""
    import os
    from unittest.mock import MagicMock

    # the client of a cloud service, which the report does not use
    for name in ("modal", "modal.container_process", "modal.io_streams"):
        sys.modules[name] = MagicMock()
    from swebench.harness.constants import LOG_REPORT, RUN_EVALUATION_LOG_DIR
    from swebench.harness.reporting import make_run_report

    os.chdir(folder)
    predictions = {
        item["task_id"]: {"instance_id": item["task_id"], "model_name_or_path": "m", "model_patch": "diff"}
        for item in ITEMS
    }
    path = folder / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in predictions.values()))
    for place, name in enumerate(predictions):
        report = RUN_EVALUATION_LOG_DIR / "run" / "m" / name / LOG_REPORT
        report.parent.mkdir(parents=True)
        report.write_text(json.dumps({name: {"resolved": place % 2 == 0}}))
    return [path, folder / make_run_report(predictions, list(predictions.values()), "run")]


RUNS = {
    "lm-eval": lambda folder, model: [lm_eval_log(folder, model)],
    "inspect": inspect_logs,
    "evalplus": lambda folder, _: evalplus_files(folder),
    "swebench": lambda folder, _: swebench_files(folder),
    "inspect-dict": lambda folder, _: [inspect_dict_log(folder)],
    "score": lambda log, evidence: [scored_log(log, evidence)],
}

if __name__ == "__main__":
    harness, first, second = sys.argv[1:]
    sys.stdout.write(json.dumps([str(path) for path in RUNS[harness](Path(first), second)]) + "\n")
