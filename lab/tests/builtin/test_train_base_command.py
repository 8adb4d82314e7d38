"""`assay lab testbed` as a person meets it."""

import json
from dataclasses import asdict, replace

import pytest

from assay_lab.builtin.export_base import DoseResponse, TrainingRecord
from assay_lab.builtin.train_base import TrainingRecipe


def refused(done, *words):
    """The one line on standard error."""
    assert done.code == 2, done.err
    (line,) = done.err.splitlines()
    assert line.startswith("assay: error: ")
    for word in words:
        assert word in line, line


@pytest.fixture
def record():
    return TrainingRecord(
        finished=True,
        steps=90,
        steps_planned=90,
        parameters=1_234_567,
        tokens=7_654_321,
        train_loss=2.25,
        validation_loss=2.5,
        hours=1.5,
        hardware="a test",
        versions={},
        recipe=TrainingRecipe(),
        corpus={},
        weights_sha256="0" * 64,
        manifest_sha256="1" * 64,
        dose_response=(DoseResponse(0, 700, 3.125, 0.5), DoseResponse(32, 120, 0.5, 0.9375)),
    )


def test_help_shows_the_groups_and_an_example(builtin):
    done = builtin("train-base", "--help")
    assert done.code == 0
    for words in (
        "Corpus",
        "Computation",
        "Output",
        "Example",
        "--processes 2 --compile",
        "the same command",
    ):
        assert words in done.out, words


def test_processes_that_cannot_share_the_batch_are_refused(builtin, tmp_path):
    refused(builtin("train-base", "--out", "run", "--processes", "3"), "3 processes", "16 rows")
    assert not (tmp_path / "run").exists()


def test_an_export_without_a_run_is_refused(builtin):
    refused(builtin("train-base", "--out", "nowhere", "--export-only"), "nowhere", "holds no run")


def test_a_folder_that_holds_another_run_is_refused(builtin, tmp_path):
    (tmp_path / "training.json").write_text(json.dumps(asdict(replace(TrainingRecipe(), seed=1))))
    refused(builtin("train-base", "--out", "."), "another recipe")


def test_a_file_in_place_of_the_folder_is_refused(builtin, tmp_path):
    (tmp_path / "run").touch()
    refused(builtin("train-base", "--out", "run"), "--out run")


def test_an_unknown_device_is_refused(builtin):
    refused(builtin("train-base", "--out", "run", "--device", "tpu"), "tpu", "cuda")


def test_the_summary_is_a_few_lines_and_a_table(capsys, record, tmp_path):
    from assay_lab.builtin.train_base_command import show_record

    show_record(record, tmp_path / "model", as_json=False)
    shown = capsys.readouterr().out
    for words in (
        "1,234,567 parameters, 7,654,321 tokens, 1.50 hours, trained to the end",
        "2.250 in training, 2.500 held out",
        "3.125",
        "0.938",
        f"Model: {tmp_path / 'model'}",
    ):
        assert words in shown.replace("\n", " "), words


def test_the_summary_says_when_training_was_stopped(capsys, record, tmp_path):
    from assay_lab.builtin.train_base_command import show_record

    show_record(replace(record, finished=False, steps=30), tmp_path, as_json=False)
    assert "stopped at step 30 of 90" in capsys.readouterr().out


def test_as_json_the_summary_is_the_record(capsys, record, tmp_path):
    from assay_lab.builtin.train_base_command import show_record

    show_record(record, tmp_path, as_json=True)
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(asdict(record)))


def test_a_plan_is_said_in_words(capsys):
    from assay_lab.builtin.train_base_command import show_corpus

    header = {
        "package_files": 1307,
        "packages": 40,
        "package_tokens": 6_881_080,
        "packages_left_out_for_their_licence": ["tqdm"],
        "python": "3.11.7",
        "functions_found": 15_850,
        "functions_of_suitable_length": 7380,
        "functions_per_dose": {"0": 700, "16": 120, "2": 120},
        "tokens_trained": 8_002_979,
    }
    show_corpus(header, as_json=False)
    shown = capsys.readouterr().out
    assert "1,307 files of 40 packages, 6,881,080 tokens" in shown
    assert "tqdm" in shown
    assert "8,002,979 tokens to train on" in shown
    show_corpus(header, as_json=True)
    assert json.loads(capsys.readouterr().out) == header
