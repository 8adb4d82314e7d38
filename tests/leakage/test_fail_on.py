"""Rules for use in CI."""

import random

import pytest

from assay.errors import DataError
from assay.leakage import ComparisonData, DecisionSettings, audit, rule
from assay.scores import requests
from assay.scoring import plan
from assay.types import Sample, Undecided
from support.table_model import TableModel


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


def confounded(*, allowed: bool):
    """The model was trained on every sample; the unseen texts have other words."""
    draws = random.Random("words")
    seen, unseen = (
        [Sample(f"{letter}{i}", " ".join(draws.choices(words, k=30))) for i in range(40)]
        for letter, words in (("a", [f"a{i}" for i in range(50)]), ("b", [f"b{i}" for i in range(50)]))
    )
    vocabulary = [f"{letter}{i}" for letter in "ab" for i in range(50)]
    model = TableModel.trained([*(sample.text for sample in seen), *vocabulary], order=3)
    todo = plan(requests("mid_pit,loss"), {"target": model})
    comparison = ComparisonData(unseen=unseen, unseen_source="other words")
    decision = DecisionSettings(resamples=50, allow_confounded=allowed)
    return audit(seen, todo, benchmark="words", comparison=comparison, decision=decision)


@pytest.fixture(scope="module")
def confounded_calibration():
    return confounded(allowed=False)


@pytest.fixture(scope="module")
def allowed():
    return confounded(allowed=True)


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
    ("text", "reason"),
    [
        ("flagged>0.1", Undecided.NO_UNSEEN_TEXT),
        ("flagged.p<0.05", Undecided.NO_UNSEEN_TEXT),
        ("discoveries>0", Undecided.NO_UNSEEN_TEXT),
        ("familiar", Undecided.NO_UNSEEN_TEXT),
        ("auroc>0.6", Undecided.NOT_MEASURED),
    ],
)
@pytest.mark.parametrize("allow_confounded", [False, True])
def test_a_figure_that_was_not_measured_cannot_be_decided(bare, text, reason, allow_confounded):
    assert rule(text).obstacle(bare, allow_confounded=allow_confounded).reason is reason


def test_a_score_that_was_not_run_is_an_error(bare):
    with pytest.raises(DataError, match="was not run"):
        rule("zlib.coverage<1").fires(bare)


@pytest.mark.parametrize("text", ["coverage.low<1", "auroc.p<0.05", "discoveries.high>1"])
def test_a_part_that_a_figure_does_not_have_is_refused_before_anything_runs(text):
    with pytest.raises(DataError, match="has no"):
        rule(text)


def test_coverage_accuses_nobody_and_is_always_decided(bare):
    assert rule("coverage<0.9").obstacle(bare) is None


@pytest.mark.parametrize("text", ["auroc.low>0.5", "auroc.high<0.6"])
def test_an_interval_that_few_groups_do_not_give_decides_nothing(few_groups, text):
    for allow_confounded in (False, True):
        obstacle = rule(text).obstacle(few_groups, allow_confounded=allow_confounded)
        assert obstacle.reason is Undecided.TOO_FEW
        assert "too few groups for an interval: 2 + 2" in obstacle.explanation


@pytest.mark.parametrize("text", ["flagged.p<0.05", "familiar", "flagged.low>0.05", "discoveries>0"])
def test_texts_of_another_kind_decide_nothing_unless_that_is_allowed(text, confounded_calibration, allowed):
    assert rule(text).obstacle(confounded_calibration).reason is Undecided.NOT_MEASURED
    assert rule(text).obstacle(allowed, allow_confounded=True) is None
    assert rule(text).fires(allowed)
    assert not rule(text).is_strict(allowed)


def test_a_raw_likelihood_decides_nothing_unless_that_is_allowed(confounded_calibration, allowed):
    assert rule("loss.flagged.p<0.05").obstacle(confounded_calibration).reason is Undecided.UNFIT_SCORE
    assert rule("loss.flagged.p<0.05").obstacle(allowed, allow_confounded=True) is None


def test_the_value_can_be_asked_for_without_an_interval(few_groups):
    assert rule("auroc>0.1").fires(few_groups)


def test_the_end_of_the_interval_can_be_asked_for():
    for end in ("low", "p"):
        read = rule(f"mid_pit.flagged.{end}>0.05")
        assert (read.score, read.figure, read.end, read.limit) == ("mid_pit", "flagged", end, 0.05)


def test_a_verdict_can_be_asked_for_by_score():
    assert (rule("mid_pit.familiar").score, rule("contaminated").figure) == ("mid_pit", "contaminated")
