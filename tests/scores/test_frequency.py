"""Token-frequency tables."""

import math

import numpy as np
import pytest

from assay.errors import DataError
from assay.scores import FrequencyTable


def test_frequencies_are_smoothed_by_one_and_sum_to_one():
    table = FrequencyTable(np.array([0, 3, 7]), "t", "s")
    assert np.exp(-table.surprise).sum() == pytest.approx(1)
    assert table.surprise[0] == pytest.approx(math.log(13))


def test_occurrences_are_counted_not_documents():
    documents = [np.array([1, 1, 1], np.int32), np.array([2], np.int32), np.array([], np.int32)]
    table = FrequencyTable.count(documents, vocabulary_size=4, tokenizer_digest="t", source="s")
    assert table.counts.tolist() == [0, 3, 1, 0]
    assert table.total == 4


def test_a_saved_table_is_read_back_as_it_was(tmp_path):
    table = FrequencyTable(np.array([5, 0, 2]), "digest", "two files")
    table.save(tmp_path / "table")
    again = FrequencyTable.load(tmp_path / "table")
    assert (again.counts.tolist(), again.tokenizer_digest, again.source) == ([5, 0, 2], "digest", "two files")


@pytest.mark.parametrize("content", [b"", b"not a table", b"PK\x03\x04broken"])
def test_a_file_that_is_no_table_gets_one_clear_line(tmp_path, content):
    (tmp_path / "table").write_bytes(content)
    with pytest.raises(DataError, match="is not a token-frequency table") as caught:
        FrequencyTable.load(tmp_path / "table")
    assert "\n" not in str(caught.value)


def test_a_missing_table_gets_one_clear_line(tmp_path):
    with pytest.raises(DataError, match="is not a token-frequency table"):
        FrequencyTable.load(tmp_path / "nowhere")


def test_an_archive_of_arrays_that_is_no_table_gets_one_clear_line(tmp_path):
    np.savez(tmp_path / "other.npz", counts=np.zeros(3), about=np.array("7"))
    with pytest.raises(DataError, match="is not a token-frequency table"):
        FrequencyTable.load(tmp_path / "other.npz")
