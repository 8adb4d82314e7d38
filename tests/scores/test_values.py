"""What single scores are, on inputs whose answer is known by hand."""

import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import Unscorable
from assay.scores import SCORES, FrequencyTable, SampleInputs, View, request
from assay.types import TokenStatistics
from support.exact import uniform_statistics


def statistics(*, l=None, r=None, h=None, v=None, u=None, top=None, ids=None):
    """Statistics with the given columns and harmless others."""
    n = len(next(column for column in (l, r, h, v, u, top, ids) if column is not None))

    def column(values, default, kind):
        return np.asarray(values if values is not None else [default] * n, kind)

    return TokenStatistics(
        column(ids, 0, np.int32) if ids is not None else np.arange(n, dtype=np.int32),
        column(l, -1.0, np.float32),
        column(r, 2, np.int32),
        column(h, 1.0, np.float32),
        column(v, 1.0, np.float32),
        column(u, 0.5, np.float32),
        column(top, -0.5, np.float32),
        np.zeros((n, 2), np.int32),
    )


def value(spec, target, *, text="x", lowercased=None, reference=None, frequencies=None):
    views = {View(): target, View(form="lowercase"): lowercased, View(role="reference"): reference}
    return request(spec)(SampleInputs(text, views, frequencies))


def test_a_uniform_model_has_the_perplexity_of_its_vocabulary():
    assert value("perplexity", uniform_statistics(20, 97)) == pytest.approx(-97, rel=1e-6)


def test_a_uniform_model_has_the_entropy_of_its_vocabulary():
    assert value("entropy", uniform_statistics(20, 97)) == pytest.approx(-math.log(97), rel=1e-6)


@given(st.lists(st.floats(-30, 0, width=32), min_size=1, max_size=60))
def test_min_k_of_everything_is_the_log_likelihood(log_probs):
    assert value("min_k:k=1", statistics(l=log_probs)) == pytest.approx(value("loss", statistics(l=log_probs)))


@given(st.lists(st.floats(-30, 0, width=32), min_size=1, max_size=60), st.floats(0.01, 1))
def test_min_k_never_exceeds_the_mean(log_probs, k):
    target = statistics(l=log_probs)
    assert value(f"min_k:k={k}", target) <= value("loss", target) + 1e-6


def test_min_k_takes_the_floor_of_the_share_and_at_least_one_token():
    assert value("min_k", statistics(l=[-5, -4, -3, -2, -1, 0, 0, 0, 0])) == -5  # floor(.2 x 9) = 1
    assert value("min_k", statistics(l=[-5, -4, -3, -2, -1, 0, 0, 0, 0, 0])) == -4.5
    assert value("min_k", statistics(l=[-3])) == -3


def test_min_k_plus_plus_standardises_by_the_models_own_distribution():
    target = statistics(l=[-1, -9], h=[2, 3], v=[4, 9])
    assert value("min_k_plus_plus", target) == pytest.approx((-9 + 3) / 3)
    assert value("min_k_plus_plus:k=1", target) == pytest.approx(((-1 + 2) / 2 + (-9 + 3) / 3) / 2)


def test_min_k_plus_plus_floors_the_variance_and_counts_it():
    target = statistics(l=[-1, -1], h=[0, 1], v=[0, 1])
    assert value("min_k_plus_plus:k=1", target) == pytest.approx((-1 / 1e-3 + 0) / 2)
    (counted,) = SCORES["min_k_plus_plus"].counts.values()
    assert counted(target) == 1


def test_zlib_divides_by_the_bytes_of_the_compressed_text():
    text = "naïve = 1\n" * 9
    assert value("zlib", statistics(l=[-2, -4]), text=text) == pytest.approx(-3 / len(zlib.compress(text.encode())))


def test_zlib_takes_a_text_with_a_lone_surrogate():
    assert math.isfinite(value("zlib", statistics(l=[-2.0]), text="\ud800"))


def test_dc_pdd_counts_first_occurrences_only_and_caps_them():
    table = FrequencyTable(np.array([0, 98]), "t", "a corpus of 98 tokens")  # f = 1/100 and 99/100
    target = statistics(ids=[1, 0, 1], l=np.log([0.5, 0.001, 0.9]))
    expected = (min(0.001 * math.log(100), 0.01) + min(0.5 * math.log(100 / 99), 0.01)) / 2
    assert value("dc_pdd", target, frequencies=table) == pytest.approx(expected)
    assert value("dc_pdd:a=0.001", target, frequencies=table) == pytest.approx(0.001)


def test_rank_and_log_rank_are_negated_means():
    assert value("rank", statistics(r=[1, 3])) == -2
    assert value("log_rank", statistics(r=[1, 3])) == pytest.approx(-math.log(3) / 2)


