"""Evidence is read as it was written; a file that is not evidence is refused in one line."""

from pathlib import Path

import pytest

from assay.errors import DataError
from assay.scan import ScanEvidence, ScanPlace, TaskEvidence, read_evidence, write_evidence

PLACE = ScanPlace(
    part="prompt",
    how="word for word",
    share=1.0,
    source="shard.jsonl.zst",
    row=7,
    first_line=3,
    last_line=5,
    task_text='"Add two\nnumbers."',
    source_text="Add two\nnumbers.",
)
EVIDENCE = ScanEvidence(
    (
        TaskEvidence("humaneval", "HumanEval/0", "found", (PLACE, PLACE)),
        TaskEvidence("humaneval", "HumanEval/1", "not found"),
        TaskEvidence("tasks.jsonl", "HumanEval/0", "too short to tell"),
    ),
    compared=12,
    unread=2,
)


@pytest.mark.parametrize("name", ["evidence.jsonl", "evidence.parquet", "evidence.JSONL"])
def test_evidence_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    write_evidence(tmp_path / name, EVIDENCE)
    read = read_evidence(tmp_path / name)
    assert read == EVIDENCE
    assert read.by_task["tasks.jsonl", "HumanEval/0"].status == "too short to tell"
    assert read.benchmarks == ("humaneval", "tasks.jsonl")


def test_a_name_with_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected a name that ends in \.parquet or \.jsonl"):
        write_evidence(tmp_path / "evidence.csv", EVIDENCE)


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        ('"status": "found"', '"status": "clean"', "status 'clean'"),
        ('"format": 1', '"format": 2', "format 2, expected 1"),
        ('"share": 1.0', '"share": "all"', "column share"),
        ('"texts_compared": 12, ', "", "column texts_compared"),
        ('"status": "not found"', '"status": "found"', "contradict"),
    ],
)
def test_a_file_that_is_not_evidence_is_refused(tmp_path: Path, wrong: str, right: str, message: str) -> None:
    path = tmp_path / "evidence.jsonl"
    write_evidence(path, EVIDENCE)
    text = path.read_text("utf-8")
    assert wrong in text
    path.write_text(text.replace(wrong, right), "utf-8")
    with pytest.raises(DataError, match=message):
        read_evidence(path)
