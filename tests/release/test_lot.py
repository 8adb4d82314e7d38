"""The lot: uniform, reproducible from key and beacon, and of nothing else."""

import numpy as np
import pytest
from scipy.stats import chisquare

from assay.release import lot
from assay.release.lot import drawn_number, drawn_order, keyed_seed, new_key, salted_digest

KEY = "01" * 32


@pytest.mark.parametrize("size", [2, 7, 20, 1000])
def test_lots_are_uniform(size):
    numbers = np.array([drawn_number(KEY, size, "lot", task) for task in range(20 * size)])
    assert chisquare(np.bincount(numbers, minlength=size)).pvalue > 1e-4


def test_values_in_the_incomplete_last_run_are_drawn_again(monkeypatch):
    # with 4 bits a plain remainder would give 0 and 1 more often than 2: 0 to 15 mod 3
    monkeypatch.setattr(lot, "_BITS", 4)
    monkeypatch.setattr(lot, "keyed_digest", lambda _key, task, counter: bytes([(task + counter) % 16]))
    numbers = [drawn_number(KEY, 3, task) for task in range(16)]
    assert numbers[15] == 0  # 15 is above the last whole run, so the next value, 0, counts
    assert np.bincount(numbers[:15]).tolist() == [5, 5, 5]


def test_a_lot_depends_on_key_beacon_and_task_alone():
    assert drawn_number(KEY, 1000, "a", "b") == drawn_number(KEY, 1000, "a", "b")
    others = {
        drawn_number(key, 2**60, *parts) for key in (KEY, "02" * 32) for parts in (("a", "b"), ("ab", ""), ("b", "a"))
    }
    assert len(others) == 6


def test_keys_are_random_256_bits():
    keys = {new_key() for _ in range(20)}
    assert len(keys) == 20
    assert all(len(bytes.fromhex(key)) == 32 for key in keys)


def test_the_order_is_a_permutation_and_seeds_differ():
    assert sorted(drawn_order(KEY, 50, "x")) == list(range(50))
    assert drawn_order(KEY, 50, "x") != drawn_order(KEY, 50, "y")
    assert keyed_seed(KEY, "x") != keyed_seed(KEY, "y")


def test_digests_are_salted():
    assert salted_digest(KEY, "text") != salted_digest("02" * 32, "text")
