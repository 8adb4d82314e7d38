"""The place of unseen originals among their variants."""

import numpy as np
import pytest

from assay.leakage import Naturalness

N = 4


def ranks(*easier):
    return np.array([(1 + count) / (N + 1) for count in easier])


def test_a_uniform_place_has_distance_zero():
    result = Naturalness.of(ranks(0, 1, 2, 3, 4), N)
    assert result.easier.value == pytest.approx(0.5)
    assert result.distance == pytest.approx(0)
    assert result.easiest.value == pytest.approx(result.chance) == pytest.approx(1 / 5)


def test_originals_that_are_always_the_easiest_are_as_far_as_can_be():
    result = Naturalness.of(ranks(0, 0, 0), N)
    assert (result.easier.value, result.easiest.value, result.distance) == (0, 1, 0.5)


def test_texts_without_variants_do_not_count():
    result = Naturalness.of(np.append(ranks(2, 2), np.nan), N, ["a", "b", "b"])
    assert (result.texts, result.easier.value) == (2, 0.5)


def test_the_sentence_has_chance_beside_each_share():
    sentence = Naturalness.of(ranks(*[0, 1] * 12), N).sentence("a score").replace("\N{NO-BREAK SPACE}", " ")
    assert sentence.startswith("a score: on 24 unseen texts, 12 %")
    assert "give 50 %" in sentence
    assert "where 20 % is chance" in sentence
