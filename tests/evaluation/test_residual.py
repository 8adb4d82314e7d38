"""The residual of a benchmark against unseen text, after what a second model explains."""

import math

import numpy as np
import pytest

from assay.errors import DataError
from assay.evaluation import RegressedSide, form_residual
from assay.evaluation.residual import FEWEST_GROUPS


def side(seed: int, groups: int, raised: float = 0.0, known: float = 0.0, per_group: int = 4) -> RegressedSide:
    """Scores that a second model explains by half, with an effect of every group."""
    random = np.random.default_rng(seed)
    count = groups * per_group
    group = np.repeat(np.arange(groups), per_group)
    second = random.normal(known, 1, count)
    scores = second + random.normal(0, 0.5, groups)[group] + random.normal(0, 0.5, count) + raised
    return RegressedSide(scores, second[:, None], [(seed, int(each)) for each in group])


def test_a_difference_that_the_second_model_explains_is_no_residual():
    explained = form_residual(side(1, 40, known=1.0), side(2, 60))
    assert abs(explained.estimate.value) < 0.2
    raised = form_residual(side(1, 40, raised=1.0, known=1.0), side(2, 60))
    assert raised.estimate.value - explained.estimate.value == pytest.approx(1 / np.sqrt(1.5), abs=0.08)
    assert raised.nearest > 0.4


def test_the_interval_holds_zero_as_often_as_it_says():
    inside = 0
    for seed in range(60):
        estimate = form_residual(side(2 * seed, 20), side(2 * seed + 1, 35)).estimate
        inside += estimate.low <= 0 <= estimate.high
    assert 47 <= inside <= 60  # 54 are expected


def test_a_text_unlike_all_unseen_text_is_not_supported():
    assert form_residual(side(1, 30, known=8.0), side(2, 40)).supported < 0.2
    assert form_residual(side(1, 30), side(2, 40)).supported > 0.8


def test_too_few_groups_give_no_interval_and_say_how_many_are_needed():
    few = form_residual(side(1, 30), side(2, FEWEST_GROUPS - 1))
    assert not few.estimate.has_interval
    assert str(FEWEST_GROUPS) in few.estimate.reason
    assert math.isnan(few.supported)


def test_values_that_are_missing_or_all_alike():
    scores, known, groups = side(1, 40)
    missing = RegressedSide(np.where(np.arange(len(scores)) < 4, np.nan, scores), known, groups)
    assert form_residual(missing, side(2, 40)).estimate.groups == (39, 40)
    alike = RegressedSide(np.zeros(160), side(2, 40).covariates, side(2, 40).groups)
    assert form_residual(side(1, 40), alike).estimate.reason == "all unseen texts have one value"


def test_sides_of_unequal_length_are_refused():
    scores, known, groups = side(1, 30)
    with pytest.raises(DataError, match="expected as many of each"):
        form_residual(RegressedSide(scores, known, groups[:-1]), side(2, 40))
