"""SrDetection's scores, by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ScoreError, Unscorable
from assay.scores import SampleInputs, View, request
from assay.scores.variant_scores import by_name, shared_tokens
from assay.types import TokenLogProbs, TokenStatistics


def text_of(*log_probs):
    return TokenLogProbs(np.arange(len(log_probs), dtype=np.int32), np.array(log_probs, np.float32))


def value(spec, original, *variants, reason=None):
    return request(spec)(
        SampleInputs("", {View(): text_of(*original)}, None, tuple(text_of(*variant) for variant in variants), reason)
    )


def test_sr_gray_is_the_distance_to_the_easiest_variant():
    assert value("sr_gray:n=2", [-1, -1], [-2, -2], [-3, -3]) == pytest.approx(math.e**2 - math.e)
    assert value("sr_gray:n=2", [-1, -1], [-0.5, -0.5], [-3, -3]) < 0


def test_means_are_over_each_texts_own_tokens():
    """A name may become more tokens, or fewer."""
    assert value("sr_gray:n=1", [-1, -3], [-2, -2, -2]) == pytest.approx(0)


def test_sr_z_is_the_distance_in_standard_deviations_with_n_minus_1():
    assert value("sr_z:n=3", [-1, -1], [-2, -2], [-3, -3], [-4, -4]) == pytest.approx(2.0)


def test_only_the_first_n_variants_count():
    assert value("sr_gray:n=1", [-1], [-2], [-0.1]) == value("sr_gray:n=1", [-1], [-2])


@pytest.mark.parametrize("name", ["sr_gray", "sr_z"])
class TestBoth:
    def test_too_few_variants_are_a_reason(self, name):
        with pytest.raises(Unscorable, match="fewer than 10 distinct variants"):
            value(name, [-1], [-2], [-3])

    def test_the_reason_of_the_engine_comes_first(self, name):
        with pytest.raises(Unscorable, match="no rewriting of java"):
            value(name, [-1], reason="no rewriting of java")

    def test_a_reason_does_not_hold_where_there_are_enough_for_this_score(self, name):
        assert math.isfinite(value(f"{name}:n=2", [-1], [-2], [-3], reason="fewer than 10 distinct variants"))

    def test_no_variants_at_all_is_an_error_not_a_value(self, name):
        with pytest.raises(ScoreError, match="expected at least 1"):
            value(f"{name}:n=0", [-1])

    def test_a_variant_without_tokens_is_a_reason(self, name):
        with pytest.raises(Unscorable, match="fewer than 2 tokens"):
            value(f"{name}:n=2", [-1], [-2], [])


def test_variants_that_are_all_alike_have_no_standard_deviation():
    with pytest.raises(Unscorable, match="equally likely"):
        value("sr_z:n=3", [-1], [-2], [-2], [-2])


def ids_of(*ids, log_prob=-1.0):
    return TokenLogProbs(np.array(ids, np.int32), np.full(len(ids), log_prob, np.float32))


def test_sr_rank_counts_the_variants_that_are_as_easy():
    assert value("sr_rank:n=3", [-2], [-1], [-2], [-3]) == -3 / 4
    assert value("sr_rank:n=3", [-0.5], [-1], [-2], [-3]) == -1 / 4


def test_shared_tokens_are_found_around_names_of_other_lengths():
    one, other = np.array([1, 7, 2, 3, 7, 4], np.int32), np.array([1, 8, 9, 2, 3, 8, 9, 4], np.int32)
    assert [place.tolist() for place in shared_tokens(one, other)] == [[0, 2, 3, 5], [0, 3, 4, 7]]


@given(st.lists(st.integers(0, 5), max_size=60), st.lists(st.integers(0, 5), max_size=60))
def test_shared_tokens_are_equal_and_in_order(one, other):
    here, there = shared_tokens(np.array(one, np.int32), np.array(other, np.int32))
    assert [one[i] for i in here] == [other[j] for j in there]
    assert (np.diff(here) > 0).all()
    assert (np.diff(there) > 0).all()


@given(st.lists(st.integers(0, 5), max_size=60))
def test_a_text_shares_all_its_tokens_with_itself(ids):
    here, there = shared_tokens(np.array(ids, np.int32), np.array(ids, np.int32))
    assert here.tolist() == there.tolist() == list(range(len(ids)))


def test_sr_shared_leaves_the_replaced_tokens_out():
    original = TokenLogProbs(np.array([1, 7, 2, 3], np.int32), np.array([-1, -9, -1, -1], np.float32))
    variant = TokenLogProbs(np.array([1, 8, 9, 2, 3], np.int32), np.array([-2, -5, -5, -2, -2], np.float32))
    assert request("sr_shared:n=1")(SampleInputs("", {View(): original}, None, (variant,))) == pytest.approx(1.0)


def test_a_variant_without_a_common_token_is_a_reason():
    with pytest.raises(Unscorable, match="shares no token"):
        request("sr_shared:n=1")(SampleInputs("", {View(): ids_of(1, 2)}, None, (ids_of(3, 4),)))


def tokens(ids, log_prob):
    return TokenLogProbs(np.array(ids, np.int32), np.full(len(ids), log_prob, np.float32))


def test_variants_of_one_name_differ_first_at_the_same_token_or_its_neighbour():
    text = tokens([1, 2, 3, 4, 5, 6], -1)
    others = [[1, 2, 3, 4, 9, 6], [1, 9, 3, 4, 5, 6], [1, 2, 8, 4, 5, 6], [1, 2, 3, 4, 5]]
    assert by_name(text, [tokens(ids, -1) for ids in others]) == [[1, 2], [0, 3]]


def test_sr_names_is_the_mean_over_names_of_the_gain_over_the_easiest_variant():
    text = tokens([1, 2, 3, 4, 5, 6], -1)
    others = (tokens([1, 9, 3, 4, 5, 6], -2), tokens([1, 8, 7, 3, 4, 5, 6], -3), tokens([1, 2, 3, 4, 9, 6], -1.5))
    inputs = SampleInputs("", {View(): text}, None, others)
    assert request("sr_names:n=3")(inputs) == pytest.approx((6 + 3) / 2)


def test_sr_ratio_is_the_mean_over_names_of_the_log_factor_of_the_easiest_variant():
    text = tokens([1, 2, 3, 4, 5, 6], -1)
    others = (tokens([1, 9, 3, 4, 5, 6], -2), tokens([1, 8, 7, 3, 4, 5, 6], -3), tokens([1, 2, 3, 4, 9, 6], -1.5))
    inputs = SampleInputs("", {View(): text}, None, others)
    assert request("sr_ratio:n=3")(inputs) == pytest.approx((math.log(2) + math.log(1.5)) / 2)


def test_sr_ratio_of_a_text_without_surprise_is_a_reason():
    with pytest.raises(Unscorable, match="NLL of the text is zero"):
        request("sr_ratio:n=1")(SampleInputs("", {View(): tokens([1, 2], 0)}, None, (tokens([1, 3], -1),)))


def test_sr_mid_pit_is_mid_pit_and_the_names_in_units_of_nats():
    tail = np.full(3, 0.5, np.float32)
    text = TokenStatistics(
        token_ids=np.array([1, 2, 3], np.int32),
        log_probs=np.full(3, -1, np.float32),
        ranks=np.ones(3, np.int32),
        entropy=tail,
        variance=tail,
        tail_mass=tail,
        top_log_probs=-tail,
        offsets=np.zeros((3, 2), np.int32),
    )
    inputs = SampleInputs("", {View(): text}, None, (tokens([1, 9, 3], -2),))
    assert request("sr_mid_pit:n=1:nats=10.0")(inputs) == pytest.approx(math.log(0.5) + 3 / 10)
