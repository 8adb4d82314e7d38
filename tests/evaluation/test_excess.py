"""Flagged share of a model beyond that of a control, on the same texts."""

import numpy as np
import pytest

from assay.evaluation import conformal_p_values, flagged_excess

TASKS, UNSEEN = 120, 200


def scores(seed, shift=0.0, leaked=0.0, correlated=None):
    random = np.random.default_rng(seed)
    common = 0 if correlated is None else correlated
    values = random.normal(size=TASKS) + shift + common
    values[: round(leaked * TASKS)] += 6
    return values, random.normal(size=UNSEEN)


def groups():
    return [None] * TASKS, [str(at % 20) for at in range(UNSEEN)]


def test_the_value_is_the_difference_of_the_flagged_shares():
    first, second = scores(0, leaked=0.3), scores(1)
    shares = [np.mean(conformal_p_values(*model) <= 0.05) for model in (first, second)]
    assert flagged_excess(first, second, groups(), 0.05).value == pytest.approx(shares[0] - shares[1])


def test_what_shifts_both_models_alike_is_no_excess_and_a_leak_is():
    shifted = [scores(seed, shift=1.5) for seed in (2, 3)]
    alike = flagged_excess(shifted[0], shifted[1], groups(), 0.05)
    assert np.mean(conformal_p_values(*shifted[0]) <= 0.05) > 0.3
    assert alike.low < 0 < alike.high
    leaked = flagged_excess(scores(2, shift=1.5, leaked=0.5), shifted[1], groups(), 0.05)
    assert leaked.low > 0.1
    assert leaked.level == 0.9


def test_order_and_texts_without_a_value_do_not_matter():
    first, second = scores(4, leaked=0.2), scores(5)
    whole = flagged_excess(first, second, groups(), 0.05)
    own, fresh = groups()
    longer = tuple(np.append(side, np.nan) for side in first), tuple(np.append(side, 9.0) for side in second)
    assert flagged_excess(*longer, ([*own, "extra"], [*fresh, "extra"]), 0.05) == whole


def test_few_groups_have_a_value_without_an_interval():
    estimate = flagged_excess(scores(6), scores(7), ([None] * TASKS, ["one"] * UNSEEN), 0.05)
    assert not estimate.has_interval
    assert "too few groups" in estimate.reason


def test_without_values_nothing_is_known():
    nothing = np.full(TASKS, np.nan), np.full(UNSEEN, np.nan)
    assert np.isnan(flagged_excess(nothing, scores(8), groups(), 0.05).value)
