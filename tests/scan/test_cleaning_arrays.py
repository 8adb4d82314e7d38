"""An array of rows is cleaned as an array; what cannot be cleaned is refused and not copied."""

import json

import pytest

from assay.errors import DataError
from assay.scan.cleaning import write_clean


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_of_rows_stays_one(tmp_path, indent):
    rows = [{"text": f"row {at}", "more": [at]} for at in range(4)]
    source, target = tmp_path / "rows.json", tmp_path / "clean" / "rows.json"
    source.write_text(json.dumps(rows, indent=indent))
    write_clean(str(source), target, {2, 4})
    assert json.loads(target.read_text()) == [rows[0], rows[2]]


def test_one_object_over_lines_cannot_lose_a_row(tmp_path):
    source, target = tmp_path / "rows.json", tmp_path / "clean.json"
    source.write_text('{\n"text": "a task"\n}\n')
    with pytest.raises(DataError, match="can only be left out"):
        write_clean(str(source), target, {1})
    assert not target.exists()
