"""A calibration file of others is checked before a model is opened."""

import json

import pytest

from assay.errors import DataError
from assay.leakage import UnseenScores
from assay.leakage.calibration_file import FORMAT

WHOLE = {"format": FORMAT, "source": "s", "model": "m", "digests": {"target": "d"}, "values": {"loss": [1.0, 2.0]}}


def test_a_whole_file_is_read(tmp_path):
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(WHOLE))
    assert UnseenScores.load(path).values["loss"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "changes",
    [
        {"values": {"loss": 1}},
        {"values": {"loss": [10**400]}},
        {"values": {"loss": [[1.0]]}},
        {"values": {"loss": [1.0], "min_k": [1.0, 2.0]}},
        {"digests": None},
        {"digests": ["d"]},
        {"digests": {"target": 1}},
        {"source": [[1]]},
        {"model": 7},
        {"groups": 3},
    ],
    ids=str,
)
def test_a_forged_file_is_refused_in_one_line(tmp_path, changes):
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(WHOLE | changes))
    with pytest.raises(DataError, match="is not a calibration file"):
        UnseenScores.load(path)
