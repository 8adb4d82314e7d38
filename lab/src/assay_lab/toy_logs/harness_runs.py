"""Write a toy log with a harness: run by the interpreter of that harness, which has neither assay nor this package.

Usage: python harness_runs.py HARNESS FOLDER [CHECKOUT]. Tasks, solutions and tests are ours. Of four solutions the
first passes, the second fails a further test, the third fails all, and the fourth does not end.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

TASKS = 12
ENDLESS = "    while True:\n        pass\n"


def body(number: int, kinds: int = 4) -> str:
    """Return the body of a toy solution: right, right for small numbers, wrong, or endless, in turn."""
    right = f"    return value + {number}\n"
    return (right, f"    return value + {number} if value < 100 else 0\n", "    return None\n", ENDLESS)[number % kinds]


def head(number: int) -> str:
    """Return the head of a toy task."""
    return f'def add_{number}(value: int) -> int:\n    """Return the value plus {number}."""\n'


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def evalplus(folder: Path) -> None:
    """Evaluate toy solutions with EvalPlus, whose tasks a variable of the environment replaces."""
    tasks: list[Mapping[str, object]] = []
    solutions: list[Mapping[str, object]] = []
    for number in range(TASKS):
        tasks.append(
            {
                "task_id": f"HumanEval/{number}",
                "prompt": head(number),
                "canonical_solution": f"    return value + {number}\n",
                "entry_point": f"add_{number}",
                "contract": "",
                "base_input": [[1], [2]],
                "plus_input": [[3], [1000]],
                "atol": 0,
            }
        )
        solutions.append({"task_id": f"HumanEval/{number}", "solution": head(number) + body(number)})
    write_rows(folder / "tasks.jsonl", tasks)
    write_rows(folder / "samples.jsonl", solutions)
    os.environ["HUMANEVAL_OVERRIDE_PATH"] = str(folder / "tasks.jsonl")
    from evalplus.evaluate import evaluate

    evaluate("humaneval", samples=str(folder / "samples.jsonl"), parallel=1)


def bigcodebench(folder: Path) -> None:
    """Evaluate toy solutions with BigCodeBench on this machine."""
    tasks: list[Mapping[str, object]] = []
    solutions: list[Mapping[str, object]] = []
    for number in range(TASKS):
        lines = ["import unittest", "class TestCases(unittest.TestCase):"]
        for value in (1, 1000):
            check = f"self.assertEqual(add_{number}({value}), {number + value})"
            lines += [f"    def test_{value}(self):", f"        {check}"]
        tasks.append(
            {
                "task_id": f"BigCodeBench/{number}",
                "complete_prompt": head(number),
                "instruct_prompt": f"Add {number} to a value.",
                "code_prompt": f"def add_{number}(value):\n",
                "canonical_solution": f"    return value + {number}\n",
                "test": "\n".join(lines),
                "entry_point": f"add_{number}",
            }
        )
        # it waits four minutes for a solution that does not end
        solutions.append({"task_id": f"BigCodeBench/{number}", "solution": head(number) + body(number, kinds=3)})
    write_rows(folder / "tasks.jsonl", tasks)
    write_rows(folder / "samples.jsonl", solutions)
    os.environ["BIGCODEBENCH_OVERRIDE_PATH"] = str(folder / "tasks.jsonl")
    from bigcodebench.evaluate import evaluate

    evaluate("complete", "full", samples=str(folder / "samples.jsonl"), execution="local", no_gt=True, parallel=1)


def livecodebench(folder: Path, checkout: Path) -> None:
    """Evaluate toy solutions with LiveCodeBench, from a checkout: two attempts for each problem."""
    sys.path.insert(0, str(checkout))
    from lcb_runner.benchmarks.code_generation import CodeGenerationProblem
    from lcb_runner.evaluation import codegen_metrics, extract_instance_results

    problems, programs = [], []
    for number in range(TASKS):
        cases = [{"input": f"{value}\n", "output": f"{value + number}\n", "testtype": "stdin"} for value in (1, 1000)]
        problems.append(
            CodeGenerationProblem(
                question_title=f"Add {number}",
                question_content=f"Read a whole number from the input and print it plus {number}.",
                platform="atcoder",
                question_id=f"toy_{number}",
                contest_id="toy",
                contest_date=f"2025-{number + 1:02}-01T00:00:00",
                starter_code="",
                difficulty="easy",
                public_test_cases=json.dumps(cases[:1]),
                private_test_cases=json.dumps(cases[1:]),
                metadata="{}",
            )
        )
        first = f"value = int(input())\nprint(value + {number})\n"
        second = f"value = int(input())\nprint(value + {number} if value < 100 else 0)\n"
        programs.append([first if number % 2 else second, second])
    samples = [problem.get_evaluation_sample() for problem in problems]
    metrics = codegen_metrics(samples, programs, k_list=[1], num_process_evaluate=1, timeout=6)
    graded = extract_instance_results(metrics[1])
    rows = []
    for problem, codes, outcomes, details in zip(problems, programs, graded, metrics[2], strict=True):
        rows.append(problem.insert_output_evaluation(codes, codes, outcomes, metadata=details))
    # the names and contents that the harness's own command gives its two files
    (folder / "Scenario.codegeneration_2_0.2_eval.json").write_text(json.dumps(metrics, indent=4))
    (folder / "Scenario.codegeneration_2_0.2_eval_all.json").write_text(json.dumps(rows, indent=4))


def lighteval(folder: Path) -> None:
    """Write the details and results of a toy task with lighteval's own tracker."""
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.models.dummy.dummy_model import DummyModelConfig
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc, SamplingMethod

    name = "toy"

    class ToyTask:
        """A task as far as the tracker asks for it: how the values of a metric become one number."""

        def aggregation(self) -> dict[str, object]:
            """Return the aggregations by metric."""
            return {"em": fmean, "length": fmean}

    tracker = EvaluationTracker(output_dir=str(folder))
    tracker.general_config_logger.log_model_info(DummyModelConfig(seed=0, model_name="dummy"))
    for number in range(TASKS):
        doc = Doc(
            query=head(number),
            choices=[body(0)],
            gold_index=0,
            id=str(number),
            task_name=name,
            sampling_methods=[SamplingMethod.GENERATIVE],
        )
        answer = ModelResponse(input=doc.query, text=[body(number)])
        metrics = {"em": int(number % 4 == 0), "length": len(body(number))}
        tracker.metrics_logger.log(name, metrics)
        tracker.details_logger.log(name, doc, answer, metrics=metrics)
    tracker.metrics_logger.aggregate({name: ToyTask()}, bootstrap_iters=0)
    tracker.details_logger.aggregate()
    tracker.save()


RUNS: Mapping[str, Callable[..., None]] = {
    "evalplus": evalplus,
    "bigcodebench": bigcodebench,
    "livecodebench": livecodebench,
    "lighteval": lighteval,
}

if __name__ == "__main__":
    harness, target, *checkouts = sys.argv[1:]
    RUNS[harness](Path(target), *map(Path, checkouts))
