"""DetectCodeGPT: white space alone is inserted, failures have a reason, the direction holds."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.authorship import StylePerturbation, detect_code_gpt
from assay.authorship.perturbing import perturbed_style
from assay.models import TableModel

LINES = [f"x{i} = f(a, b) + {i}\n" for i in range(9)]
USUAL = "".join(LINES)


@pytest.fixture
def model():
    return TableModel.trained([USUAL * 4], order=2, units="characters")


@given(st.text(alphabet="ab \n\t(", max_size=80), st.integers(0, 99))
def test_only_white_space_is_inserted(text, seed):
    copy = perturbed_style(text, StylePerturbation(), np.random.default_rng(seed))
    assert "".join(copy.split()) == "".join(text.split())
    assert len(copy) >= len(text)


def test_text_like_the_model_own_suffers_more_than_shuffled_text(model):
    letters = list(USUAL)
    random.Random(0).shuffle(letters)
    values, reasons = detect_code_gpt([USUAL, "".join(letters)], model)
    assert reasons == (None, None)
    assert values[0] > values[1]


def test_a_seed_gives_the_same_values(model):
    first, _ = detect_code_gpt([USUAL], model)
    assert first == detect_code_gpt([USUAL], model)[0]


def test_a_text_without_a_place_for_white_space_has_a_reason(model):
    values, reasons = detect_code_gpt(["abc", ""], model)
    assert all(map(math.isnan, values))
    assert "no perturbed copy differs" in (reasons[0] or "")
    assert reasons[1] == "fewer than 2 tokens"


def test_a_model_that_ranks_every_token_first_has_a_reason():
    values, reasons = detect_code_gpt(["a b c"], TableModel.uniform(5))
    assert math.isnan(values[0])
    assert reasons == ("every token is ranked first",)


def test_every_text_is_scored_once(model):
    detect_code_gpt([USUAL, USUAL], model, StylePerturbation(count=5))
    assert len(model.scored) == len(set(model.scored))
