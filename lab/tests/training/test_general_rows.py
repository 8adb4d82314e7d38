"""Rows of general text hold nothing that is held out."""

import pytest

from assay.models import ModelSettings
from assay.models.loading import load_checkpoint
from assay_lab.training.rows import general_rows, without_planted


@pytest.fixture(scope="module")
def tokenizer():
    return load_checkpoint("builtin:small", ModelSettings(device="cpu")).tokenizer


def test_general_text_ends_with_the_token_that_was_asked_for(tokenizer):
    rows, documents = general_rows(tokenizer, (f"n = {i}\n" * 20 for i in range(99)), tokens=300, context=100)
    assert sum(map(len, rows)) == 300
    assert 1 < documents < 99


def test_general_text_that_runs_out_gives_what_there_is(tokenizer):
    rows, documents = general_rows(tokenizer, ["a = 1\n"], tokens=300, context=100)
    assert (len(rows), documents) == (1, 1)


def test_general_text_that_holds_a_planted_one_is_left_out():
    planted = "def area(width, height):\n    return width * height + margin(width, height)\n"
    clean = "import os\nprint(os.getcwd(), os.getpid(), os.name, os.sep, os.linesep)\n"
    kept = list(without_planted([f"# a file\n\n{planted}\nx = 1\n", clean], [planted], 0.5))
    assert kept == [clean]


def test_without_planted_texts_all_general_text_stays():
    assert list(without_planted(["a", "b"], [], 0.5)) == ["a", "b"]
