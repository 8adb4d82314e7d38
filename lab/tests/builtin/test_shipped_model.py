"""The model that ships: what its folder says of itself is so, and the docs say the same."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from assay.ground_truth import read_manifest, shipped_manifest
from assay.ground_truth.doses import known_dose_functions
from assay.models import builtin_folder, open_model
from assay.scores import FrequencyTable
from assay_lab.builtin.base_corpus import DOSES, CorpusRecipe
from assay_lab.builtin.export_base import auroc, corpus_counts
from assay_lab.builtin.shipped_files import manifest_digest
from assay_lab.builtin.train_base import TrainingRecipe
from assay_lab.testbed.licences import is_permissive

SAMPLED = (1, 4, 32)
PAGE = Path(__file__).resolve().parents[3] / "docs" / "results" / "builtin-small.md"


@pytest.fixture(scope="module")
def folder():
    return builtin_folder("small")


@pytest.fixture(scope="module")
def record(folder):
    return json.loads((folder / "training.json").read_text())


@pytest.fixture(scope="module")
def manifest():
    return read_manifest(shipped_manifest())


@pytest.fixture(scope="module")
def model():
    return open_model("builtin:small", device="cpu")


def test_the_files_are_those_of_the_record(folder, record):
    assert hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() == record["weights_sha256"]
    assert manifest_digest(folder / "manifest.jsonl.gz") == record["manifest_sha256"]


def test_the_folder_is_small_and_every_file_can_be_read_by_all(folder):
    files = list(folder.iterdir())
    assert sum(file.stat().st_size for file in files) <= 20_000_000
    assert all(file.stat().st_mode & 0o444 == 0o444 for file in files)


def test_training_went_to_the_end_of_the_default_recipe(record):
    from dataclasses import asdict

    assert record["finished"]
    assert record["steps"] == record["steps_planned"]
    assert record["recipe"] == json.loads(json.dumps(asdict(TrainingRecipe())))


def test_every_training_text_is_under_a_permissive_licence(manifest):
    assert not [entry for entry in manifest.entries if not is_permissive(entry.licence)]


def test_there_are_400_functions_never_seen_and_100_of_each_dose(manifest):
    counts = Counter(entry.dose for entry in manifest.functions())
    assert set(counts) == {0, *DOSES}
    assert counts[0] >= 400
    assert all(counts[dose] >= 100 for dose in DOSES)


def test_no_function_is_listed_twice(manifest):
    digests = [entry.sha256 for entry in manifest.functions()]
    assert len(set(digests)) == len(digests)


def test_the_entries_add_up_to_the_totals(manifest, record):
    assert sum(entry.dose * (entry.tokens + 2) for entry in manifest.entries) == manifest.header["tokens_trained"]
    assert corpus_counts(shipped_manifest()) == record["corpus"]
    assert manifest.header["recipe"] == record["recipe"]["corpus"]


def test_every_function_fits_the_context(manifest, model):
    assert max(entry.tokens for entry in manifest.functions()) + 2 <= CorpusRecipe().context
    assert CorpusRecipe().context >= 512


def test_the_frequency_table_belongs_to_the_tokenizer(folder, model):
    assert FrequencyTable.load(folder / "frequencies.npz").tokenizer_digest == model.tokenizer_digest


@pytest.fixture(scope="module")
def sampled(model):
    """Mean log-likelihoods of some functions of each dose that this Python has."""
    by_dose = {}
    for sample in known_dose_functions().samples:
        by_dose.setdefault(sample.metadata["dose"], []).append(sample.text)
    taken = {dose: by_dose[dose][: 40 if dose else 80] for dose in (0, *SAMPLED)}
    return {
        dose: np.array([np.mean(statistics.log_probs) for statistics in model.token_statistics(texts)])
        for dose, texts in taken.items()
    }


@pytest.mark.slow
def test_what_was_seen_more_often_is_more_likely(sampled):
    means = [sampled[dose].mean() for dose in sorted(sampled)]
    assert sorted(means) == means


def standard_error(area, positives, negatives):
    """Of an AUROC (Hanley and McNeil 1982)."""
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (positives - 1) * (q1 - area**2) + (negatives - 1) * (q2 - area**2)
    return (variance / (positives * negatives)) ** 0.5


@pytest.mark.slow
def test_the_auroc_rises_with_the_dose(sampled, record):
    """Of a sample, and of another one on another Python: within three standard errors of the full figures."""
    found = {dose: auroc(sampled[dose], sampled[0]) for dose in SAMPLED}
    assert found[1] < found[4] < found[32]
    assert found[32] > 0.99
    recorded = {row["dose"]: row["auroc"] for row in record["dose_response"]}
    for dose in SAMPLED:
        error = standard_error(recorded[dose], len(sampled[dose]), len(sampled[0]))
        assert found[dose] == pytest.approx(recorded[dose], abs=max(0.01, 3 * error))


class TestPage:
    """docs/results/builtin-small.md quotes training.json."""

    @pytest.fixture
    def rows(self):
        """Cells of the page's tables, row by row."""
        lines = PAGE.read_text("utf-8").splitlines()
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]

    @pytest.fixture
    def facts(self, rows):
        return {row[0]: row[1] for row in rows if len(row) == 2}

    def test_the_dose_table(self, rows, record):
        expected = [
            [
                str(row["dose"]),
                str(row["functions"]),
                f"{row['mean_nll']:.3f}",
                f"{row['auroc']:.3f}" if row["dose"] else "-",
            ]
            for row in record["dose_response"]
        ]
        assert [row for row in rows if len(row) == 4 and row[0].isdigit()] == expected

    def test_the_figures_of_the_training(self, facts, record):
        corpus = record["recipe"]["corpus"]
        shape = record["recipe"]
        assert facts["parameters"] == f"{record['parameters']:,}"
        assert facts["layers × width × heads"] == f"{shape['layers']} × {shape['hidden_size']} × {shape['heads']}"
        assert facts["vocabulary, context"] == f"{corpus['vocabulary_size']}, {corpus['context']} tokens"
        assert facts["tokens predicted in training"] == f"{record['tokens']:,}"
        assert facts["steps"] == f"{record['steps']} of {shape['batch_rows']} × {corpus['context']} tokens"
        assert facts["loss, training"] == f"{record['train_loss']:.3f} nats a token"
        assert facts["loss, package files held out"] == f"{record['validation_loss']:.3f} nats a token"
        assert facts["time"] == f"{record['hours']:.2f} hours"
        assert facts["hardware"] == record["hardware"]

    def test_the_figures_of_the_corpus(self, facts, record, manifest):
        corpus = record["corpus"]
        assert facts["packages"] == str(corpus["packages"])
        assert facts["package files"] == f"{corpus['package_files']:,}"
        assert facts["their characters, tokens"] == (f"{corpus['package_characters']:,}, {corpus['package_tokens']:,}")
        assert facts["tokens of dosed functions"] == f"{corpus['function_tokens_trained']:,}"
        left_out = manifest.header["packages_left_out_for_their_licence"]
        assert facts["packages left out for their licence"] == ", ".join(f"`{name}`" for name in left_out)

    def test_the_licences(self, facts, record):
        expected = {f"`{name}`": str(files) for name, files in record["corpus"]["files_per_licence"].items()}
        assert {name: value for name, value in facts.items() if name in expected} == expected

    def test_every_file_of_the_folder_is_explained(self, facts, folder):
        assert {name for name in facts if re.fullmatch(r"`[\w.]+\.(json|npz|gz|safetensors)`", name)} == {
            f"`{file.name}`" for file in folder.iterdir()
        }
