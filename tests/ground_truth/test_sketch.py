"""Texts that a built-in model was trained on are recognised, alone and inside longer texts."""

import random

import numpy as np
import pytest

from assay.errors import DataError
from assay.ground_truth import TrainedTexts, kept_shingles, trained_texts
from assay.ground_truth.sketch import read_sketch
from assay_lab.builtin.shipped_files import write_sketch


def text(seed: int, words: int) -> str:
    return " ".join(f"name{n}" for n in random.Random(seed).choices(range(5000), k=words))


@pytest.fixture
def trained(tmp_path):
    path = tmp_path / "sketch.npz"
    write_sketch(path, [text(seed, 2000) for seed in range(3)])
    return TrainedTexts(frozenset(), read_sketch(path))


def test_a_part_of_a_training_text_is_found_and_another_text_is_not(trained):
    words = text(1, 2000).split()
    assert trained.contain([" ".join(words[300:500]), text(9, 200)]).tolist() == [True, False]


def test_layout_does_not_count(trained):
    assert trained.contain([text(2, 2000).replace(" ", "\n    ")]).tolist() == [True]


def test_a_text_of_a_few_new_tokens_is_not_found(trained):
    assert trained.contain(["x = 1", ""]).tolist() == [False, False]


def test_a_sketch_keeps_the_announced_share_of_shingles():
    assert len(kept_shingles(text(4, 20_000), {})) == pytest.approx(20_000 / 16, rel=0.15)


def test_a_sketch_survives_its_file(tmp_path):
    write_sketch(tmp_path / "sketch.npz", [text(5, 4000)])
    assert np.array_equal(read_sketch(tmp_path / "sketch.npz"), kept_shingles(text(5, 4000), {}))
    (tmp_path / "broken.npz").write_text("no archive")
    with pytest.raises(DataError, match="expected a sketch"):
        read_sketch(tmp_path / "broken.npz")


@pytest.mark.slow
def test_the_functions_that_builtin_small_was_trained_on_are_its_trained_texts():
    from assay.ground_truth.doses import known_dose_functions

    functions = known_dose_functions().samples[:200]
    contained = trained_texts("builtin:small").contain([sample.text for sample in functions])
    assert contained.tolist() == [bool(sample.metadata["dose"]) for sample in functions]


def test_trained_texts_of_other_models_are_unknown():
    assert trained_texts("some/model") is None
