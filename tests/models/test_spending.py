"""Limits of a paid model: the run stops before the request that would exceed one."""

import pytest

from assay.errors import ModelError
from assay.models.settings import ModelSettings
from assay.models.spending import SpendingLimits, SpendingMeter, estimated_tokens

BODY = {"prompt": "x" * 30, "max_tokens": 5}


def test_a_request_counts_its_text_and_the_most_that_may_be_written():
    assert estimated_tokens(BODY) == 15
    assert estimated_tokens({"messages": [{"role": "user", "content": "x" * 30}], "max_tokens": 5}) == 15


@pytest.mark.parametrize(
    ("limits", "admitted"),
    [
        ({"max_requests": 3}, 3),
        ({"max_tokens": 40}, 2),
        ({"price": 1_000_000.0, "max_cost": 20.0}, 1),
    ],
)
def test_nothing_is_sent_beyond_a_limit(limits, admitted):
    meter = SpendingMeter(SpendingLimits(**limits))
    for _ in range(admitted):
        meter.admit(BODY)
    with pytest.raises(ModelError, match="stopped before a limit"):
        meter.admit(BODY)
    assert meter.requests == admitted


def test_the_tokens_that_the_server_reports_replace_the_estimate():
    meter = SpendingMeter(SpendingLimits(max_tokens=40))
    meter.settle(meter.admit(BODY), {"usage": {"total_tokens": 3}})
    assert meter.tokens == 3
    meter.settle(meter.admit(BODY), {})
    assert meter.tokens == 18


def test_requests_are_spread_over_time():
    waits, now = [], [0.0]
    meter = SpendingMeter(SpendingLimits(requests_per_minute=30), sleep=waits.append, clock=lambda: now[0])
    for _ in range(3):
        meter.admit(BODY)
    assert waits == [2.0, 4.0]


def test_a_limit_of_the_cost_needs_a_price():
    with pytest.raises(ModelError, match="max-cost needs price"):
        _ = ModelSettings(max_cost=1.0).limits
