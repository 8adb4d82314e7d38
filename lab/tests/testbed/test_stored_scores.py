"""Stored scores: a column is current only if its origin is."""

import numpy as np
import pytest

from assay.errors import DataError
from assay_lab.testbed.stored_scores import current_scores, write_scores

COLUMN = np.array([1.0, np.nan])


@pytest.fixture
def path(tmp_path):
    write_scores(tmp_path / "s.parquet", ["a", "b"], {"loss": COLUMN, "zlib": COLUMN}, {"loss": "first"})
    return tmp_path / "s.parquet"


def test_a_column_of_the_same_origin_is_current(path):
    (name,) = current_scores(path, ["a", "b"], {"loss": "first", "zlib": "first"})
    assert name == "loss"
    assert np.array_equal(current_scores(path, ["a", "b"], {"loss": "first"})["loss"], COLUMN, equal_nan=True)


def test_columns_of_another_origin_of_none_or_of_other_texts_are_not(path, tmp_path):
    assert not current_scores(path, ["a", "b"], {"loss": "second"})
    assert not current_scores(path, ["a", "b"], {"zlib": ""})
    assert not current_scores(path, ["a", "c"], {"loss": "first"})
    assert not current_scores(tmp_path / "absent", ["a", "b"], {"loss": "first"})


def test_a_file_that_holds_no_scores_is_refused(tmp_path):
    (tmp_path / "s.parquet").write_text("x")
    with pytest.raises(DataError, match="expected scores that"):
        current_scores(tmp_path / "s.parquet", ["a"], {})
