"""Each reader gives the tasks and outcomes of files in the layout of its harness, and refuses what it does not know."""

import json
from datetime import date
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.annotation import LogColumns, StatedScore, TaskLog, TaskResult, read_task_results, younger_than
from assay.annotation.log_file import values_at
from assay.annotation.matching import with_texts
from assay.annotation.outcomes import outcome
from assay.annotation.readers.table import READERS, harness_of
from assay.annotation.task_results import check_stated
from assay.errors import DataError
from assay.types import Sample

LOGS = Path(__file__).parents[1] / "data" / "harness_logs"
NAN = float("nan")


def read(*paths, **columns):
    return read_task_results(paths, LogColumns(**columns), [].append)


def outcomes(*paths, **columns):
    return {task.id: task.correct for task in read(*paths, **columns)}


def written(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = content if isinstance(content, list) and path.suffix == ".jsonl" else [content]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class TestLogsThatHarnessesWrote:
    """Logs of `assay lab toy-logs`: of every four solutions one passes, and one passes the base tests alone."""

    def test_evalplus(self):
        log = LOGS / "evalplus" / "samples_eval_results.json"
        assert list(outcomes(log).values()) == [1.0, 0.0, 0.0, 0.0] * 3
        assert list(outcomes(log, metric="base").values()) == [1.0, 1.0, 0.0, 0.0] * 3

    def test_bigcodebench(self):
        log = LOGS / "bigcodebench" / "samples_eval_results.json"
        assert list(outcomes(log).values()) == [1.0, 0.0, 0.0] * 4
        assert harness_of(log) == "BigCodeBench"

    def test_livecodebench(self):
        (log,) = (LOGS / "livecodebench").glob("*_eval_all.json")
        tasks = read(log)
        assert [task.correct for task in tasks] == [0.0, 0.5] * 6
        assert (tasks[0].id, tasks[11].day) == ("toy_0", date(2025, 12, 1))
        assert tasks[3].text == "Read a whole number from the input and print it plus 3."

    def test_lighteval(self):
        (log,) = (LOGS / "lighteval").rglob("*.parquet")
        tasks = read(log)
        assert [task.correct for task in tasks] == [1.0, 0.0, 0.0, 0.0] * 3
        assert tasks[5].text.startswith("def add_5(")
        assert tasks[5].number == 5
        with pytest.raises(DataError, match=r"the metric length has the outcome .*, expected em, named with --metric"):
            read(log, metric="length")

    @pytest.mark.parametrize("harness", ["bigcodebench", "livecodebench", "lighteval"])
    def test_a_stated_score_that_differs_stops(self, harness, tmp_path):
        for path in filter(Path.is_file, (LOGS / harness).rglob("*")):
            target = tmp_path / path.relative_to(LOGS)
            target.parent.mkdir(parents=True, exist_ok=True)
            stated = path.suffix == ".json" and "eval_all" not in path.name and "eval_results" not in path.name
            data = path.read_bytes()
            for score in (b"0.3333333333333333", b"0.25"):
                data = data.replace(b" " + score, b" 0.5") if stated else data
            target.write_bytes(data)
        (log,) = [*tmp_path.rglob("*_eval_all.json"), *tmp_path.rglob("*.parquet"), *tmp_path.rglob("*_results.json")]
        with pytest.raises(DataError, match=r"states 50\.00 %, but the 12 outcomes .* expected the same"):
            read(log)


LCB = {
    "question_id": "q",
    "question_content": "Count.",
    "contest_date": "2025-03-01T00:00:00",
    "graded_list": [True, False],
}
REPORT = {
    "submitted_ids": ["a", "b", "c", "d"],
    "resolved_ids": ["a"],
    "unresolved_ids": ["b"],
    "error_ids": ["c"],
    "empty_patch_ids": ["d"],
    "resolved_instances": 1,
}
HELM_NAME = {"name": "exact_match", "split": "test"}
HELM = [
    {"instance_id": "id1", "train_trial_index": 0, "stats": [{"name": HELM_NAME, "count": 1, "mean": 1.0}]},
    {"instance_id": "id2", "train_trial_index": 0, "stats": [{"name": HELM_NAME, "count": 1, "mean": 0.0}]},
    {
        "instance_id": "id2",
        "perturbation": {"name": "typos"},
        "train_trial_index": 0,
        "stats": [{"name": HELM_NAME, "count": 1, "mean": 1.0}],
    },
]


def review(index, value, **score):
    return {
        "index": index,
        "messages": [{"role": "system", "content": "Code."}, {"role": "user", "content": f"Task {index}"}],
        "sample_score": {
            "score": {"value": value, **score},
            "sample_id": index,
            "group_id": index,
            "sample_metadata": {},
        },
    }


def sample(number, score, name="toy"):
    return {
        "schema_version": "0.3.0",
        "evaluation_id": "toy/m/1",
        "model_id": "m",
        "evaluation_name": name,
        "sample_id": f"s{number}",
        "interaction_type": "single_turn",
        "input": {"raw": f"Task {number}", "reference": []},
        "output": {"raw": ["x"]},
        "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score == 1},
    }


OLD = {
    "nfiles": 2,
    "base": [["success", [True]], ["timed out", []]],
    "plus": [["failed", [False]], ["success", [True]]],
}
LAYOUTS = {
    "EvalPlus 0.1": ("x_eval_results.json", {"eval": {"HumanEval/0": OLD}}, {"HumanEval/0": 0.0}),
    "EvalPlus without the further tests": (
        "x_eval_results.json",
        {"eval": {"a": [{"base_status": "pass", "plus_status": None}, {"base_status": "fail"}]}},
        {"a": 0.5},
    ),
    "BigCodeBench": (
        "x.json",
        {"eval": {"a": [{"status": "fail"}], "b": [{"status": "timeout"}]}},
        {"a": 0.0, "b": 0.0},
    ),
    "LiveCodeBench": ("x_eval_all.json", [LCB], {"q": 0.5}),
    "LiveCodeBench, predicted outputs": (
        "x.json",
        [LCB | {"test_id": 0}, LCB | {"test_id": 1, "graded_list": [True]}],
        {"q/0": 0.5, "q/1": 1.0},
    ),
    "bigcode-evaluation-harness": (
        "logs.json",
        {"0": [[0, {"task_id": 0, "passed": True}]], "1": [[0, {"passed": False}], [1, {"passed": True}]]},
        {"0": 1.0, "1": 0.5},
    ),
    "SWE-bench": ("m.run.json", REPORT, {"a": 1.0, "b": 0.0, "c": 0.0, "d": 0.0}),
    "Multi-SWE-bench": (
        "final_report.json",
        {"submitted_ids": ["o/r:pr-1", "o/r:pr-2"], "resolved_ids": ["o/r:pr-1"], "unresolved_ids": ["o/r:pr-2"]},
        {"o/r:pr-1": 1.0, "o/r:pr-2": 0.0},
    ),
    "SWE-bench, an instance": ("report.json", {"a__b-1": {"patch_exists": True, "resolved": True}}, {"a__b-1": 1.0}),
    "SWE-bench Pro": ("eval_results.json", {"a": True, "b": False}, {"a": 1.0, "b": 0.0}),
    "OpenCompass": (
        "toy.json",
        {"accuracy": 50.0, "details": {"type": "GEN", "0": {"prompt": "p", "correct": True}, "1": {"correct": False}}},
        {"0": 1.0, "1": 0.0},
    ),
    "OpenCompass, a list": ("toy.json", {"score": 0.0, "details": [{"pred": 1, "is_correct": False}]}, {"0": 0.0}),
    "HELM": ("per_instance_stats.json", HELM, {"id1": 1.0, "id2": 0.0}),
    "EvalScope": (
        "reviews/m/toy_default.jsonl",
        [review(0, {"acc": 1.0}), review(1, {"acc": 0})],
        {"0": 1.0, "1": 0.0},
    ),
    "every_eval_ever": ("toy.jsonl", [sample(0, 1.0), sample(1, 0)], {"s0": 1.0, "s1": 0.0}),
    "HumanEval's own": ("x.jsonl", [{"task_id": "a", "completion": "", "passed": False}], {"a": 0.0}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_of_each_layout_gives_its_outcomes(layout, tmp_path):
    name, content, expected = LAYOUTS[layout]
    assert outcomes(written(tmp_path / name, content)) == expected


REFUSED = {
    "an unknown status": (
        "x.json",
        {"eval": {"a": [{"base_status": "ok"}]}},
        "a: received the outcome 'ok', expected pass, fail, timeout",
    ),
    "no attempt": ("x.json", {"eval": {"a": [{"status": "pass"}], "b": []}}, "b has no attempt"),
    "further tests of some": (
        "x.json",
        {"eval": {"a": [{"base_status": "pass", "plus_status": "pass"}, {"base_status": "pass"}]}},
        "some attempts have no plus_status",
    ),
    "fewer outcomes than files": ("x.json", {"eval": {"a": OLD | {"nfiles": 3}}}, "an entry is damaged"),
    "an empty list of grades": ("x.json", [LCB, LCB | {"graded_list": []}], "row 2: received the graded_list"),
    "another mean than the grades": ("x.json", [LCB | {"pass@1": 1.0}], "row 1 states pass@1 1.0"),
    "an instance in no list": (
        "x.json",
        REPORT | {"submitted_ids": ["a", "b", "c", "d", "e"]},
        "e was submitted, and is in none of resolved_ids",
    ),
    "an instance in two lists": ("x.json", REPORT | {"unresolved_ids": ["a", "b"]}, "a is among the resolved and the"),
    "more resolved than listed": ("x.json", REPORT | {"resolved_instances": 3}, "states 75.00 %"),
    "an outcome by id that is none": ("x.json", {"a": True, "b": "yes"}, "b: received the outcome 'yes'"),
    "an entry without an outcome": ("x.json", {"details": {"0": {"correct": True}, "1": {}}}, "entry 1 has no outcome"),
    "a score in per cent that differs": (
        "x.json",
        {"accuracy": 60.0, "details": [{"correct": True}, {"correct": False}]},
        "states 60.00 %, but the 2 outcomes read as OpenCompass have a mean of 50.00 %",
    ),
    "a metric that no outcome has": ("x.jsonl", [review(0, {"length": 7})], "the metric length has the outcome 7"),
    "a review without the metric": ("x.jsonl", [review(0, {"acc": 1}), review(1, {})], "row 2: no outcome 'acc'"),
    "another layout": ("x.jsonl", [{"a": 1, "b": 2}], "received rows with a, b; expected a file of a harness that"),
    "a list of nothing": ("x.json", [], "received rows with nothing"),
    "predictions whose outcomes are words": (
        "x.jsonl",
        [{"task_id": "a", "completion": "", "passed": "maybe"}],
        "received the outcome 'maybe'",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_row_without_a_known_outcome_is_an_error(fault, tmp_path):
    name, content, words = REFUSED[fault]
    with pytest.raises(DataError) as caught:
        read(written(tmp_path / name, content))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_results_that_all_fail_are_zero_and_none_is_a_pass(tmp_path):
    failing = {"eval": {f"BigCodeBench/{n}": [{"task_id": "", "status": "fail", "details": {}}] for n in range(3)}}
    assert set(outcomes(written(tmp_path / "x_eval_results.json", failing)).values()) == {0.0}


def test_what_errored_is_named(tmp_path):
    notes = []
    read_task_results([written(tmp_path / "x.json", REPORT)], LogColumns(), notes.append)
    assert "1 task errored, which the harness counts as not resolved: c" in notes
    assert "1 task with an empty patch, which the harness counts as not resolved: d" in notes


def test_reports_of_single_instances_are_read_from_their_folder(tmp_path):
    for name in ("a", "b"):
        written(tmp_path / "run" / "m" / name / "report.json", {name: {"resolved": name == "a"}})
    assert outcomes(tmp_path / "run") == {"a": 1.0, "b": 0.0}
    with pytest.raises(DataError, match="received a folder without reports"):
        read(written(tmp_path / "other" / "x.txt", {}).parent)


def test_the_score_of_the_whole_is_compared_from_another_file(tmp_path):
    logs = written(tmp_path / "logs.json", {"0": [[0, {"passed": True}]], "1": [[0, {"passed": False}]]})
    right = written(tmp_path / "right.json", {"humaneval": {"pass@1": 0.5}, "config": {"n_samples": 1}})
    wrong = written(tmp_path / "wrong.json", {"humaneval": {"pass@1": 0.75}, "config": {}})
    assert outcomes(logs, right) == {"0": 1.0, "1": 0.0}
    with pytest.raises(DataError, match=r"states 75\.00 %"):
        read(logs, wrong)
    with pytest.raises(DataError, match="no task in it"):
        read(right)


def test_scores_beside_a_log_are_compared(tmp_path):
    helm = written(tmp_path / "helm" / "per_instance_stats.json", HELM)
    written(tmp_path / "helm" / "instances.json", [{"id": "id1", "input": {"text": "One"}}])
    written(tmp_path / "helm" / "stats.json", [{"name": HELM_NAME, "mean": 0.5}])
    assert read(helm.parent)[0].text == "One"
    written(tmp_path / "helm" / "stats.json", [{"name": HELM_NAME, "mean": 0.75}])
    with pytest.raises(DataError, match=r"stats\.json states 75\.00 %"):
        read(helm)
    reviews = written(
        tmp_path / "reviews" / "m" / "toy_default.jsonl", [review(0, {"acc": 1.0}), review(1, {"acc": 0})]
    )
    subsets = [{"name": "default", "score": 0.25, "num": 2}]
    report = {"dataset_name": "toy", "metrics": [{"name": "mean_acc", "categories": [{"subsets": subsets}]}]}
    written(tmp_path / "reports" / "m" / "toy.json", report)
    with pytest.raises(DataError, match=r"toy\.json states 25\.00 %"):
        read(reviews)
    samples = written(tmp_path / "eee" / "toy.jsonl", [sample(0, 1.0), sample(1, 0)])
    result = {"evaluation_name": "toy", "score_details": {"score": 1.0}, "metric_config": {}}
    written(tmp_path / "eee" / "toy.json", {"evaluation_id": "toy/m/1", "evaluation_results": [result]})
    with pytest.raises(DataError, match=r"toy\.json states 100\.00 %"):
        read(samples)


def test_a_sample_that_a_judge_did_not_score_has_no_outcome(tmp_path):
    rows = [review(0, {"acc": 1.0}), review(1, {}, status="parse_error")]
    tasks = read(written(tmp_path / "x.jsonl", rows))
    assert [(task.correct, task.problem) for task in tasks] == [(1.0, None), (None, "were not scored (parse_error)")]


class TestColumns:
    ROWS: ClassVar = (
        {"task": {"name": "a", "text": "One."}, "tries": [{"ok": True}, {"ok": False}], "at": "2025-01-02T10:00:00"},
        {"task": {"name": "b", "text": "Two."}, "tries": [{"ok": "pass"}], "at": "2024-01-02"},
    )
    PATHS: ClassVar = {"id": "task.name", "text": "task.text", "outcome": "tries[].ok", "date": "at"}

    @pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.parquet"])
    def test_any_table_is_read_by_the_paths_of_its_fields(self, name, tmp_path):
        rows = [json.loads(json.dumps(row)) for row in self.ROWS]
        path = tmp_path / name
        if name == "x.parquet":
            rows[1]["tries"] = [{"ok": True}]
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            path.write_text(json.dumps(rows) if name == "x.json" else "\n".join(map(json.dumps, rows)))
        tasks = read(path, **self.PATHS)
        assert tasks == (
            TaskResult("a", "One.", 0.5, date(2025, 1, 2)),
            TaskResult("b", "Two.", 1.0, date(2024, 1, 2)),
        )

    def test_rows_may_lie_inside_of_one_object(self, tmp_path):
        path = written(tmp_path / "x.json", {"run": {"rows": [{"id": 1, "ok": 1}, {"id": 2, "ok": 0.25}]}})
        assert outcomes(path, id="run.rows[].id", outcome="run.rows[].ok") == {"1": 1.0, "2": 0.25}
        path = written(tmp_path / "y.json", {"eval": {"a": {"status": "fail"}, "b": {"status": "pass"}}})
        assert outcomes(path, id="eval[key]", outcome="eval[].status") == {"a": 0.0, "b": 1.0}

    def test_a_path_finds_a_column_with_a_dot_in_its_name_first(self):
        assert values_at({"a.b": 1, "a": {"b": 2}}, "a.b") == [1]
        assert values_at({"a": [{"b": 1}, {"b": 2}, 3]}, "a[].b") == [1, 2]
        assert values_at({"a": [[7]]}, "a.0.0") == [7]

    @pytest.mark.parametrize(
        ("row", "columns", "words"),
        [
            ({"id": "a", "ok": None}, {}, "row 1: received the outcome None"),
            ({"id": "a", "ok": 61.5}, {}, "row 1: received the outcome 61.5"),
            ({"id": None, "ok": 1}, {}, "row 1: received the id None"),
            ({"id": "a"}, {}, "no row has a nested column 'ok'"),
            ({"id": ["a", "b"], "ok": [1, 1, 0]}, {"id": "id[]", "outcome": "ok[]"}, "leads to 2 values"),
        ],
    )
    def test_a_row_without_id_or_outcome_is_refused(self, row, columns, words, tmp_path):
        with pytest.raises(DataError) as caught:
            read(written(tmp_path / "x.jsonl", [row]), **{"id": "id", "outcome": "ok"} | columns)
        assert words in str(caught.value)


@pytest.mark.parametrize("value", [True, False, 0, 1, 0.5, "PASS", "false", "0.25"])
def test_an_outcome_is_between_0_and_1(value):
    assert 0 <= outcome(value) <= 1


@pytest.mark.parametrize("value", [None, -1, 2, 61.5, 10**400, "C", "", "inf", [1], {"correct": 1}])
def test_anything_else_is_no_outcome(value):
    with pytest.raises(ValueError):  # noqa: PT011  its message is the value alone
        outcome(value)


def test_younger_tasks_are_kept():
    notes = []
    tasks = [TaskResult("a", day=date(2024, 1, 1)), TaskResult("b", day=date(2025, 1, 1)), TaskResult("c")]
    assert [task.id for task in younger_than(date(2024, 6, 1), tasks, notes.append)] == ["b"]
    assert notes == ["1 of 2 tasks are younger than 2024-06-01; 1 without a date were left out"]
    with pytest.raises(DataError, match="the youngest task is of 2025-01-01"):
        younger_than(date(2026, 1, 1), tasks, notes.append)


def test_a_benchmark_gives_texts_and_days():
    samples = [Sample(f"HumanEval/{n}", f"text {n}", metadata={"contest_date": f"2025-01-0{n + 1}"}) for n in range(3)]
    tasks = with_texts([TaskResult("humaneval/1", correct=1.0), TaskResult("zzz")], samples, "toy", [].append)
    assert tasks[0] == TaskResult("HumanEval/1", "text 1", 1.0, date(2025, 1, 2))
    assert tasks[1] == TaskResult("zzz")
    with pytest.raises(DataError, match="no task of the log is in toy"):
        with_texts([TaskResult("x")], samples, "toy", [].append)


def test_numbers_beyond_the_benchmark_are_no_tasks_of_it():
    samples = [Sample("HumanEval/0", "text")]
    with pytest.raises(DataError, match="no task of the log is in toy"):
        with_texts([TaskResult("5", number=5)], samples, "toy", [].append)


def test_a_stated_score_may_be_rounded():
    log = TaskLog(
        "toy", tuple(TaskResult(str(n), correct=float(n == 0)) for n in range(3)), (StatedScore(0.3333, "x"),)
    )
    check_stated([log])
    with pytest.raises(DataError, match="x states 33"):
        check_stated([TaskLog("toy", log.results, (StatedScore(0.332, "x"),))])


def test_every_reader_leaves_files_of_others_alone(tmp_path):
    for layout, (name, content, _) in LAYOUTS.items():
        path = written(tmp_path / layout / name, content)
        assert harness_of(path)
    assert len(READERS) >= 15
