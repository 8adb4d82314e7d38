"""How a measured number prints."""

import math

import pytest

from assay.evaluation import Estimate


@pytest.mark.parametrize(
    ("estimate", "printed"),
    [
        (Estimate(0.842, 0.801, 0.879), ".842 [.801, .879]"),
        (Estimate(1.0, 0.9, 1.0), "1.000 [.900, 1.000]"),
        (Estimate(-0.12, -3.2, 0.0), "-.120 [-3.200, .000]"),
        (Estimate(10.5, 10.0, 11.0), "10.500 [10.000, 11.000]"),
        (Estimate(-0.0001, -0.1, 0.1), ".000 [-.100, .100]"),
        (Estimate(0.5, math.nan, math.nan), ".500 [no interval]"),
        (Estimate(math.nan, math.nan, math.nan), "nan"),
    ],
)
def test_an_estimate_prints_as_tables_do(estimate, printed):
    assert str(estimate) == printed
