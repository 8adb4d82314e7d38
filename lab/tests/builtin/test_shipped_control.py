"""`builtin:control` as it ships: its folder is what its record says, and the docs say the same."""

import hashlib
import json
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

from assay.ground_truth import read_manifest, trained_texts
from assay.models import builtin_folder, default_control, open_model
from assay.scores import FrequencyTable
from assay_lab.builtin.export_control import ControlRecord, corpus_counts, is_of_use
from assay_lab.builtin.shipped_files import manifest_digest
from assay_lab.testbed.licences import is_permissive

PAGE = Path(__file__).resolve().parents[3] / "docs" / "results" / "builtin-control.md"
LANGUAGES = {"c", "cpp", "go", "java", "javascript", "python", "rust", "typescript"}


@pytest.fixture(scope="module")
def folder():
    return builtin_folder("control")


@pytest.fixture(scope="module")
def record(folder):
    return ControlRecord(**json.loads((folder / "training.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def manifest(folder):
    return read_manifest(folder / "manifest.jsonl.gz")


def test_the_files_are_those_of_the_record(folder, record):
    assert hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() == record.weights_sha256
    assert manifest_digest(folder / "manifest.jsonl.gz") == record.manifest_sha256
    assert corpus_counts(folder / "manifest.jsonl.gz") == record.corpus


def test_the_folder_has_at_most_15_megabytes_that_all_can_read(folder):
    files = list(folder.iterdir())
    assert sum(file.stat().st_size for file in files) <= 15_000_000
    assert all(file.stat().st_mode & 0o444 == 0o444 for file in files)


def test_it_meets_the_criterion_that_was_set_before_the_training(record):
    assert set(record.bits_per_byte) == LANGUAGES
    assert is_of_use(record)


def test_later_positions_of_the_context_are_predicted_as_well_as_early_ones(record):
    first, *_, last = record.loss_by_position.values()
    assert last < first + 0.1


def test_every_training_text_is_of_one_of_eight_languages_and_under_a_permissive_licence(manifest):
    assert {entry.language for entry in manifest.entries} == LANGUAGES
    assert not [entry for entry in manifest.entries if not is_permissive(entry.licence)]


def test_a_text_as_long_as_the_context_has_finite_values(folder):
    model = open_model("builtin:control", device="cpu")
    (statistics,) = model.token_statistics(["x = [1, 2]\n" * 200])
    assert 1024 < len(statistics.log_probs) < 2048
    assert np.isfinite(statistics.log_probs).all()
    assert FrequencyTable.load(folder / "frequencies.npz").tokenizer_digest == model.tokenizer_digest


def test_a_function_of_a_training_file_is_known_and_a_new_one_is_not(manifest):
    """Transformers is installed in the version that was trained on, so a file of it can be read."""
    root = Path(str(distribution("transformers").locate_file("")))
    digests = {entry.sha256: entry for entry in manifest.entries if entry.package == "transformers"}
    files = (root / entry.path for entry in digests.values())
    text = next(
        text
        for file in files
        if file.exists() and hashlib.sha256((text := file.read_text("utf-8")).encode()).hexdigest() in digests
    )
    middle = len(text) // 2
    new = "def never_written_before(quince, medlar):\n    return [quince ^ medlar, quince // (medlar + 77)]\n" * 3
    assert trained_texts(default_control()).contain([text, text[middle : middle + 2000], new]).tolist() == [
        True,
        True,
        False,
    ]


def test_the_docs_quote_the_record(record):
    page = PAGE.read_text("utf-8")
    for language, bits in record.bits_per_byte.items():
        assert f"| {bits:.2f} | {record.bits_per_byte_of_small[language]:.2f} |" in page, language
    assert f"{record.steps:,} steps" in page
    assert f"{record.tokens / 1e6:.1f} million tokens" in page
    assert f"{record.hours:.1f} hours" in page
