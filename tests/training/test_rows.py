"""Rows hold every token once, and general text holds nothing that is held out."""

import numpy as np
import pytest

from assay.models import ModelSettings
from assay.models.loading import load_checkpoint
from assay.training.rows import general_rows, member_rows, without_planted


@pytest.fixture(scope="module")
def tokenizer():
    return load_checkpoint("builtin:small", ModelSettings(device="cpu")).tokenizer


def test_a_member_is_one_row_from_beginning_to_end(tokenizer):
    (row,) = member_rows(tokenizer, ["x = 1\n"], context=512)
    assert row[0] == tokenizer.bos_token_id
    assert row[-1] == tokenizer.eos_token_id
    assert tokenizer.decode(row, skip_special_tokens=True) == "x = 1\n"


def test_a_long_member_is_cut_without_loss(tokenizer):
    text = "value = value + 1\n" * 50
    (whole,) = member_rows(tokenizer, [text], context=10_000)
    parts = member_rows(tokenizer, [text], context=64)
    assert max(map(len, parts)) == 64
    assert np.concatenate(parts).tolist() == whole.tolist()


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
