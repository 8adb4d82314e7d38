"""How a measured number prints."""

import math

import pytest

from assay.evaluation import RATE, Estimate, Support, Uncertainty
from assay.evaluation.interval import interval


@pytest.mark.parametrize(
    ("estimate", "printed"),
    [
        (Estimate(0.842, 0.801, 0.879), ".842 [.801, .879]"),
        (Estimate(1.0, 0.9, 1.0), "1.000 [.900, 1.000]"),
        (Estimate(-0.12, -3.2, 0.0), "-.120 [-3.200, .000]"),
        (Estimate(10.5, 10.0, 11.0), "10.500 [10.000, 11.000]"),
        (Estimate(-0.0001, -0.1, 0.1), ".000 [-.100, .100]"),
        (Estimate(0.5, math.nan, math.nan), ".500 [no interval]"),
        (Estimate(0.842, 0.801, 0.879, groups=(31, 28)), ".842 [.801, .879; 31 + 28]"),
        (
            Estimate(0.5, math.nan, math.nan, groups=(4, 5), reason="too few groups for an interval: 4 + 5"),
            ".500 [too few groups for an interval: 4 + 5]",
        ),
        (Estimate(math.nan, math.nan, math.nan), "nan"),
    ],
)
def test_an_estimate_prints_as_tables_do(estimate, printed):
    assert str(estimate) == printed


@pytest.mark.parametrize(("groups", "warns"), [((), False), ((20, 20), False), ((19, 40), True)])
def test_fewer_than_twenty_groups_of_a_class_are_warned_of(groups, warns):
    assert (Estimate(0.8, 0.7, 0.9, groups=groups).warning is not None) == warns


def test_errors_in_a_single_group_near_one_do_not_make_the_interval_useless():
    """The variance of one group has one degree of freedom; what is added near 1 has those of all groups."""
    estimate = interval(0.9999, Uncertainty(1e-4, 1.0), Support((88, 120), 120), within=RATE)
    perfect = interval(1.0, Uncertainty(0.0, 1.0), Support((88, 120), 120), within=RATE)
    assert 0.93 < estimate.low <= perfect.low < 0.96


def test_an_interval_over_one_group_names_one_group():
    assert [Estimate(0.5, 0.4, 0.6, groups=groups).support for groups in ((1,), (1, 2), ())] == [
        "1 group",
        "1 + 2 groups",
        "",
    ]
