"""`assay audit` with unseen text, methods of the literature, and `assay report --statement`."""

import json
import sys
from unittest.mock import Mock

import pytest


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


COLUMNS = ("--columns", "text=text,group=group", "--unseen-columns", "text=text,group=group")


@pytest.mark.slow
def test_a_run_begins_with_its_answer_wherever_it_is_shown(assay, benchmark, unseen, golden):
    options = ("--unseen", unseen, *COLUMNS, "--methods", "default", "--out", "run", "-v", "--describe")
    first = assay("audit", golden / "model", benchmark, *options)
    assert first.code == 0, first.err
    assert "Methods of the literature" in first.out
    assert "would be called familiar in" in first.out
    assert assay("report", "run", "-v").out == first.out
    answer = first.out.splitlines()[:4]
    assert assay("report", "run", "--statement").out.splitlines()[:4] == answer
    statement = json.loads(assay("report", "run", "--statement", "--json").out)
    (entry,) = statement["entries"]
    assert entry["benchmark"]["samples"] == 30
    assert entry["answer"] == answer
    assert entry["verdict"] in ("familiar", "no evidence", "cannot tell")
    assert "Verdict" in assay("report", "run", "run").out


@pytest.mark.slow
def test_a_run_that_only_describes_has_a_statement_too(assay, benchmark, golden):
    command = ("audit", golden / "model", benchmark, "--methods", "mean:loss", "--describe", "--out", "run")
    done = assay(*command, "--json")
    assert done.code == 0, done.err
    decision = json.loads(done.out)["decision"]
    assert (decision["verdict"], decision["reason"]) == ("cannot tell", "no unseen text")
    assert json.loads(assay("report", "run", "--statement", "--json").out)["entries"][0]["share"] is None
    assert "We could not decide" in assay("report", "run", "--statement", "--format", "markdown").out
    again = assay(*command)
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "holds a finished run" in again.err
    assert assay(*command, "--force").code == 0


@pytest.mark.slow
def test_an_interrupted_run_continues_with_the_same_settings_only(assay, benchmark, golden, tmp_path, monkeypatch):
    command = ("audit", golden / "model", benchmark, "--methods", "mean:loss", "--describe", "--out", "run")
    with monkeypatch.context() as interrupted:
        interrupted.setattr("assay.api.auditing.audit_until_clear", Mock(side_effect=KeyboardInterrupt))
        assert assay(*command).code == 130
    (tmp_path / "run" / "state" / "fine-tuning").mkdir(parents=True)  # the state of a fine-tuning
    other = assay(*command, "--seed", "1")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert "an unfinished run with other settings (seed); expected its settings to continue it, --force" in other.err
    kept, lines = [], []
    with monkeypatch.context() as watched:
        watched.setattr(
            "assay.api.auditing.audit_until_clear",
            Mock(side_effect=lambda *_, **__: kept.append((tmp_path / "run" / "state").exists()) or sys.exit(3)),
        )
        for options in ((), ("--seed", "1", "--force")):
            done = assay(*command, *options)
            assert done.code == 3
            lines.append("continues the unfinished run in run" in done.err)
    assert lines == [True, False]
    assert kept == [True, False]  # the state of another run is of no use
    assert assay(*command, "--seed", "1").code == 0
    assert not (tmp_path / "run" / "state").exists()


@pytest.mark.slow
def test_one_fine_tuning_serves_the_methods_that_need_it(assay, benchmark, unseen, golden):
    methods = "kds,kds:gamma=per-side,fsd:loss,fsd:min_k"
    done = assay(
        "audit", golden / "model", benchmark, "--unseen", unseen, "--methods", methods, "--control", "none",
        "--rate", "0.001", "--json", "--out", "run", "--describe",
    )  # fmt: skip
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert [method["score"]["value"] is not None for method in summary["methods"]] == [True] * 4
    assert summary["gate"]["own"]["folds"] > 3


@pytest.mark.parametrize(
    ("rows", "arguments", "words"),
    [
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--methods", "nothing"), "no method is called 'nothing'"),
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--primary", "nothing"), "--primary nothing"),
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--rate", "0.1"), "expected --methods kds"),
        ([{"text": "x = 1"}] * 3, ("--methods", "kds", "--rate", "0.001"), "are the same"),
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--methods", "kds", "--rate", "inf"), "expected a number above 0"),
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--methods", "kds", "--rate", "1e300"), "and at most 1e+06"),
        ([{"text": "x = 1"}, {"text": "y = 2"}], ("--methods", "kds", "--access", "black"), "--access gray"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(assay, golden, tmp_path, rows, arguments, words):
    path = write(tmp_path / "few.jsonl", rows)
    done = assay("audit", golden / "model", path, "--describe", *arguments)
    assert done.code == 2
    (line,) = [line for line in done.err.splitlines() if "error" in line]
    assert words in line
    if words != "are the same":  # equal texts show when the fine-tuning is done
        assert not (tmp_path / "assay-runs").exists()


def test_a_folder_that_is_no_run_is_named(assay, tmp_path):
    done = assay("report", tmp_path, "--statement")
    assert (done.code, done.err.count("\n")) == (2, 1)
    refused = assay("report", tmp_path, "--statement", "--figure", "share")
    assert "--figure has no effect" in refused.err
