"""Commands that an audit prints name the benchmark so that a line which is copied finds the same texts."""

import pytest

from assay.datasets import Dataset
from assay.leakage.texts import naming_arguments, unseen_command
from assay.types import Sample


def dataset(name, source):
    return Dataset.of(name, [Sample("1", "x = 1")], source=source)


@pytest.mark.parametrize(
    ("name", "source", "arguments"),
    [
        ("mbpp", "a file.jsonl", ("mbpp", "'a file.jsonl'")),
        ("MBPP", "absent.jsonl", ("MBPP",)),
        ("mbpp", "hub OWNER/mbpp", ("mbpp",)),
        ("tasks", "a file.jsonl", ("'a file.jsonl'",)),
        ("OWNER/tasks", "hub OWNER/tasks (test)", ("hf:OWNER/tasks",)),
        ("arc", "lm-eval:arc", ("lm-eval:arc",)),
    ],
)
def test_a_benchmark_is_named_with_its_file(tmp_path, monkeypatch, name, source, arguments):
    (tmp_path / "a file.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    assert naming_arguments(dataset(name, source)) == arguments


def test_unseen_text_is_made_for_the_same_file_and_unit(tmp_path):
    assert "--like mbpp --data FILE --after" in unseen_command(dataset("mbpp", "hub OWNER/mbpp"))
    assert f"--like defects4j --data {tmp_path} --unit file --after" in unseen_command(
        dataset("defects4j", str(tmp_path))
    )
    assert f"--like {tmp_path} --after" in unseen_command(dataset("tasks", str(tmp_path)))
