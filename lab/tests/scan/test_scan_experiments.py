"""The experiments of the scan on packages and a benchmark made for the test."""

import io
import json
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from assay.scan.describing import RECALL
from assay_lab.experiments import all_measurements
from assay_lab.measuring import RESULTS
from assay_lab.scan.archives import packages_in, texts_in
from assay_lab.scan.recall import InjectedTask, reformatted, renamed, third_of_lines, translated

CODE = 'def mean(xs):\n    # the mean of all\n    total = sum(xs)\n    return total / len(xs), "total"\n'
TASK = {
    "task_id": "HumanEval/0",
    "prompt": 'def staircase(width):\n    """Count how many red bricks a crooked staircase of this width wants."""\n',
    "canonical_solution": "    bricks = width * 7\n    for stair in range(3, width):\n        bricks -= stair % 11\n"
    "    return bricks or width ** 2\n",
    "entry_point": "staircase",
    "test": "assert staircase(14) == 61 and staircase(90) == 377 and staircase(3) == 21\n",
}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    source = "".join(f"def area_{n}(a, b):\n    return a * {n} + b\n\n" for n in range(90))
    for name in ("one", "two", "three"):
        with zipfile.ZipFile(folder / f"{name}-1.0.whl", "w") as wheel:
            wheel.writestr(f"{name}/areas.py", source)
            wheel.writestr(f"{name}/picture.png", b"\0\1")
    with tarfile.open(folder / "four.tgz", "w:gz") as archive:
        member = tarfile.TarInfo("package/read.md")
        member.size = len(source)
        archive.addfile(member, io.BytesIO(source.encode()))
    (tmp_path / "humaneval.jsonl").write_text(json.dumps(TASK) + "\n")
    return folder


def test_the_texts_of_wheels_and_tar_archives_are_read(packages: Path) -> None:
    names = [name for package in packages_in(packages) for name, _ in texts_in(package)]
    assert names == ["package/read.md", "one/areas.py", "three/areas.py", "two/areas.py"]


def test_a_renaming_leaves_keywords_built_ins_members_and_texts() -> None:
    changed = renamed(CODE, "python", random.Random(0))
    assert "total = " not in changed
    assert "sum(" in changed
    assert '"total"' in changed
    assert "# the mean of all" in changed


def test_a_translation_leaves_the_code() -> None:
    changed = translated(CODE, "python", random.Random(0))
    assert "the mean" not in changed
    assert [line for line in changed.split("\n") if "#" not in line] == [
        line for line in CODE.split("\n") if "#" not in line
    ]


def test_other_edits_keep_the_words_or_most_lines() -> None:
    assert "\t# the mean of all" in reformatted(CODE)
    assert third_of_lines(CODE, "python", random.Random(1)) != CODE


def test_a_task_that_begins_with_prose_is_its_solution_as_code() -> None:
    task = InjectedTask("python", {"prompt": "Write a sum.", "solution": CODE, "task": f"Write a sum.\n{CODE}"}, ())
    assert (task.prose, task.code) == ("Write a sum.", CODE)


def test_recall_counts_each_change_of_each_benchmark(tmp_path: Path, packages: Path) -> None:
    experiment = all_measurements()["scan/recall"]
    data = {"packages": packages, "humaneval": tmp_path / "humaneval.jsonl", "work": tmp_path}
    rows = experiment.run(experiment.scales["smoke"], 0, data).rows
    found = {(row["benchmark"], row["change"]): row["found"] for row in rows}
    assert found["humaneval", "word for word"] == found["all", "word for word"] == 1


def test_the_table_of_rarity_is_the_same_each_time(tmp_path: Path, packages: Path) -> None:
    experiment = all_measurements()["scan/frequencies"]
    tables = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        result = experiment.run(experiment.scales["smoke"], 0, {"packages": packages, "work": tmp_path / name})
        tables.append((tmp_path / name / "frequencies.npz").read_bytes())
    assert tables[0] == tables[1]
    assert "four.tgz" in result.notes[0]


@pytest.mark.slow
def test_texts_that_are_accused_are_counted_by_what_a_reader_said(tmp_path: Path, packages: Path) -> None:
    with zipfile.ZipFile(packages / "one-1.0.whl", "a") as wheel:
        wheel.writestr("one/stairs.py", TASK["prompt"] + TASK["canonical_solution"])
    experiment = all_measurements()["scan/false-rows"]
    data = {"packages": packages, "humaneval": tmp_path / "humaneval.jsonl", "work": tmp_path}
    total, accused = experiment.run(experiment.scales["full"], 0, data).rows
    assert (total["wrong_texts"], accused["reading"], accused["in"]) == (1, "not read", ["one-1.0.whl!one/stairs.py"])


def test_the_recall_that_a_report_prints_is_the_measured_one() -> None:
    rows = json.loads((RESULTS / "scan" / "recall.json").read_text("utf-8"))["results"]
    measured = {}
    for row in rows:
        if row["benchmark"] == "all" and row["rule"] == "confirmed on":
            measured[row["change"]] = row["found"] / row["tasks"]
    assert {change: pytest.approx(share, abs=0.001) for change, share in RECALL.items()} == {
        change: measured[change] for change in RECALL
    }
