"""The options that say which texts of a benchmark or a table are read."""

import json
import re

import pytest

TASK = {"task_id": 11, "text": "Add.", "code": "def add(a, b):\n    return a + b\n"}


@pytest.fixture
def mbpp(tmp_path):
    path = tmp_path / "mbpp.jsonl"
    path.write_text(json.dumps(TASK) + "\n")
    return path


def test_a_subset_that_the_data_do_not_hold_is_refused(assay, mbpp):
    done = assay("score", "builtin:small", "mbpp", "--data", mbpp, "--scores", "loss", "--subset", "sanitized")
    assert done.code == 2
    assert "received the full MBPP, expected the sanitized one" in done.err


@pytest.mark.parametrize(
    "command", [[], ["audit"], ["trace"], ["index", "build"], ["lab", "testbed", "run"], ["score"]]
)
def test_no_help_page_shows_the_name_of_a_python_type(assay, command):
    shown = assay(*command, "--help")
    assert shown.code == 0
    assert not re.search(r"<(bool|int|str|float|path|list)", shown.out, re.IGNORECASE)
