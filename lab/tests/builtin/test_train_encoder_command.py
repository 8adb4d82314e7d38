"""`assay lab builtin train-encoder` as a person meets it."""

import json

import pytest

from assay_lab.builtin import train_encoder_command as command
from assay_lab.builtin.export_encoder import EncoderRecord
from assay_lab.builtin.train_encoder import EncoderRecipe


@pytest.fixture
def record():
    return EncoderRecord(
        finished=False,
        steps=90,
        dimensions=384,
        parameters=3_670_016,
        bytes=4_230_000,
        loss=0.125,
        validation_mrr=0.875,
        validation_functions=752,
        hours=0.5,
        hardware="a test",
        versions={},
        recipe=EncoderRecipe(),
        corpus={},
        weights_sha256="0" * 64,
        manifest_sha256="1" * 64,
    )


def test_help_shows_an_example(builtin):
    done = builtin("train-encoder", "--help")
    assert done.code == 0
    for words in ("Corpus", "Training", "Computation", "Example", "--out runs/encoder", "the same command"):
        assert words in done.out, words


def test_a_device_that_is_none_is_refused_before_anything_is_written(builtin, tmp_path):
    done = builtin("train-encoder", "--out", "run", "--device", "abacus")
    assert done.code == 2
    assert done.err == "assay: error: no device 'abacus' to train on; expected auto, cpu or cuda\n"
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_run_cannot_be_exported(builtin):
    done = builtin("train-encoder", "--out", "run", "--export-only")
    assert done.code == 2
    assert "holds no run; expected a folder that `assay lab builtin train-encoder` trained in" in done.err


def test_the_record_is_told_in_words_and_as_json(record, tmp_path, capsys):
    command.show_encoder_record(record, tmp_path, as_json=False)
    words = capsys.readouterr().out
    for told in ("4.2 MB", "184,320 pairs", "stopped at step 90 of 360", "MRR 0.875", str(tmp_path)):
        assert told in words, told
    command.show_encoder_record(record, tmp_path, as_json=True)
    assert json.loads(capsys.readouterr().out)["validation_mrr"] == 0.875


def test_the_plan_is_told(capsys):
    header = {
        "functions_trained": 30_429,
        "functions_held_out": 752,
        "functions_found": 44_696,
        "functions_per_language": {"python": 29_120, "cpp": 1_309},
        "packages": 49,
        "packages_left_out_for_their_licence": ["tqdm"],
    }
    command.show_encoder_corpus(header, as_json=False)
    words = capsys.readouterr().out
    for told in ("30,429 functions of 49 packages", "29,120 python, 1,309 cpp", "752 held out", "licence: tqdm"):
        assert told in words, told
