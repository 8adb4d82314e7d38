"""Evaluation logs, written by the harnesses themselves, annotated by an audit and by a scan."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from assay.annotation import (
    LogColumns,
    TaskResult,
    annotate_tasks,
    read_task_results,
    split_by_audit,
    split_by_evidence,
    write_every_eval_ever,
)
from assay.annotation.annotating import TaskSplit
from assay.api import annotate
from assay.datasets import DataSelection, read_dataset, read_inspect_log
from assay.errors import DataError
from assay.evaluation import difference_of_means, grouped_mean, grouped_share
from assay.scan import ScanEvidence, ScanPlace, TaskEvidence, write_evidence
from support.harness_runs import ITEMS

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "src" / "assay" / "models" / "builtin" / "small"
PACKAGES = {"lm-eval": "lm_eval", "inspect": "inspect_ai", "inspect-dict": "inspect_ai", "score": "inspect_ai"}


INSPECT_TASKS = """
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser


@task
def first():
    return Task(dataset=[Sample("another task")])


@task
def second():
    messages = [ChatMessageSystem(content="Add."), ChatMessageUser(content="x + y")]
    return Task(dataset=MemoryDataset([Sample("def f(x):", id="a", target="4"), Sample(messages, target=["A", "B"])]))
"""


def run_harness(harness, first, second):
    """The files that a harness writes, in a process of its own; skips where it is not installed."""
    package = PACKAGES.get(harness, harness)
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; it requires the clients of paid services, so no group has it")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    command = [sys.executable, str(ROOT / "tests" / "support" / "harness_runs.py"), harness, str(first), str(second)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "No module named" in done.stderr:
        pytest.skip(f"{harness}: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr[-2000:]
    return [Path(name) for name in json.loads(done.stdout.splitlines()[-1])]


@pytest.fixture(scope="module")
def lm_eval_log(tmp_path_factory):
    return run_harness("lm-eval", tmp_path_factory.mktemp("lm-eval"), MODEL)[0]


@pytest.fixture(scope="module")
def inspect_logs(tmp_path_factory):
    return run_harness("inspect", tmp_path_factory.mktemp("inspect"), MODEL)


PLACE = ScanPlace(
    part="solution",
    how="word for word",
    share=0.9,
    source="shard.jsonl",
    row=3,
    first_line=1,
    last_line=2,
    task_text="total",
    source_text="total",
)
EVIDENCE = ScanEvidence(
    tuple(
        TaskEvidence("toy", item["task_id"], "found" if place < 8 else "not found", (PLACE,) if place < 8 else ())
        for place, item in enumerate(ITEMS)
    ),
    compared=100,
)
"""Evidence for the first eight tasks."""


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "evidence.parquet"
    write_evidence(path, EVIDENCE)
    return str(path)


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def split(statuses, basis="scan"):
    return TaskSplit(statuses, {}, basis, "By hand.")


@pytest.mark.slow
class TestLmEval:
    def test_the_log_gives_ids_texts_and_outcomes(self, lm_eval_log):
        notes = []
        tasks = read_task_results([lm_eval_log], LogColumns(), notes.append)
        assert [task.id for task in tasks] == [item["task_id"] for item in ITEMS]
        assert [task.text for task in tasks] == [item["prompt"] for item in ITEMS]
        rows = [json.loads(line) for line in lm_eval_log.read_text().splitlines()]
        assert [task.correct for task in tasks] == [row["acc"] for row in rows]
        assert any("doc.prompt" in note for note in notes)

    def test_nested_columns_are_named_with_dots(self, lm_eval_log):
        dataset = read_dataset(lm_eval_log, DataSelection(text="doc.prompt", id="doc.task_id"))
        assert [sample.text for sample in dataset.samples] == [item["prompt"] for item in ITEMS]
        with pytest.raises(DataError, match="no row has a nested column"):
            read_dataset(lm_eval_log, DataSelection(text="doc.promt"))
        with pytest.raises(DataError, match=r"found the columns doc_id, doc\.task_id, doc\.prompt"):
            read_task_results([lm_eval_log], LogColumns(text="doc.promt"), [].append)
        (task, *_) = read_task_results([lm_eval_log], LogColumns(text="doc.task_id", id="doc_id"), [].append)
        assert (task.id, task.text) == ("0", "T/0")

    def test_an_unknown_metric_is_refused(self, lm_eval_log):
        with pytest.raises(DataError, match="--metric f1: expected acc"):
            read_task_results([lm_eval_log], LogColumns(metric="f1"), [].append)

    def test_a_scan_splits_the_tasks(self, lm_eval_log, evidence):
        annotated = annotate(lm_eval_log, scan=evidence)
        statuses = dict(zip((task.id for task in annotated.tasks), annotated.statuses, strict=True))
        assert [statuses[item["task_id"]] for item in ITEMS] == ["contaminated"] * 8 + ["clean"] * 16

    def test_another_score_than_the_stated_one_is_an_error(self, lm_eval_log, tmp_path):
        results = next(lm_eval_log.parent.glob("results_*.json"))
        stated = json.loads(results.read_text())
        stated["results"]["local_functions"]["acc,none"] += 0.05
        (tmp_path / results.name).write_text(json.dumps(stated))
        log = tmp_path / lm_eval_log.name
        log.write_bytes(lm_eval_log.read_bytes())
        with pytest.raises(DataError, match=r"results_.* states .* but the 24 outcomes read as lm-eval have a mean"):
            read_task_results([log], LogColumns(), [].append)

    def test_a_task_of_the_harness_is_a_data_set(self, lm_eval_log):
        folder = next(parent for parent in lm_eval_log.parents if (parent / "task.yaml").exists())
        code = f"from assay import load; d = load('lm-eval:{folder}/task.yaml'); print(len(d), d.samples[3].id, d.name)"
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HF_DATASETS_OFFLINE": "1"}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.stdout.split()[:2] == ["24", "T/3"], done.stderr[-2000:]


@pytest.mark.slow
class TestInspect:
    def test_both_formats_give_the_same_tasks(self, inspect_logs):
        first, second = (read_task_results([path], LogColumns(), [].append) for path in inspect_logs)
        assert first == second
        assert sorted(task.id for task in first) == sorted(item["task_id"] for item in ITEMS)
        assert {task.correct for task in first} <= {0.0, 1.0}

    def test_a_name_that_looks_like_an_address_is_that_of_a_file(self, inspect_logs, tmp_path):
        for log in inspect_logs:
            other = tmp_path / f"a::b{log.suffix}"
            other.write_bytes(log.read_bytes())
            assert read_task_results([other], LogColumns(), [].append)

    def test_a_scorer_that_returns_values_by_key_has_a_metric_for_each(self, tmp_path):
        (log,) = run_harness("inspect-dict", tmp_path, MODEL)
        notes = []
        tasks = read_task_results([log], LogColumns(), notes.append)
        by_id = {task.id: task for task in tasks}
        assert [by_id[f"T/{number}"].correct for number in range(4)] == [1.0, 0.0, None, 1.0]
        assert by_id["T/2"].problem == "errored, which leaves them without an outcome"
        (chosen,) = [note for note in notes if "--metric NAME" in note]
        assert chosen.startswith("the outcomes are those of by_key.correct; --metric NAME takes another of by_key.")
        assert any(note.startswith("1 task errored") for note in notes)
        assert read_task_results([log], LogColumns(metric="correct"), [].append) == tasks
        with pytest.raises(DataError, match=r"by_key\.length has the outcome .*, expected by_key\.correct, named with"):
            read_task_results([log], LogColumns(metric="length"), [].append)
        with pytest.raises(DataError, match=r"--metric nosuch: expected by_key\.correct"):
            read_task_results([log], LogColumns(metric="nosuch"), [].append)

    def test_a_nested_column_is_the_text(self, inspect_logs):
        (task, *_) = read_task_results(inspect_logs[:1], LogColumns(text="output.model"), [].append)
        assert task.text
        with pytest.raises(DataError, match=r"no row has a nested column 'doc\.nosuch'; found the columns id, epoch"):
            read_task_results(inspect_logs[:1], LogColumns(text="doc.nosuch"), [].append)

    def test_a_task_of_the_harness_is_a_data_set(self, tmp_path):
        if importlib.util.find_spec("inspect_ai") is None:
            pytest.skip("inspect_ai is not installed")
        (tmp_path / "tasks.py").write_text(INSPECT_TASKS)
        code = "from assay import load; d = load('inspect:tasks.py@second')\n"
        code += "print([(s.id, s.text, s.metadata['target']) for s in d.samples], d.name)\n"
        code += "from assay.errors import DataError\n"
        code += "try:\n    load('inspect:tasks.py@third')\nexcept DataError as error:\n    print(error)"
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        samples, refusal = done.stdout.splitlines()
        assert samples == "[('a', 'def f(x):', '4'), ('tasks.py@second/1', 'Add.\\nx + y', 'A\\nB')] tasks.py@second"
        assert "tasks.py@third" in refusal

    @pytest.mark.slow
    def test_the_scorer_annotates_a_finished_log(self, inspect_logs, evidence):
        (path,) = run_harness("score", inspect_logs[0], evidence)
        samples = json.loads(path.read_text())["samples"]
        by_id = {sample["id"]: sample["scores"]["contamination"] for sample in samples}
        assert len(by_id) == len(ITEMS)
        assert {by_id[item["task_id"]]["answer"] for item in ITEMS[:8]} == {"contaminated"}

    def test_the_extension_is_declared(self):
        import tomllib

        declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["inspect_ai"]
        assert declared == {"assay": "assay.api.inspect_extension"}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.eval", b"", "received an empty file, expected the log of a run"),
        ("cut.eval", b"PK\x03\x04 and no end", "received a zip archive that is cut off, expected the whole .eval file"),
        ("text.eval", b"no archive", "received a file that is no zip archive, expected the whole .eval file"),
        ("cut.json", b"{", "expected the JSON log of a run"),
        ("gone.eval", None, "expected a file"),
    ],
)
def test_a_file_that_is_no_log_of_inspect_says_what_it_is(tmp_path, name, content, reason):
    pytest.importorskip("inspect_ai")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=re.escape(reason)):
        read_inspect_log(tmp_path / name)


def test_a_log_of_inspect_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path):
    pytest.importorskip("inspect_ai")
    with zipfile.ZipFile(tmp_path / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b" " * 70_000_000)
    with pytest.raises(DataError, match="unpacks to more than 200 times its size"):
        read_inspect_log(tmp_path / "bomb.eval")


@pytest.mark.parametrize("harness", ["evalplus", "swebench"])
def test_predictions_and_their_outcomes_are_one_task_each(harness, tmp_path):
    files = run_harness(harness, tmp_path, MODEL)
    tasks = read_task_results(files, LogColumns(), [].append)
    assert [task.id for task in tasks] == [item["task_id"] for item in ITEMS]
    assert [task.correct for task in tasks] == [1.0, 0.0] * 12
    assert all(task.correct is None for task in read_task_results(files[:1], LogColumns(), [].append))
    with pytest.raises(DataError, match="without an outcome, so there are no results to split"):
        annotate(files[:1], scan="never opened")


class TestSplits:
    def test_labels_split_first_and_groups_are_kept(self, demo):
        tasks = [TaskResult(sample.id, correct=float(place % 2)) for place, sample in enumerate(demo.samples)]
        annotated = annotate_tasks("log", tasks, split_by_audit(demo, tasks))
        assert annotated.split.basis == "labels"
        assert sum(count for count, _ in annotated.counts.values()) == len(tasks)
        assert annotated.difference.groups

    def test_without_labels_and_calibration_the_order_splits_and_accuses_no_task(self, unlabelled):
        tasks = [TaskResult(sample.id, correct=1.0) for sample in unlabelled.samples]
        annotated = annotate_tasks("log", tasks, split_by_audit(unlabelled, tasks))
        assert annotated.split.basis == "order"
        assert "accuses no task" in annotated.describe().tables[0].caption[1]
        report = annotated.describe()
        assert "upper half" in report.statement
        assert {task["status"] for task in report.data["per_task"]} <= {"upper half", "lower half", "unknown"}
        assert "contaminated" not in report.data["counts"]
        with pytest.raises(DataError, match="names no single task"):
            annotated.clean_ids()

    def test_a_sample_is_known_by_its_text_where_the_ids_differ(self, unlabelled):
        tasks = [TaskResult(f"other-{place}", sample.text) for place, sample in enumerate(unlabelled.samples)]
        assert len(split_by_audit(unlabelled, tasks).statuses) > 0

    def test_a_log_of_other_tasks_is_refused(self, unlabelled):
        with pytest.raises(DataError, match="no task of the log is in the audit"):
            split_by_audit(unlabelled, [TaskResult("nowhere", "nothing")])
        with pytest.raises(DataError, match="no task of the log is in the evidence, which is on toy"):
            split_by_evidence(EVIDENCE, [TaskResult("nowhere")])

    def test_the_corrected_score_stands_beside_the_score(self):
        tasks = [TaskResult(item["task_id"], correct=float(place < 8)) for place, item in enumerate(ITEMS)]
        tasks.append(TaskResult("T/99", correct=0.0))
        notes = []
        annotated = annotate_tasks("log", tasks, split_by_evidence(EVIDENCE, tasks, notes.append), notes)
        assert (annotated.score.value, annotated.corrected.value) == (8 / 25, 0.0)
        assert annotated.change.value == pytest.approx(annotated.corrected.value - annotated.score.value)
        report = annotated.describe()
        assert "The score is 32 % on all tasks and 0 % without the 8 found tasks: -32.0" in plain(report.statement)
        assert "of 25 tasks with an outcome, 8 were found in the scanned training data" in report.data["for_a_paper"]
        assert "8 by their solution" in annotated.split.explanation
        assert notes == ["1 task is not in the evidence on toy"]
        rows = annotated.rows()
        assert (rows[0]["status"], rows[0]["places"][0]["row"]) == ("found", 3)
        assert (rows[8]["status"], rows[24]["status"]) == ("not found", "not in the evidence")

    def test_the_interval_of_the_change_is_that_of_the_difference_in_proportion(self):
        tasks = [TaskResult(f"{place}", correct=float(place % 3 == 0)) for place in range(120)]
        statuses = {f"{place}": "contaminated" if place < 40 else "clean" for place in range(120)}
        annotated = annotate_tasks("log", tasks, split(statuses))
        assert annotated.change.high - annotated.change.low == pytest.approx(
            (annotated.difference.high - annotated.difference.low) / 3
        )

    def test_tasks_are_matched_by_their_ids_in_another_spelling_or_by_their_number(self):
        spelt = [TaskResult("t/3", correct=1.0), TaskResult("5", correct=1.0)]
        assert split_by_evidence(EVIDENCE, spelt).statuses == {"t/3": "contaminated", "5": "contaminated"}
        notes = []
        numbered = [TaskResult("9", correct=1.0, number=9)]
        assert split_by_evidence(EVIDENCE, numbered, notes.append).statuses == {"9": "clean"}
        assert notes == ["the log numbers its tasks: number N was taken as the N-th task of toy, from 0"]

    def test_the_cleaned_list_leaves_out_the_contaminated_tasks_alone(self):
        tasks = [TaskResult("a", correct=1.0), TaskResult("b", correct=0.0), TaskResult("c")]
        annotated = annotate_tasks("log", tasks, split({"a": "contaminated", "b": "clean"}))
        assert annotated.clean_ids() == ["b", "c"]
        assert annotated.counts == {"contaminated": (1, 1), "clean": (1, 1), "unknown": (1, 0)}
        assert annotated.difference.value == 1.0
        assert not annotated.difference.has_interval


class TestDifference:
    def test_equal_parts_differ_by_nothing_and_the_interval_holds_zero(self):
        values = [1.0, 0.0] * 60
        first = [True] * 60 + [False] * 60
        estimate = difference_of_means(values, first)
        assert estimate.value == 0
        assert estimate.low < 0 < estimate.high

    def test_one_group_for_each_sample_is_no_group(self):
        values, first = [1.0, 0.0, 0.5] * 20, [True, True, False] * 20
        assert difference_of_means(values, first) == difference_of_means(values, first, list(range(60)))

    def test_copies_of_a_group_do_not_make_the_interval_narrower(self):
        values, first = [1.0, 0.0] * 20 + [0.0, 1.0, 1.0, 1.0] * 10, [True] * 40 + [False] * 40
        narrow = difference_of_means(values * 3, first * 3)
        wide = difference_of_means(values * 3, first * 3, [*range(80)] * 3)
        assert wide.high - wide.low > narrow.high - narrow.low

    def test_a_mean_of_zeros_and_ones_is_a_share(self):
        values = [1.0, 0.0, 1.0] * 20
        assert grouped_mean(values) == grouped_share([value == 1 for value in values])
        assert grouped_mean([0.5] * 40).value == 0.5


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("predictions.jsonl", '{"instance_id": "a", "model_patch": ""}\n{"model_patch": ""}'),
        ("predictions.json", '[{"task_id": "a", "solution": ""}, 5]'),
        ("report.json", '{"resolved_ids": 5}'),
        ("eval_results.json", '{"eval": {"a": [{"base_status": "pass"}, 5]}}'),
        ("samples.jsonl", '{"doc_id": 0, "doc": {"prompt": ""}, "metrics": ["a"], "a": 1}\n{"doc": {"prompt": ""}}'),
        ("samples2.jsonl", '{"doc_id": 0, "doc": 5, "metrics": ["acc"], "acc": 1}'),
    ],
)
def test_a_damaged_entry_is_refused_in_one_line(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(
        DataError, match=r"an entry is damaged \(.+\); expected a file of a harness|expected pass"
    ) as caught:
        read_task_results([path], LogColumns(), lambda _: None)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("ids", "expected"), [(("T/0", "T/1"), ["contaminated", "clean"]), (("x", "y"), None)])
def test_samples_are_written_with_the_status_of_their_task_whatever_its_spelling(tmp_path, ids, expected):
    log, written = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"sample_id": name, "evaluation": {}, "schema_version": "1", "metadata": {"a": 1}} for name in ("t/0", "t/1")
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    split_of_tasks = split({ids[0]: "contaminated", ids[1]: "clean"}, "labels")
    annotated = annotate_tasks("log", [TaskResult(name, correct=1.0) for name in ids], split_of_tasks)
    if expected is None:
        with pytest.raises(DataError, match="is an annotated task: ids such as"):
            write_every_eval_ever(written, [log], annotated)
        return
    write_every_eval_ever(written, [log], annotated)
    metadata = [json.loads(line)["metadata"] for line in written.read_text().splitlines()]
    assert [(entry["contamination"], entry["a"]) for entry in metadata] == [(status, 1) for status in expected]
