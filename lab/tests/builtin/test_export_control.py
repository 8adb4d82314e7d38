"""The exported control predicts as its record says, and the record is honest about its use."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from assay.ground_truth import SKETCH, Manifest
from assay.ground_truth.sketch import read_sketch
from assay.models import open_model
from assay.models.names import builtin_folder
from assay_lab.builtin.base_tokenizer import load_tokenizer
from assay_lab.builtin.control_corpus import ControlCorpus, SourceText, manifest_entries
from assay_lab.builtin.control_prepared import write_control_corpus
from assay_lab.builtin.export_control import export_control, is_of_use, loss_by_position
from assay_lab.builtin.train_control import (
    CONSTANT,
    CORPUS_FOLDER,
    ControlMachine,
    ControlTraining,
    bits_per_byte,
    train_constant,
)

RECIPE = ControlTraining(
    vocabulary_size=4096,
    context=64,
    short_row=32,
    hidden_size=16,
    layers=1,
    heads=1,
    intermediate_size=16,
    step_tokens=64,
    warm_up=1,
    bfloat16=False,
)


def source(language: str, number: int) -> SourceText:
    text = "".join(f"{language}_{number} = value({i}, 'a{i * number}')\n" for i in range(40))
    return SourceText(language, "pypi", f"package{number}", "1.0", f"{number}.txt", "MIT", text)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A run of two steps with the tokenizer of `builtin:small`, and its record."""
    out = tmp_path_factory.mktemp("run")
    tokenizer = load_tokenizer(builtin_folder("small"))
    files = tuple(source(language, n) for n in range(3) for language in ("python", "java"))
    held_out = tuple(source(language, 9) for language in ("python", "java"))
    corpus = ControlCorpus(files, held_out, tokenizer, Manifest({"kind": "header"}, manifest_entries(files, tokenizer)))
    (out / CORPUS_FOLDER).mkdir()
    write_control_corpus(out / CORPUS_FOLDER, corpus)
    train_constant(out, RECIPE, ControlMachine(device="cpu"), steps=2)
    return out, export_control(out, out / CONSTANT, out / "model", RECIPE, hardware="a test")


def test_the_exported_folder_opens_as_a_model(exported):
    (batch,) = open_model(str(exported[0] / "model")).completed(["def f():\n    return 1\n"])
    ((_, statistics),) = batch
    assert np.isfinite(statistics.log_probs).all()


def test_the_record_names_steps_texts_and_figures(exported):
    out, record = exported
    stored = json.loads((out / "model" / "training.json").read_text("utf-8"))
    assert (record.steps, record.tokens) == (2, 128)
    assert stored["bits_per_byte"] == dict(record.bits_per_byte)
    assert set(record.bits_per_byte) == {"java", "python"}
    assert record.corpus["files"] == 6
    assert list(record.loss_by_position) == []
    assert len(read_sketch(out / "model" / SKETCH))


def test_bits_per_byte_of_a_uniform_model(exported):
    """A model that spreads its probability evenly needs log2(vocabulary) bits a token."""
    from assay_lab.builtin.train_control import build_model

    model, tokenizer = build_model(RECIPE).eval(), load_tokenizer(builtin_folder("small"))
    with torch.no_grad():
        model.lm_head.weight.zero_()
    text = source("python", 5).text
    tokens = len(tokenizer(text, add_special_tokens=False)["input_ids"])
    expected = tokens * math.log2(4096) / len(text.encode())
    assert bits_per_byte(model, tokenizer, [text], context=64) == pytest.approx(expected, rel=1e-5)


def test_losses_are_averaged_over_the_positions_of_a_range():
    from assay_lab.builtin.train_control import build_model

    recipe = replace(RECIPE, context=600, vocabulary_size=64)
    rows = np.random.default_rng(0).integers(3, 64, (2, 601)).astype(np.uint16)
    losses = loss_by_position(build_model(recipe).eval(), rows)
    assert list(losses) == ["0-255", "256-511"]
    assert all(loss == pytest.approx(math.log(64), rel=0.2) for loss in losses.values())


@pytest.mark.parametrize(("python", "java", "useful"), [(1.05, 0.8, True), (1.3, 0.8, False), (1.0, 0.95, False)])
def test_a_control_is_of_use_near_builtin_small_on_python_and_better_elsewhere(exported, python, java, useful):
    record = replace(
        exported[1],
        bits_per_byte={"python": python, "java": java},
        bits_per_byte_of_small={"python": 1.0, "java": 1.0},
    )
    assert is_of_use(record) is useful
