"""`assay dataset`, `assay statement`: the verdict, the run folder, the words, the exit codes."""

import json
import sys
from unittest.mock import Mock

import pytest

RUN_FILES = {"manifest.json", "judgement.json", "report.html"}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def unseen(tmp_path):
    rows = [{"text": f"def g{i}(y):\n    return y * {i} + {i % 7}\n", "group": str(i // 2)} for i in range(60)]
    return write(tmp_path / "unseen.jsonl", rows)


@pytest.fixture
def benchmark(tmp_path):
    rows = [{"text": f"def f{i}(x):\n    return x + {i}\n", "group": str(i // 2)} for i in range(30)]
    return write(tmp_path / "benchmark.jsonl", rows)


def test_a_judgement_leaves_a_run_folder_that_report_compare_and_statement_read(
    assay, benchmark, unseen, golden, tmp_path
):
    options = ("--text", "text", "--group", "group", "--unseen-text", "text", "--unseen-group", "group", "--out", "run")
    first = assay("dataset", golden / "model", benchmark, "--unseen", unseen, *options)
    assert first.code == 0, first.err
    assert {path.name for path in (tmp_path / "run").iterdir()} == RUN_FILES
    assert "Verdict: " in first.out
    assert "forward passes of one text each" in first.err.partition("80 % power")[0]
    assert "80 % power" in first.err
    assert assay("report", "run").out == first.out
    assert "Verdict" in assay("compare", "run").out
    statement = json.loads(assay("statement", "run", "--json").out)
    assert statement["entries"][0]["benchmark"]["samples"] == 30
    assert statement["entries"][0]["verdict"] in ("contaminated", "no evidence", "cannot tell")


def test_without_unseen_text_the_verdict_is_cannot_tell(assay, benchmark, golden):
    done = assay("dataset", golden / "model", benchmark, "--methods", "mean:loss", "--json", "--out", "run")
    assert done.code == 0, done.err
    judgement = json.loads(done.out)
    assert judgement["decision"]["verdict"] == "cannot tell"
    assert judgement["decision"]["reason"] == "no unseen text"
    assert json.loads(assay("statement", "run", "--json").out)["entries"][0]["share"] is None
    assert "We cannot tell whether" in assay("statement", "run", "--format", "markdown").out
    again = assay("dataset", golden / "model", benchmark, "--methods", "mean:loss", "--out", "run")
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "holds a finished run" in again.err
    assert assay("dataset", golden / "model", benchmark, "--methods", "mean:loss", "--out", "run", "--force").code == 0


def test_an_interrupted_judgement_continues_with_the_same_settings_only(
    assay, benchmark, golden, tmp_path, monkeypatch
):
    command = ("dataset", golden / "model", benchmark, "--methods", "mean:loss", "--out", "run")
    with monkeypatch.context() as interrupted:
        interrupted.setattr("assay.api.judging.judge_benchmark", Mock(side_effect=KeyboardInterrupt))
        assert assay(*command).code == 130
    (tmp_path / "run" / "fine-tuning").mkdir()  # the state of a fine-tuning
    other = assay(*command, "--seed", "1")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "an unfinished run with other settings (seed); expected its settings to continue it, --force" in other.err
    kept, lines = [], []
    with monkeypatch.context() as watched:
        watched.setattr(
            "assay.api.judging.judge_benchmark",
            Mock(side_effect=lambda *_, **__: kept.append((tmp_path / "run" / "fine-tuning").exists()) or sys.exit(3)),
        )
        for options in ((), ("--seed", "1", "--force")):
            done = assay(*command, *options)
            assert done.code == 3
            lines.append("continues the unfinished run in run" in done.err)
    assert lines == [True, False]
    assert kept == [True, False]  # the state of another run is of no use
    assert assay(*command, "--seed", "1").code == 0
    assert {path.name for path in (tmp_path / "run").iterdir()} == RUN_FILES


def test_one_fine_tuning_serves_the_methods_that_need_it(assay, benchmark, unseen, golden):
    methods = "kds,kds:gamma=per-side,fsd:loss,fsd:min_k"
    done = assay(
        "dataset", golden / "model", benchmark, "--unseen", unseen, "--methods", methods, "--control", "none",
        "--rate", "0.001", "--json", "--out", "run",
    )  # fmt: skip
    assert done.code == 0, done.err
    judgement = json.loads(done.out)
    passes = judgement["preview"]["cost"]["passes"]
    assert [name for name in passes if "fine-tuning" in name] == ["fine-tuning on the benchmark, 1 epochs"]
    assert [method["score"]["value"] is not None for method in judgement["methods"]] == [True] * 4
    assert judgement["gate"]["own"]["folds"] > 3


@pytest.mark.parametrize(
    ("rows", "arguments", "words"),
    [
        ([{"text": "x = 1"}], ("--methods", "mean:loss"), "needs at least 2"),
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--methods", "nothing"), "no method is called 'nothing'"),
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--score", "nothing"), "no score is called 'nothing'"),
        ([{"text": "x = 1"}] * 3, ("--methods", "kds", "--rate", "0.001"), "are the same"),
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--rate", "inf"), "expected a number above 0"),
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--rate", "1e300"), "expected a number above 0 and at most 1e+06"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(assay, golden, tmp_path, rows, arguments, words):
    path = write(tmp_path / "few.jsonl", rows)
    done = assay("dataset", golden / "model", path, *arguments)
    assert done.code == 2
    (line,) = [line for line in done.err.splitlines() if "error" in line]
    assert words in line
    if "kds" not in arguments:  # equal texts show when the fine-tuning is done
        assert not (tmp_path / "assay-runs").exists()


def test_a_benchmark_of_one_sample_is_refused_before_a_text_is_scored(assay, golden, tmp_path, unseen):
    path = write(tmp_path / "single.jsonl", [{"text": "x = 1"}])
    done = assay("dataset", golden / "model", path, "--unseen", unseen)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "1 sample; a verdict on a data set needs at least 2" in done.err


def test_a_folder_that_is_no_judgement_is_named(assay, tmp_path):
    done = assay("statement", tmp_path)
    assert done.code == 2
    assert "is not a run folder; expected a folder that `assay dataset` wrote" in done.err
    (tmp_path / "summary.json").write_text("{}")
    assert "is a run of `assay audit`, which judges samples" in assay("statement", tmp_path).err
