"""`assay annotate RUNS --tasks TASKS` as a person meets it."""

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest

from assay.agent_runs.describing import RUNS_VERSION
from assay.errors import DataError
from support.agent_files import CALLS, mini_swe_agent, openhands, write, write_tasks

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
PUBLISHED = {"1.0": "4f64c186b361a0f0430b709b4c446c3808dfa629bac73aa99c5c0dcc7bc30750"}
"""Version → digest of its schema: a new schema gets a new version and a new entry."""


@pytest.fixture
def runs(tmp_path):
    """A folder with a run that read the fix, and the table of its task."""
    write_tasks(tmp_path)
    write(tmp_path / "runs", mini_swe_agent())
    return tmp_path / "runs"


def test_the_answer_names_the_step_that_read_the_fix(assay, runs):
    done = assay("annotate", "runs", "--tasks", "tasks.jsonl")
    assert done.code == 0, done.err
    assert done.out.startswith("Fixes were read\n")
    assert "1 of 1 run read the fix" in done.out
    assert "messages[5]" in done.out
    assert "git log --all -p -S total" in done.out


def test_a_line_for_each_run_and_a_page_are_written(assay, runs, tmp_path):
    done = assay("annotate", "runs", "--tasks", "tasks.jsonl", "-o", "runs.jsonl")
    assert done.code == 0, done.err
    (row,) = map(json.loads, (tmp_path / "runs.jsonl").read_text().splitlines())
    assert {"run", "task", "verdict", "step", "channel", "command", "lines", "solved"} <= row.keys()
    assert row["verdict"] == "read the fix"
    assert assay("annotate", "runs", "--tasks", "tasks.jsonl", "-o", "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert '<li class="chosen">' in page
    assert "<mark>+            raise EmptyCartError(&#34;a cart without items has no total&#34;)</mark>" in page


def test_the_report_of_swe_bench_adds_the_outcomes(assay, runs, tmp_path):
    report = {"submitted_ids": ["shop__shop-7"], "resolved_ids": ["shop__shop-7"], "unresolved_ids": []}
    (tmp_path / "report.json").write_text(json.dumps(report))
    done = assay("annotate", "runs", "report.json", "--tasks", "tasks.jsonl", "--format", "json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["solved"]["value"] == 1.0
    text = (SCHEMAS / f"agent-runs-{RUNS_VERSION}.json").read_text()
    jsonschema.Draft202012Validator(json.loads(text)).validate(data)
    assert hashlib.sha256(text.encode()).hexdigest() == PUBLISHED[RUNS_VERSION]


def test_several_runs_of_one_task_need_their_own_outcomes(assay, runs, tmp_path):
    write(tmp_path / "runs", openhands())
    report = {"submitted_ids": ["shop__shop-7"], "resolved_ids": ["shop__shop-7"], "unresolved_ids": []}
    (tmp_path / "report.json").write_text(json.dumps(report))
    done = assay("annotate", "runs", "report.json", "--tasks", "tasks.jsonl")
    assert (done.code, "2 runs of shop__shop-7; expected one run of each task" in done.err) == (2, True)


def test_a_run_that_cannot_be_read_is_counted_and_the_answer_is_undecided(assay, runs, tmp_path):
    write(tmp_path / "runs", mini_swe_agent(CALLS[:1]))
    (tmp_path / "runs" / "cut.traj.json").write_text('{"messages": [')
    done = assay("annotate", "runs", "--tasks", "tasks.jsonl", "-v")
    assert done.code == 0, done.err
    assert done.out.startswith("Undecided\n")
    assert "1 file not read" in done.out
    assert "cut or damaged JSON" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cut.json", "--tasks", "tasks.jsonl"), "cut or damaged JSON"),
        (("runs", "--tasks", "none.jsonl"), "none.jsonl"),
        (("none", "--tasks", "tasks.jsonl"), "none"),
        (("runs", "--tasks", "other.jsonl"), "no run is on a task of the table"),
        (("runs", "--tasks", "swe-bench-lit"), "did you mean swe-bench-lite"),
        (("runs", "--tasks", "tasks.jsonl", "--index", "x"), "received --index and --tasks"),
        (("runs", "--repositories", "."), "received --repositories without --tasks"),
        (("runs", "--tasks", "tasks.jsonl", "--repositories", "none"), "no such folder"),
        (("runs", "--tasks", "tasks.jsonl", "--columns", "group=x"), "group"),
    ],
)
def test_bad_input_gets_one_line(assay, runs, tmp_path, arguments, message):
    (tmp_path / "cut.json").write_text('{"messages": [')
    (tmp_path / "other.jsonl").write_text('{"instance_id": "x-1", "patch": "+a line of another fix"}\n')
    done = assay("annotate", *arguments)
    assert (done.code, message in done.err, done.err.count("\n")) == (2, True, 1), done.err


def test_a_benchmark_that_cannot_be_fetched_asks_for_a_file(assay, runs, monkeypatch):
    monkeypatch.setattr("assay.datasets.loading.rows_from_hub", _offline)
    done = assay("annotate", "runs", "--tasks", "swe-bench-lite")
    assert (done.code, "--tasks PATH" in done.err) == (2, True), done.err


def _offline(*_):
    raise DataError("the hub cannot be reached; expected a local copy (--data PATH), or a connection")
