"""What winnowing guarantees (Schleimer, Wilkerson, Aiken 2003), whatever the units."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.retrieval import GRAM_HASHES, winnow
from assay.retrieval.hashing import mix
from assay.retrieval.winnowing import AT_ONCE

MIXED, SHA1 = GRAM_HASHES["mixed-64"], GRAM_HASHES["sha1-16"]

sizes = st.tuples(st.integers(1, 24), st.integers(1, 24))
# few different units: grams repeat, hashes tie
repetitive = arrays(np.uint8, st.integers(1, 200), elements=st.integers(97, 98))
various = arrays(np.uint8, st.integers(1, 200), elements=st.integers(33, 126))
texts = st.one_of(repetitive, various)


def pairs(units, k, w, gram_hash=MIXED, **options):
    hashes, positions = winnow(units, k=k, w=w, gram_hash=gram_hash, **options)
    return list(zip(hashes.tolist(), positions.tolist(), strict=True))


@settings(deadline=None, max_examples=150)
@given(texts, sizes)
def test_agrees_with_winnowing_by_hand(units, size):
    k, w = size
    if len(units) >= k:
        assert pairs(units, k, w) == reference.winnow(units, k=k, w=w, gram_hash=reference.mixed_64)


@settings(deadline=None, max_examples=60)
@given(texts, sizes)
def test_agrees_with_winnowing_by_hand_on_the_papers_hash(units, size):
    k, w = size
    if len(units) >= k:
        assert pairs(units, k, w, SHA1) == reference.winnow(units, k=k, w=w, gram_hash=reference.sha1_16)


@settings(deadline=None, max_examples=100)
@given(texts, sizes, st.integers(1, 70))
def test_the_chunk_never_changes_the_result(units, size, chunk):
    k, w = size
    if len(units) >= k:
        assert pairs(units, k, w, chunk=chunk) == pairs(units, k, w)


@pytest.mark.parametrize("alphabet", [2, 90])
def test_sequences_longer_than_a_chunk_agree_with_one_chunk(alphabet):
    units = np.random.default_rng(alphabet).integers(0, alphabet, 2 * AT_ONCE - 40).astype(np.uint8)
    assert len(units) > AT_ONCE
    assert pairs(units, 15, 10) == pairs(units, 15, 10, chunk=2 * AT_ONCE)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(sizes, st.data())
def test_every_shared_run_of_w_plus_k_minus_1_units_gives_a_common_fingerprint(size, data):
    k, w = size
    run = data.draw(arrays(np.uint8, st.just(w + k - 1), elements=st.integers(97, 100)))
    around = arrays(np.uint8, st.integers(0, 60), elements=st.integers(97, 100))
    first, second = (
        winnow(np.concatenate([data.draw(around), run, data.draw(around)]), k=k, w=w, gram_hash=MIXED)[0]
        for _ in range(2)
    )
    assert np.intersect1d(first, second).size


@settings(deadline=None, max_examples=100)
@given(texts, sizes)
def test_neighbouring_fingerprints_are_never_further_apart_than_the_window(units, size):
    k, w = size
    if len(units) >= k:
        _, positions = winnow(units, k=k, w=w, gram_hash=MIXED)
        grams = len(units) - k + 1
        assert np.diff(positions, prepend=-1, append=grams).max() <= min(w, grams)
        assert np.diff(positions).min(initial=1) >= 1


@pytest.mark.parametrize("w", [1, 4, 10, 26, 100])
def test_of_random_units_two_in_w_plus_1_become_fingerprints(w):
    units = np.random.default_rng(w).integers(33, 127, 300_000).astype(np.uint8)
    hashes, _ = winnow(units, k=15, w=w, gram_hash=MIXED)
    assert len(hashes) / len(units) == pytest.approx(2 / (w + 1), rel=0.03)


def test_of_equal_hashes_the_rightmost_of_the_window_is_taken():
    units = np.full(30, ord("x"), np.uint8)
    _, positions = winnow(units, k=5, w=4, gram_hash=MIXED)
    assert positions.tolist() == list(range(3, 26))


@pytest.mark.parametrize("k", [1, 2, 3, 7, 15, 20, 33])
def test_the_hash_is_the_mixed_polynomial_of_its_gram(k):
    units = np.random.default_rng(k).integers(0, 2**64, 80, dtype=np.uint64)
    expected = [reference.mixed_64(units[at : at + k]) for at in range(80 - k + 1)]
    assert MIXED(units, k).tolist() == expected


def test_ascii_and_wide_units_of_one_text_have_the_same_hashes():
    units = np.random.default_rng(0).integers(33, 127, 200).astype(np.uint8)
    assert pairs(units, 15, 10) == pairs(units.astype(np.uint32), 15, 10)


def test_the_mixing_loses_nothing():
    values = np.random.default_rng(0).integers(0, 2**64, 10_000, dtype=np.uint64)
    neighbours = np.concatenate([values, values ^ np.uint64(1), values ^ np.uint64(1 << 63)])
    assert len(np.unique(mix(neighbours))) == len(np.unique(neighbours))


def test_the_papers_hash_is_the_last_16_bits_of_sha1_of_utf_8():
    # SHA-1("abc") = a9993e36 4706816a ba3e2571 7850c26c 9cd0d89d (FIPS 180-4)
    assert SHA1(np.frombuffer(b"abc", np.uint8), 3).tolist() == [0xD89D]
    assert SHA1(np.array([ord("é")], np.uint32), 1)[0] == reference.sha1_16([ord("é")])
