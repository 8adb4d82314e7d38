"""P-values that hold against unseen text, and what is made of many of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.errors import AssayError
from assay.evaluation import UnseenTail, benjamini_hochberg, conformal_p_values, flag_rate, unseen_note
from assay.evaluation.calibration import null_share

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=50)


def test_p_values_by_hand():
    """19 unseen scores from 1 to 19 and a 20th at 19: above all, tied with two, below all."""
    unseen = [*range(1, 20), 19]
    assert conformal_p_values([20, 19, 0], unseen) == pytest.approx([1 / 21, 3 / 21, 1.0])


def test_an_unscorable_sample_has_no_p_value():
    assert np.isnan(conformal_p_values([np.nan], range(20))).all()


def test_unscorable_unseen_text_does_not_count():
    assert conformal_p_values([99], [*range(20), np.nan]) == pytest.approx([1 / 21])


def test_too_little_unseen_text_is_refused():
    with pytest.raises(AssayError, match="19 unseen samples with a score; calibration needs at least 20"):
        conformal_p_values([1], [*range(19), np.nan])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 8), min_size=21, max_size=60), st.floats(0, 1))
def test_under_exchangeability_a_p_value_is_small_as_rarely_as_it_says(scores, alpha):
    """Each sample is equally likely to be the tested one: at most a share alpha of them gets p <= alpha."""
    values = np.array(scores, float)
    tested = [conformal_p_values(values[i : i + 1], np.delete(values, i))[0] for i in range(len(values))]
    assert np.mean(np.array(tested) <= alpha) <= alpha + 1e-12


def test_without_ties_the_p_value_is_uniform():
    """All ranks are equally likely, so with 99 unseen samples exactly 5 of 100 give p <= .05."""
    values = np.random.default_rng(1).normal(size=100)
    tested = [conformal_p_values(values[i : i + 1], np.delete(values, i))[0] for i in range(100)]
    assert sum(p <= 0.05 for p in tested) == 5


def test_a_leak_is_seen():
    rng = np.random.default_rng(2)
    p = conformal_p_values(rng.normal(3, 1, 200), rng.normal(0, 1, 200))
    assert np.mean(p <= 0.05) > 0.8


def test_little_unseen_text_is_pointed_out():
    assert unseen_note(49) == (
        "Calibrated on 49 unseen samples only: no p-value can be below 0.020, and the false-positive rate at "
        "5 % may well be off by 6 percentage points; 100 or more are advised."
    )


def test_enough_unseen_text_needs_no_note():
    assert unseen_note(100) is None


@settings(max_examples=60, deadline=None)
@given(P_VALUES)
def test_benjamini_hochberg_is_scipys(p):
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


def test_a_missing_p_value_is_no_test():
    q = benjamini_hochberg([0.01, np.nan, 0.04])
    assert q == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)


def test_no_p_value_gives_no_q_value():
    assert benjamini_hochberg([]).shape == (0,)


def test_the_null_share_by_hand():
    """Two of ten p-values above one half: (1 + 2) / (10 / 2)."""
    assert null_share([0.01] * 8 + [0.6, 0.9]) == pytest.approx(0.6)


def test_the_null_share_is_never_above_one():
    assert null_share([0.9] * 10) == 1


def test_the_adaptive_form_scales_by_the_null_share():
    p = [0.01] * 8 + [0.6, 0.9]
    assert benjamini_hochberg(p, adaptive=True) == pytest.approx(0.6 * benjamini_hochberg(p))


def test_the_false_discovery_rate_holds_on_shared_unseen_text():
    """300 benchmarks, half of 60 samples leaked, 100 unseen each: at q <= .2 at most .2 false, and power."""
    rng = np.random.default_rng(3)
    leaked = np.arange(60) < 30
    false, found = {False: [], True: []}, {False: 0, True: 0}
    for _ in range(300):
        p = conformal_p_values(rng.normal(size=60) + 2 * leaked, rng.normal(size=100))
        for adaptive in (False, True):
            flagged = benjamini_hochberg(p, adaptive=adaptive) <= 0.2
            false[adaptive].append((flagged & ~leaked).sum() / max(1, flagged.sum()))
            found[adaptive] += int((flagged & leaked).sum())
    assert 0.05 < np.mean(false[False]) < 0.12  # BH holds the level times the null share, .1
    assert 0.1 < np.mean(false[True]) < 0.22
    assert found[True] > found[False]


def test_flags_are_counted_beside_chance():
    """With 99 unseen samples p <= .05 leaves five ranks of 100."""
    rate = flag_rate([0.01, 0.05, 0.06, np.nan], unseen=99)
    assert (rate.flagged, rate.samples, rate.unscorable) == (2, 3, 1)
    assert rate.chance == 0.05
    assert rate.rate.value == pytest.approx(2 / 3)


def test_chance_is_below_alpha_where_the_ranks_are_coarse():
    """With 30 unseen samples only p = 1/31 is at most .05."""
    assert flag_rate([0.5], unseen=30).chance == 1 / 31


@pytest.mark.parametrize("flagged", [0, 1, 7, 40])
def test_the_benchmark_p_value_is_the_beta_binomials(flagged):
    """40 samples held against the same 99: P(flag) follows Beta(5, 95)."""
    p = [0.01] * flagged + [0.9] * (40 - flagged)
    expected = stats.betabinom(40, 5, 95).sf(flagged - 1)
    assert flag_rate(p, unseen=99).p_value == pytest.approx(expected)


def test_the_benchmark_p_value_without_a_shared_set_is_binomial():
    assert flag_rate([0.01] * 5 + [0.9] * 35).p_value == pytest.approx(stats.binom(40, 0.05).sf(4))


@pytest.mark.slow
def test_the_benchmark_p_value_holds_where_a_binomial_one_does_not():
    """2,000 clean benchmarks of 200 samples against 50 unseen: nominal 5 %."""
    rng = np.random.default_rng(4)
    shared = binomial = 0
    for _ in range(2000):
        p = conformal_p_values(rng.normal(size=200), rng.normal(size=50))
        shared += flag_rate(p, 0.1, unseen=50).p_value <= 0.05
        binomial += flag_rate(p, 0.1).p_value <= 0.05
    assert shared / 2000 < 0.065
    assert binomial / 2000 > 0.1


def test_a_flag_that_cannot_happen_is_proof():
    """With 20 unseen samples no p-value is at most .01; one that is did not come from there."""
    assert flag_rate([0.001], 0.01, unseen=20).p_value == 0


def test_flags_that_must_happen_prove_nothing():
    assert flag_rate([0.5], 1.0, unseen=20).p_value == 1


def test_the_flag_rate_of_samples_in_groups_is_less_certain():
    """Copies of a sample in one group say nothing new."""
    p_values = np.repeat(np.arange(30) % 3 == 0, 4) * 0.9 + 0.01
    by_group = flag_rate(p_values, groups=np.repeat(np.arange(30), 4).tolist()).rate
    alone = flag_rate(p_values).rate
    assert (by_group.groups, alone.groups) == ((30,), (120,))
    assert by_group.high - by_group.low > 1.7 * (alone.high - alone.low)


def test_the_flag_rate_of_few_groups_has_no_interval():
    rate = flag_rate([0.01, 0.9] * 20, groups=["a", "b"] * 20).rate
    assert (rate.value, rate.has_interval, rate.reason) == (0.5, False, "too few groups for an interval: 2")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: benjamini_hochberg([0.5, 1.2]), r"p-value of 1\.2"),
        (lambda: benjamini_hochberg([-0.1]), r"p-value of -0\.1"),
        (lambda: flag_rate([0.5], 2), "alpha of 2"),
        (lambda: conformal_p_values([np.inf], range(20)), "infinite"),
        (lambda: conformal_p_values([[1.0]], range(20)), "one dimension"),
    ],
)
def test_bad_input_is_named_in_one_line(call, says):
    with pytest.raises(AssayError, match=says):
        call()


def grouped(random: np.random.Generator, groups: int, size: int) -> tuple[np.ndarray, list[int]]:
    """Normal scores whose groups share a fifth of their variance."""
    codes = np.arange(size) % groups
    scores = np.sqrt(0.2) * random.normal(size=groups)[codes] + np.sqrt(0.8) * random.normal(size=size)
    return scores, codes.tolist()


@pytest.mark.slow
def test_the_p_value_and_the_interval_account_for_groups_and_the_draw_of_the_unseen_texts():
    """300 clean benchmarks of 1,000 samples against 1,000 unseen texts of 20 packages: nominal 5 % and 2.5 %."""
    random = np.random.default_rng(6)
    by_p = by_low = without = 0
    for _ in range(300):
        unseen, packages = grouped(random, 20, 1000)
        p_values = conformal_p_values(random.normal(size=1000), unseen)
        rate = flag_rate(p_values, unseen=UnseenTail.of(unseen, packages))
        by_p += rate.p_value < 0.05
        by_low += rate.rate.low > 0.05
        without += flag_rate(p_values, unseen=1000).p_value < 0.05
    assert by_p / 300 < 0.12
    assert by_low / 300 < 0.1
    assert without / 300 > 0.13


def test_a_small_calibration_set_widens_the_interval():
    p_values = np.linspace(0.01, 1, 100)
    few, many = (flag_rate(p_values, unseen=m).rate for m in (99, 9999))
    fixed = flag_rate(p_values).rate
    assert few.low < many.low < few.value < many.high < few.high
    assert many.low == pytest.approx(fixed.low, abs=0.01)


def test_unseen_texts_of_one_group_give_neither_interval_nor_p_value():
    tail = UnseenTail.of(np.arange(50.0), ["package"] * 50)
    rate = flag_rate([0.01] * 30, unseen=tail)
    assert np.isnan(rate.p_value)
    assert rate.rate.reason == "too few groups for an interval: 30 + 1"


def test_the_tail_of_unseen_texts_leaves_out_what_has_no_score():
    tail = UnseenTail.of([1.0, np.nan, 2.0, 3.0], ["a", "b", "c", None])
    assert (tail.texts, tail.groups, tail.inflation) == (3, 3, 1)
    assert UnseenTail.of([np.nan], None).texts == 0
