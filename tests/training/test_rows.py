"""Rows hold every token once."""

import numpy as np
import pytest

from assay.models import ModelSettings
from assay.models.loading import load_checkpoint
from assay.training.causal import member_rows


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
