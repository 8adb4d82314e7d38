"""Do evaluation harnesses run a release as they run its original?

Each harness runs with its own command, in an environment of its own, on the original file and on the public one, with
the reference solutions and with bodies that return None: in a file, or as the replies of a server on this machine. No
hub is asked. lm-eval takes its metric `code_eval` from one, so ours stands in its place.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import itemgetter
from pathlib import Path
from threading import Thread
from typing import Any

from assay.datasets import SourceRow, read_rows
from assay.errors import DataError
from assay.release import ReleaseSettings, make_release
from assay_lab.experiments.declaration import WORK, Data, Experiment, Result, benchmark_data

ENVIRONMENTS = "environments"
BROKEN = "    return None\n"
COPIES = 10
CODE_EVAL = """
import subprocess
import sys
import datasets
import evaluate

class CodeEval(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        features = datasets.Features({"predictions": datasets.Sequence(text), "references": text})
        return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

    def _compute(self, predictions, references, k):
        passed = 0
        for programs, tests in zip(predictions, references, strict=True):
            passed += subprocess.run([sys.executable, "-c", programs[0] + "\\n" + tests]).returncode == 0
        return {"pass@1": passed / len(references)}, {}
"""
"""In place of the metric of that name, which lm-eval fetches: the share of programs that end with exit code 0."""
INSPECT_TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.solver import generate
from inspect_evals.humaneval.humaneval import record_to_sample, verify

@task
def released(file: str) -> Task:
    return Task(dataset=json_dataset(file, record_to_sample()), solver=generate(), scorer=verify(), sandbox="local")
"""


@dataclass(frozen=True, slots=True)
class Size:
    """Tasks of each benchmark: the first ones of HumanEval, and some spread over BigCodeBench."""

    humaneval: int = 40
    bigcodebench: int = 24


@dataclass(frozen=True, slots=True)
class Run:
    """What a harness is given: an environment, a file of tasks, their solutions by id, and a folder of its own."""

    environment: Path
    tasks: Path
    solutions: Mapping[str, str]
    folder: Path

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The tasks."""
        return list(map(json.loads, self.tasks.read_text("utf-8").splitlines()))

    def command(self, *arguments: str, **variables: str) -> None:
        """Run a program of the environment in the folder.

        Raises:
            DataError: it ends with an error.
        """
        program, *rest = arguments
        path = f"{self.environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
        # modules of this interpreter are not those of the environment
        inherited = dict(os.environ)
        inherited.pop("PYTHONPATH", None)
        done = subprocess.run(  # noqa: S603  a program that this module names
            [str(self.environment / "bin" / program), *rest],
            cwd=self.folder,
            env={**inherited, "PATH": path, "HF_HUB_OFFLINE": "1", "MPLBACKEND": "Agg", **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise DataError(f"{program} ended with {done.returncode}: {done.stderr.strip()[-300:]}")


def lm_eval(run: Run) -> float:
    """Return the pass@1 of lm-eval's own task humaneval, which a few lines of YAML give another file."""
    (own_task,) = run.environment.glob("lib/python*/site-packages/lm_eval/tasks/humaneval/humaneval.yaml")
    task = {"include": str(own_task), "task": "released", "dataset_path": "json"}
    # JSON is YAML
    text = json.dumps(task | {"dataset_kwargs": {"data_files": {"test": str(run.tasks)}}})
    (run.folder / "released.yaml").write_text(text, "utf-8")
    (run.folder / "code_eval").mkdir()
    (run.folder / "code_eval" / "code_eval.py").write_text(CODE_EVAL, "utf-8")
    with replies(run) as address:
        model = f"model=replies,base_url={address}/completions,tokenizer_backend=none"
        arguments = ("--model", "local-completions", "--model_args", model, "--tasks", "released")
        run.command(
            *("lm_eval", *arguments, "--include_path", ".", "--confirm_run_unsafe_code", "--output_path", "results"),
            HF_ALLOW_CODE_EVAL="1",
        )
    (results,) = run.folder.glob("results/*/results_*.json")
    value: float = json.loads(results.read_text("utf-8"))["results"]["released"]["pass@1,create_test"]
    return value


def inspect(run: Run) -> float:
    """Return the accuracy of inspect on HumanEval of inspect_evals, which a task file gives another file."""
    (run.folder / "released.py").write_text(INSPECT_TASK, "utf-8")
    with replies(run) as address:
        arguments = ("-T", f"file={run.tasks}", "--model", "openai-api/replies/replies", "--display", "none")
        run.command(
            *("inspect", "eval", "released.py", *arguments, "--log-format", "json", "--log-dir", "logs"),
            REPLIES_BASE_URL=address,
            REPLIES_API_KEY="none",
        )
    (log,) = run.folder.glob("logs/*.json")
    (score,) = json.loads(log.read_text("utf-8"))["results"]["scores"]
    value: float = score["metrics"]["accuracy"]["value"]
    return value


def bigcodebench(run: Run) -> float:
    """Return the pass@1 of BigCodeBench, whose tasks a variable of the environment replaces."""
    samples = [
        {"task_id": row["task_id"], "solution": row["complete_prompt"] + run.solutions[row["task_id"]]}
        for row in run.rows
    ]
    (run.folder / "samples.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in samples), "utf-8")
    arguments = ("--split", "complete", "--subset", "full", "--samples", "samples.jsonl", "--execution", "local")
    run.command(
        *("bigcodebench.evaluate", *arguments, "--no_gt", "--parallel", "1"),
        BIGCODEBENCH_OVERRIDE_PATH=str(run.tasks),
    )
    value: float = json.loads((run.folder / "samples_pass_at_k.json").read_text("utf-8"))["pass@1"]
    return value


@contextmanager
def replies(run: Run) -> Iterator[str]:
    """Serve the solution of the task whose prompt is asked for, in the form of OpenAI; yield the address."""
    solutions = {row["prompt"].strip(): run.solutions[row["task_id"]] for row in run.rows}

    def reply(asked: str) -> str:
        # the longest, since one prompt may be a part of another
        return solutions[max((prompt for prompt in solutions if prompt in asked), key=len)]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompts = request["prompt"] if "prompt" in request else [request["messages"][-1]["content"]]
            choices = []
            for index, asked in enumerate([prompts] if isinstance(prompts, str) else prompts):
                text = reply(asked)
                message = {"role": "assistant", "content": text}
                choices.append({"index": index, "text": text, "message": message, "finish_reason": "stop"})
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "replies"}
            body = json.dumps(answer | {"choices": choices, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of its base class
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@dataclass(frozen=True, slots=True)
class Harness:
    """A harness: its package, the benchmark that it runs, and how."""

    package: str
    benchmark: str
    run: Callable[[Run], float]


HARNESSES = {
    "lm-eval": Harness("lm_eval", "humaneval", lm_eval),
    "inspect": Harness("inspect_ai", "humaneval", inspect),
    "bigcodebench": Harness("bigcodebench", "bigcodebench", bigcodebench),
}


def written(path: Path, rows: Sequence[SourceRow]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def measured(name: str, environment: Path, *, rows: Sequence[SourceRow], folder: Path) -> dict[str, Any]:
    """Return what a harness says of the original and of the public file, with right and with broken solutions."""
    harness = HARNESSES[name]
    (packages,) = environment.glob("lib/python*/site-packages")
    settings = ReleaseSettings(copies=COPIES, packages=str(packages))
    original = written(folder / "original.jsonl", rows)
    made = make_release(original, out=folder / "made.jsonl", secret=folder / "secret.json", settings=settings)
    committed = made.secret.committed
    # a harness would fail these on both files, as for a package that is not there
    failing = {task for task, reason in committed.left_out.items() if reason.startswith("its own solution fails")}
    (installed,) = packages.glob(f"{harness.package}-*.dist-info")
    row: dict[str, Any] = {
        "harness": name,
        "version": installed.name.removesuffix(".dist-info").rpartition("-")[2],
        "benchmark": harness.benchmark,
        "tasks": len(rows) - len(failing),
        "copies": len(committed.tasks),
    }
    for file, of_file in (("original", rows), ("public", made.secret.published(1))):
        kept = [task for task in of_file if task["task_id"] not in failing]
        tasks = written(folder / f"{file}-kept.jsonl", kept)
        ids = list(map(itemgetter("task_id"), kept))
        for kind in ("right", "broken"):
            own = folder / f"{file}-{kind}"
            own.mkdir()
            solutions = dict.fromkeys(ids, BROKEN)
            if kind == "right":
                solutions = dict(zip(ids, map(itemgetter("canonical_solution"), kept), strict=True))
            run = Run(environment, tasks.absolute(), solutions=solutions, folder=own)
            row[f"{file}, {kind}"] = harness.run(run)
    return row


def run(size: Size, seed: int, data: Data) -> Result:
    """Do evaluation harnesses run a release as they run its original?"""
    results, notes = [], []
    for name, harness in HARNESSES.items():
        environment = data[ENVIRONMENTS].absolute() / name
        if not (environment / "bin").is_dir():
            notes.append(f"{name} was not run: there is no environment of it.")
            continue
        folder = data[WORK].absolute() / name
        folder.mkdir(parents=True)
        rows = list(read_rows(next(data[harness.benchmark].glob("*.jsonl.gz")), lambda _: None))
        if harness.benchmark == "humaneval":
            rows = rows[: size.humaneval]
        else:
            rows = rows[:: max(1, len(rows) // size.bigcodebench)][: size.bigcodebench]
        results.append(measured(name, environment, rows=rows, folder=folder))
    return Result(results, notes)


EXPERIMENTS = (
    Experiment(
        name="release/harnesses",
        run=run,
        scales={"smoke": Size(4, 4), "full": Size()},
        needs={
            **benchmark_data("humaneval", "bigcodebench"),
            ENVIRONMENTS: (
                "a folder of virtual environments: lm-eval (pip install lm_eval[api] evaluate), inspect (inspect_ai "
                "inspect_evals openai), bigcodebench (bigcodebench matplotlib, and what its tasks import)"
            ),
        },
        stored="release/harnesses",
    ),
)
