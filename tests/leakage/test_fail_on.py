"""Rules for use in CI."""

import pytest

from assay.errors import DataError
from assay.leakage import DecisionSettings, audit, rule
from assay.models.table import TableModel
from assay.scores import requests
from assay.scoring import plan
from assay.types import Sample


@pytest.fixture(scope="module")
def bare():
    todo = plan(requests("loss,min_k:k=0.5"), {"target": TableModel.uniform(256)})
    return audit([Sample("a", "some text"), Sample("b", "")], todo, benchmark="two")


@pytest.fixture(scope="module")
def few_groups():
    """Two groups of each class."""
    todo = plan(requests("loss"), {"target": TableModel.uniform(256)})
    samples = [
        Sample(f"{label}-{i}", "x" * (i + 1), label=label, group=f"{label}-{i % 2}")
        for label in ("member", "nonmember")
        for i in range(6)
    ]
    return audit(samples, todo, benchmark="few", decision=DecisionSettings(resamples=20))


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("coverage<0.9", True),
        ("coverage>0.5", False),
        (" coverage < 0.9 ", True),
        ("loss.coverage<0.9", True),
        ("min_k:k=0.5.coverage<0.9", True),
    ],
)
def test_a_rule_compares_one_figure_with_a_number(bare, text, fires):
    assert rule(text).fires(bare) is fires


@pytest.mark.parametrize("text", ["", "coverage", "coverage=1", "leaked>0", "coverage>lots", "coverage.mid>1"])
def test_what_is_no_rule_is_refused_before_anything_runs(text):
    with pytest.raises(DataError, match="--fail-on"):
        rule(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flagged>0.1", "needs known-unseen text"),
        ("flagged.low>0.1", "needs known-unseen text"),
        ("discoveries>0", "needs known-unseen text"),
        ("auroc>0.6", "needs labels of both classes"),
        ("zlib.coverage<1", "was not run"),
        ("coverage.low<1", "has no interval"),
    ],
)
def test_a_figure_that_was_not_measured_is_an_error_not_a_pass(bare, text, message):
    with pytest.raises(DataError, match=message):
        rule(text).fires(bare)


@pytest.mark.parametrize("text", ["auroc.low>0.5", "auroc.high<0.6"])
def test_an_interval_that_few_groups_do_not_give_is_an_error_not_a_pass(few_groups, text):
    with pytest.raises(DataError, match="too few groups for an interval: 2 \\+ 2"):
        rule(text).fires(few_groups)


def test_the_value_can_be_asked_for_without_an_interval(few_groups):
    assert rule("auroc>0.1").fires(few_groups)


def test_the_end_of_the_interval_can_be_asked_for():
    found = rule("mid_pit.flagged.low>0.05")
    assert (found.score, found.figure, found.end, found.limit) == ("mid_pit", "flagged", "low", 0.05)
