"""`assay annotate` as a person meets it."""

import json

import pytest


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
