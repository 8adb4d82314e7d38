"""Verdicts that end at a part of the texts, on the stored scores of the grid."""

import pytest

from assay_lab.experiments.catalogue import all_measurements
from assay_lab.statistics.early_verdicts import run


@pytest.mark.slow
def test_half_planted_benchmarks_end_early_and_clean_ones_are_not_accused(tmp_path):
    experiment = all_measurements()["statistics/early_verdicts"]
    clean, half = run(experiment.scales["smoke"], 0, {"work": tmp_path}).rows
    assert (clean["accused"][0], clean["median passes"]) == (0, 1)
    assert half["median passes"] < 0.4
    assert half["agreement"][0] > 0.8
