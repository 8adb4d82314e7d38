"""A split by hash never cuts a group in two and never moves a group it has placed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.datasets import split_by_group
from assay.types import Sample

HALVES = {"train": 0.5, "test": 0.5}
SAMPLES = [Sample(f"s{k}", "x", group=f"g{k % 200}") for k in range(1000)]


def ids(part):
    return {sample.id for sample in part}


def test_every_sample_is_in_exactly_one_part():
    parts = split_by_group(SAMPLES, {"train": 0.8, "validation": 0.1, "test": 0.1})
    assert sorted(sample.id for part in parts.values() for sample in part) == sorted(ids(SAMPLES))


def test_a_group_stays_together():
    parts = split_by_group(SAMPLES, HALVES)
    groups = [{sample.group for sample in part} for part in parts.values()]
    assert not groups[0] & groups[1]


def test_shares_are_close_to_the_fractions():
    samples = [Sample(str(k), "x") for k in range(10_000)]
    assert len(split_by_group(samples, {"a": 0.3, "b": 0.7})["a"]) == pytest.approx(3000, abs=150)


@given(order=st.permutations(range(30)))
def test_the_order_of_the_samples_does_not_matter(order):
    parts = split_by_group([SAMPLES[k] for k in order], HALVES)
    assert ids(parts["train"]) == ids(split_by_group(SAMPLES[:30], HALVES)["train"])


def test_further_samples_move_nothing():
    few, many = split_by_group(SAMPLES[:100], HALVES), split_by_group(SAMPLES, HALVES)
    assert ids(few["train"]) <= ids(many["train"])


def test_another_seed_is_another_split():
    assert ids(split_by_group(SAMPLES, HALVES)["train"]) != ids(split_by_group(SAMPLES, HALVES, seed=1)["train"])


def test_a_sample_without_a_group_is_not_tied_to_a_group_of_that_name():
    alone, grouped = [Sample(f"n{k}", "x") for k in range(64)], [Sample("s", "x", group=f"n{k}") for k in range(64)]
    placed = [len(split_by_group([a], HALVES)["train"]) for a in alone]
    assert placed != [len(split_by_group([g], HALVES)["train"]) for g in grouped]


@pytest.mark.parametrize("fractions", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}, {"a": 1.0, "b": 0.0}])
def test_fractions_that_are_no_shares_are_refused(fractions):
    with pytest.raises(ValueError, match="expected positive shares that sum to 1"):
        split_by_group(SAMPLES, fractions)
