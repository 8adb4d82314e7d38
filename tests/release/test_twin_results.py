"""Public copies against twins: exact, on logs of single tasks, of runs that are alike."""

import json
import zipfile
from dataclasses import replace

import pytest
from scipy.stats import binom

from assay.annotation import run_facts
from assay.errors import DataError
from assay.release import compare
from assay.release.secret_file import write_secret


def lm_eval(folder, name, outcomes, *, day="2026-01-01", model="m", settings=True):
    folder = folder / name
    folder.mkdir()
    stamp = f"{day}T10-00-00.000001"
    path = folder / f"samples_he_{stamp}.jsonl"
    rows = [
        {"doc_id": place, "doc": {"task_id": f"HumanEval/{place}", "prompt": "x"}, "metrics": ["acc"], "acc": value}
        for place, value in enumerate(outcomes)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if settings:
        config = {"config": {"model": model, "gen_kwargs": None}}
        (folder / f"results_{stamp}.json").write_text(json.dumps(config))
    return path


PUBLIC, TWIN = [1.0] * 12 + [0.0] * 8, [1.0] * 3 + [0.0] * 16 + [1.0]


def test_the_test_is_the_exact_binomial_over_discordant_tasks(tmp_path):
    result = compare(lm_eval(tmp_path, "a", PUBLIC), lm_eval(tmp_path, "b", TWIN))
    assert (result.public_only, result.twin_only) == (9, 1)
    assert result.p_value == pytest.approx(binom.sf(8, 10, 0.5))
    assert result.difference.value == pytest.approx(0.4)
    assert result.difference.low < 0.4 < result.difference.high
    assert result.checked == ("harness lm-eval", "settings", "date")
    report = result.describe()
    assert report.answer.verdict == "Better on the published copies"
    clear = compare(lm_eval(tmp_path, "e", [1.0] * 9 + [0.0]), lm_eval(tmp_path, "f", [0.0] * 10)).difference
    assert clear.low == pytest.approx(0.9 * (2 * 0.025 ** (1 / 9) - 1))
    assert clear.high == pytest.approx(0.9)  # given nine discordant tasks
    same = compare(lm_eval(tmp_path, "c", PUBLIC), lm_eval(tmp_path, "d", PUBLIC)).describe()
    assert "no evidence" in same.answer.because
    assert compare(lm_eval(tmp_path, "g", PUBLIC), lm_eval(tmp_path, "h", PUBLIC)).difference.high > 0.1
    swapped = compare(lm_eval(tmp_path, "i", TWIN), lm_eval(tmp_path, "j", PUBLIC)).describe()
    assert (swapped.answer.verdict, swapped.answer.next_step) == (
        "Better on the twins",
        "check which log is of which file",
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "other"}, "the runs differ in model: m and other"),
        ({"day": "2026-02-01"}, "31 days apart"),
    ],
)
def test_runs_that_differ_are_refused(tmp_path, change, words):
    with pytest.raises(DataError, match=words):
        compare(lm_eval(tmp_path, "a", PUBLIC), lm_eval(tmp_path, "b", TWIN, **change))


def test_what_a_log_does_not_state_is_said(tmp_path):
    result = compare(lm_eval(tmp_path, "a", PUBLIC), lm_eval(tmp_path, "b", TWIN, settings=False))
    assert result.unchecked == ("settings",)
    assert "A log does not state: settings" in " ".join(result.describe().notes)


def test_other_tasks_and_other_harnesses_are_refused(tmp_path):
    log = lm_eval(tmp_path, "a", PUBLIC)
    with pytest.raises(DataError, match="differ in 1 task "):
        compare(log, lm_eval(tmp_path, "b", TWIN[:-1]))
    evalplus = tmp_path / "x_eval_results.json"
    evaluated = {f"HumanEval/{n}": [{"base_status": "pass", "plus_status": "fail"}] for n in range(20)}
    evalplus.write_text(json.dumps({"date": "2026-01-01 09:00", "eval": evaluated}))
    assert run_facts(evalplus).harness == "EvalPlus"
    assert run_facts(evalplus).day.year == 2026
    with pytest.raises(DataError, match="expected the same harness"):
        compare(evalplus, log)


@pytest.mark.parametrize("text", ['{"score": 61.2}', '[{"model": "m", "score": 61.2}]', "61.2"])
def test_a_leaderboard_score_is_refused(tmp_path, text):
    path = tmp_path / "leaderboard.json"
    path.write_text(text)
    with pytest.raises(DataError, match="a leaderboard score cannot be compared"):
        compare(path, lm_eval(tmp_path, "b", TWIN))


def test_outcomes_that_are_none_and_a_damaged_log_are_one_line_without_options_of_others(tmp_path):
    with pytest.raises(DataError, match="the metric acc has the outcome 300, expected") as refused:
        compare(lm_eval(tmp_path, "a", [300] * 10), lm_eval(tmp_path, "b", TWIN))
    assert "--metric" not in str(refused.value)
    pytest.importorskip("inspect_ai")
    log = tmp_path / "x.eval"
    with zipfile.ZipFile(log, "w") as archive:
        archive.writestr("header.json", '{"version": 2, "status": "success"}')
    with pytest.raises(DataError, match="inspect log: eval: Field required; expected the members"):
        compare(log, log)


def test_tasks_of_a_cluster_flip_together(tmp_path, secret_path):
    result = compare(lm_eval(tmp_path, "a", [1.0] * 10), lm_eval(tmp_path, "b", [0.0] * 10), secret=secret_path)
    assert result.p_value == pytest.approx(2**-10)


@pytest.mark.slow
def test_tasks_of_one_lot_and_a_foreign_secret_are_refused(tmp_path, secret):
    logs = lm_eval(tmp_path, "a", [1.0] * 10), lm_eval(tmp_path, "b", [0.0] * 10)
    joined = tuple(replace(task, cluster="one") for task in secret.committed.tasks)
    for named, tasks in (("one", joined), ("other", tuple(replace(task, id=f"x{task.id}") for task in joined))):
        committed = replace(secret.committed, tasks=tasks, order=tuple(task.id for task in tasks))
        write_secret(tmp_path / f"{named}.json", replace(secret, committed=committed))
    with pytest.raises(DataError, match="all 10 tasks share one lot"):
        compare(*logs, secret=tmp_path / "one.json")
    with pytest.raises(DataError, match="has none of the tasks"):
        compare(*logs, secret=tmp_path / "other.json")
