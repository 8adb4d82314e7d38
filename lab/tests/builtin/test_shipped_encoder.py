"""The encoder that ships: what its folder says of itself is so, and the docs say the same."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from assay.ground_truth import read_manifest
from assay.retrieval.encoding import BAG_WEIGHTS, BUILTIN_ENCODERS
from assay_lab.builtin.export_encoder import corpus_counts
from assay_lab.builtin.shipped_files import manifest_digest
from assay_lab.builtin.train_encoder import EncoderRecipe
from assay_lab.testbed.licences import is_permissive

FOLDER = BUILTIN_ENCODERS / "fragments"
NAMES = {
    "c": "C",
    "cpp": "C++",
    "go": "Go",
    "java": "Java",
    "javascript": "JavaScript",
    "python": "Python",
    "rust": "Rust",
    "typescript": "TypeScript",
}
PAGE = Path(__file__).resolve().parents[3] / "docs" / "results" / "encoder.md"


@pytest.fixture(scope="module")
def record():
    return json.loads((FOLDER / "training.json").read_text())


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text("utf-8")


def test_the_files_are_those_of_the_record(record):
    assert hashlib.sha256((FOLDER / BAG_WEIGHTS).read_bytes()).hexdigest() == record["weights_sha256"]
    assert manifest_digest(FOLDER / "manifest.jsonl.gz") == record["manifest_sha256"]
    assert (FOLDER / BAG_WEIGHTS).stat().st_size == record["bytes"]
    assert corpus_counts(FOLDER / "manifest.jsonl.gz") == record["corpus"]


def test_training_went_to_the_end_of_the_default_recipe(record):
    assert record["finished"]
    recipe = json.loads(json.dumps(asdict(EncoderRecipe())))
    ours, default = (dict(each["corpus"]) for each in (record["recipe"], recipe))
    assert ours.pop("language_cap") == 16_000_000 > default.pop("language_cap")
    assert len(ours.pop("left_out")) > len(default.pop("left_out"))
    assert record["recipe"] | {"corpus": ours} == recipe | {"corpus": default}


def test_every_text_is_under_a_permissive_licence():
    licences = {entry.licence for entry in read_manifest(FOLDER / "manifest.jsonl.gz").entries}
    assert licences
    assert all(is_permissive(licence) for licence in licences)


def test_the_standard_library_is_not_among_the_packages():
    assert "python" not in {entry.package for entry in read_manifest(FOLDER / "manifest.jsonl.gz").entries}


def test_the_page_states_the_record(record, page):
    corpus = record["corpus"]
    per_language = corpus["functions_per_language"]
    for told in (
        *(f"{count:,} {NAMES[language]}" for language, count in per_language.items()),
        f"| packages, files | {corpus['packages']}, {corpus['package_files']:,} |",
        f"| characters | {corpus['characters']:,} |",
        f"| pairs | {record['steps']} steps of {record['recipe']['batch']:,} |",
        f"| loss at the end | {record['loss']:.3f} nats |",
        f"| held-out functions | {record['validation_functions']}, MRR {record['validation_mrr']:.3f} |",
        f"| time | {record['hours']:.2f} hours, {record['hardware']} |",
        f"| dimensions | {record['dimensions']} |",
        f"{record['bytes'] / 1e6:.1f} MB",
    ):
        assert told in page, told
    for licence in corpus["files_per_licence"]:
        assert f"| `{licence}` |" in page, licence


def test_the_loss_fell(record):
    curve = json.loads((FOLDER / "loss_curve.json").read_text())
    assert curve["loss"][-1] < curve["loss"][0] / 3
    assert curve["pairs"][-1] == record["steps"] * record["recipe"]["batch"]
