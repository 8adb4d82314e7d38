"""`assay annotate` as a person meets it."""

import json

import pytest

from assay.scan import ScanEvidence, ScanPlace, TaskEvidence, write_evidence


@pytest.fixture
def results(tmp_path):
    """Predictions for tasks that an audit knows, and their outcomes, in the form of EvalPlus."""
    names = [f"t{number}" for number in range(24)]
    rows = [{"id": name, "text": f"def {name}(x):\n    return x + {place**2}\n"} for place, name in enumerate(names)]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    predictions = [{"task_id": name, "solution": "pass"} for name in names]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in predictions))
    outcomes = {name: [{"base_status": "pass" if place % 3 else "fail"}] for place, name in enumerate(names)}
    (tmp_path / "samples_eval_results.json").write_text(json.dumps({"eval": outcomes}))
    return "samples_eval_results.json"


def test_a_split_that_names_no_task_is_printed_before_the_cleaned_list_is_refused(assay, results, golden, tmp_path):
    assert assay("audit", golden / "model", "tasks.jsonl", "--scores", "loss", "--describe", "--out", "run").code == 0
    done = assay("annotate", results, "--audit", "run", "--clean", "clean.txt")
    assert done.code == 2
    assert "upper half" in done.out
    assert "no cleaned list: the audit names no single task" in done.err
    assert not (tmp_path / "clean.txt").exists()


def test_predictions_alone_have_no_results_to_split(assay, results, golden):
    assert assay("audit", golden / "model", "tasks.jsonl", "--scores", "loss", "--describe", "--out", "run").code == 0
    done = assay("annotate", "samples.jsonl", "--audit", "run")
    assert (done.code, "24 tasks without an outcome, so there are no results to split" in done.err) == (2, True)
    assert assay("annotate", "samples.jsonl", results, "--audit", "run").code == 0


@pytest.fixture
def evidence(tmp_path, results):
    """Evidence for the tasks that the results pass."""
    place = ScanPlace(
        "task", "word for word", 1.0, "a.jsonl", row=1, first_line=1, last_line=2, task_text="", source_text=""
    )
    tasks = []
    for number in range(24):
        places = (place,) if number % 3 else ()
        tasks.append(TaskEvidence("tasks", f"t{number}", "found" if places else "not found", places))
    write_evidence(tmp_path / "evidence.jsonl", ScanEvidence(tuple(tasks), compared=9, unread=2))
    return "evidence.jsonl"


def test_a_scan_splits_the_tasks_and_each_has_its_evidence(assay, results, evidence):
    done = assay("annotate", results, "--scan", evidence, "-o", "tasks.out", "--clean", "-")
    assert done.code == 0
    assert done.out.split() == [f"t{number}" for number in range(0, 24, 3)]
    done = assay("annotate", results, "--scan", evidence, "-o", "-")
    rows = list(map(json.loads, done.out.splitlines()))
    assert (rows[0]["status"], rows[1]["status"], rows[1]["places"][0]["source"]) == ("not found", "found", "a.jsonl")
    done = assay("annotate", results, "--scan", evidence)
    assert "Accuracy is 100 % on found and 0 % on not found tasks" in done.out.replace("\N{NO-BREAK SPACE}", " ")
    assert "2 texts and files of the data were not read" in done.out


def test_an_index_is_no_split_any_more(assay, results):
    done = assay("annotate", results, "--index", "corpus.index")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "expected --scan EVIDENCE: `assay scan CORPUS --for BENCHMARK -o EVIDENCE`" in done.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--metric", "acc"), "--metric acc: expected base"),
        (("--columns", "text=prompt"), "received --columns text, which the results of EvalPlus have no use for"),
        (("--columns", "outcome=status"), "received --columns outcome without an id"),
        (("--subset", "plus"), "received options of a benchmark without --benchmark"),
        (("--after", "yesterday"), "--after 'yesterday': expected a day as YYYY-MM-DD"),
        (("--after", "2025-01-01"), "no task has a date; expected --columns date=NAME"),
        (("--every-eval-ever", "e.jsonl"), "holds no samples of every_eval_ever"),
    ],
)
def test_an_option_without_use_is_refused_in_one_line(assay, results, evidence, options, words):
    done = assay("annotate", results, "--scan", evidence, *options)
    assert (done.code, words in done.err) == (2, True), done.err