def test_lrr_is_the_ratio_of_means():
    assert value("lrr", statistics(l=[-1, -3], r=[1, 3])) == pytest.approx(2 / (math.log(3) / 2))


def test_mid_pit_floors_the_tail_mass():
    assert value("mid_pit", statistics(u=[0, 0.5])) == pytest.approx((math.log(1e-6) + math.log(0.5)) / 2)


def test_gap_k_averages_neighbours_before_it_takes_the_lowest():
    target = statistics(l=[-1, -4, -1, -1], top=[-1, -1, -1, -1], v=[1, 1, 1, 1])
    assert value("gap_k", target) == pytest.approx(-1)
    assert value("gap_k:window=1", target) == pytest.approx(-3)


def test_gap_k_needs_one_whole_window():
    with pytest.raises(Unscorable, match="fewer than 3"):
        value("gap_k", statistics(l=[-1, -1]))


def test_fast_detect_gpt_is_a_sum_over_a_root_of_a_sum():
    assert value("fast_detect_gpt", statistics(l=[-1, -2], h=[2, 3], v=[1, 3])) == pytest.approx(1.0)


def test_lowercase_is_the_ratio_of_the_two_losses():
    assert value("lowercase", statistics(l=[-1, -1]), lowercased=statistics(l=[-3])) == pytest.approx(3)


def test_reference_is_the_difference_of_the_two_likelihoods():
    assert value("reference", statistics(l=[-1, -1]), reference=statistics(l=[-3])) == pytest.approx(2)


class TestNgramAccuracy:
    def test_counts_the_starts_whose_next_five_tokens_all_rank_first(self):
        assert value("ngram_accuracy", statistics(r=[1, 1, 1, 1, 1, 1, 7])) == pytest.approx(2 / 3)

    def test_needs_n_tokens(self):
        with pytest.raises(Unscorable, match="fewer than 5"):
            value("ngram_accuracy", statistics(r=[1, 1, 1, 1]))

    @given(st.lists(st.integers(1, 3), min_size=3, max_size=80), st.integers(1, 3))
    def test_agrees_with_a_naive_loop(self, ranks, n):
        starts = range(len(ranks) - n + 1)
        expected = sum(all(r == 1 for r in ranks[i : i + n]) for i in starts) / len(starts)
        assert value(f"ngram_accuracy:n={n}", statistics(r=ranks)) == pytest.approx(expected)

    def test_the_papers_starts_are_five_per_stride_evenly_spaced(self):
        ranks = np.full(24, 2)
        ranks[[0, 5, 10, 14, 19]] = 1  # starts of blocks 0-11 and 12-23 with n = 1: 0 3 6 8 11 | 12 15 18 20 23
        assert value("ngram_accuracy:n=1:starts=paper:stride=12", statistics(r=ranks)) == pytest.approx(1 / 10)

    def test_a_last_block_shorter_than_n_has_no_start(self):
        ranks = np.ones(14, int)
        assert value("ngram_accuracy:n=5:starts=paper:stride=12", statistics(r=ranks)) == 1


def test_windows_are_counted_by_the_sign_of_their_sums():
    """Gains +3 -1 -1 +1: of three pairs one is above 0, of two triples one, and the whole (+2) is one window."""
    target, parent = statistics(l=[-1, -3, -3, -1]), statistics(l=[-4, -2, -2, -2])
    assert value("wbc", target, reference=parent) == pytest.approx((1 / 3 + 1 / 2 + 8 * 1) / 10)
    assert value("wbc", parent, reference=target) == pytest.approx((1 / 3 + 1 / 2) / 10)
    assert value("wbc", target, reference=target) == 0  # equal sums are no vote


def test_the_error_zone_is_what_the_model_predicts_wrongly_after_the_first_token():
    """Gains 9 (first), 5 (rank 1), then 2, 1 and -1: 3 of 4 went up."""
    target = statistics(l=[-1, -1, -2, -3, -5], r=[7, 1, 2, 9, 3])
    parent = statistics(l=[-10, -6, -4, -4, -4])
    assert value("ez_mia", target, reference=parent) == pytest.approx(3 / 4)
    only_up = statistics(l=[-10, -6, -4, -4, -6])
    assert value("ez_mia", target, reference=only_up) == 1
    with pytest.raises(Unscorable, match="fewer than 2 tokens are predicted wrongly"):
        value("ez_mia", statistics(l=[-1, -1, -2], r=[7, 1, 2]), reference=statistics(l=[-1, -2, -3]))
    assert value("ez_mia", target, reference=target) == 0.5


@pytest.mark.parametrize("name", ["wbc", "ez_mia"])
def test_models_of_different_tokens_are_not_compared_token_by_token(name):
    with pytest.raises(Unscorable, match="different tokens"):
        value(name, statistics(l=[-1, -2, -3]), reference=statistics(l=[-1, -2]))
