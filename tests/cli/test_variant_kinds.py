"""What is rewritten, from the command line: names, test cases or both."""

import json
import re

import pytest

from assay.errors import SandboxUnavailable
from support.openai_server import answer, served

TESTED = 'def f(a, b):\n    """Sum: f({0}, 2) == {1}"""\n    return a + b\n'


@pytest.fixture
def tested(tmp_path):
    """Samples with a stated test, and one without."""
    rows = [{"text": TESTED.format(number, number + 2)} for number in range(10, 13)] + [
        {"text": "def g(a):\n    return a\n"}
    ]
    path = tmp_path / "tested.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.usefixtures("sandbox")
def test_names_and_tests_are_rewritten_and_what_stays_is_told(assay, tested, tmp_path):
    options = ("--scores", "sr_gray:n=3", "--variant-kinds", "variable,tests,function", "--out", tmp_path / "run")
    done = assay("audit", "builtin:small", tested, "--describe", *options)
    assert done.code == 0
    engine = "deterministic, dictionary (function, variable, tests)"
    assert f"rewritings by {engine}: 1 samples keep their test cases: the text states no tests" in done.err
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert manifest["settings"]["variant_engine"] == engine


@pytest.mark.usefixtures("sandbox")
def test_tests_alone_leave_what_has_none_unscorable(assay, tested):
    done = assay("score", "builtin:small", tested, "--scores", "sr_gray:n=3", "--variant-kinds", "tests")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert ["sr_gray:n=3" in row["scores"] for row in rows] == [True, True, True, False]
    assert rows[3]["unscorable"] == {"sr_gray:n=3": "no variants: the text states no tests"}


@pytest.mark.usefixtures("sandbox")
def test_a_calibration_of_other_kinds_is_refused(assay, tested, tmp_path):
    options = ("--scores", "sr_gray:n=2")
    kinds = ("--variant-kinds", "tests")
    assert assay("calibrate", "builtin:small", tested, *options, *kinds, "-o", tmp_path / "c.json").code == 0
    refused = assay("audit", "builtin:small", tested, *options, "--calibration", tmp_path / "c.json")
    assert refused.code == 2
    assert "compares rewritings by deterministic (tests), expected deterministic" in refused.err


def test_a_kind_that_is_none_is_told(assay, tested):
    done = assay("score", "builtin:small", tested, "--variants", "2", "--variant-kinds", "classes")
    assert done.code == 2
    assert "received --variant-kinds classes, expected some of function,variable,tests" in done.err


def test_without_a_sandbox_one_line_says_so(assay, tested, monkeypatch):
    def refuse():
        raise SandboxUnavailable("the sandbox needs bwrap (package bubblewrap), which is not installed")

    monkeypatch.setattr("assay.code.require_sandbox", refuse)
    done = assay("score", "builtin:small", tested, "--variants", "2", "--variant-kinds", "tests")
    assert done.code == 2
    assert done.err.strip().endswith("the sandbox needs bwrap (package bubblewrap), which is not installed")


def test_an_engine_without_a_score_that_compares_rewritings_is_refused_and_not_opened(assay, tested):
    done = assay("score", "builtin:small", tested, "--scores", "loss", "--variant-engine", "openai:m@nowhere")
    assert done.code == 2
    assert "--variant-engine has no effect" in done.err


@pytest.mark.usefixtures("sandbox")
def test_a_model_rewrites_test_cases_in_the_words_of_the_paper(assay, tested):
    def reply(_path, request):
        prompt = request["messages"][0]["content"]
        if "Propose" in prompt:
            return answer(json.dumps([f"f({number}, 5)" for number in range(20, 24)]))
        text = prompt.partition("problem: ")[2].partition("\nProvided Test Cases: ")[0]
        given, output = re.search(r"Input: (.*) Output: (.*)\nTask: ", prompt).groups()
        return answer(json.dumps(re.sub(r"f\(\d+, 2\) == \d+", f"{given} == {output}", text)))

    with served(reply) as (_, url):
        engine = ("--variant-engine", f"openai-chat:m@{url}", "--variant-kinds", "tests")
        done = assay("score", "builtin:small", tested, "--limit", "3", "--scores", "sr_gray:n=3", *engine)
    assert done.code == 0
    assert all("sr_gray:n=3" in json.loads(line)["scores"] for line in done.out.splitlines())
