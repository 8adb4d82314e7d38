"""From a run to the folder that ships."""

import hashlib
import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from assay.errors import DataError
from assay.ground_truth import read_manifest
from assay.models import open_model
from assay.scores import FrequencyTable
from assay.training.resuming import LOG
from assay_lab.builtin import prepared
from assay_lab.builtin.base_tokenizer import BOS_ID, EOS_ID, PAD_ID, load_tokenizer
from assay_lab.builtin.export_base import auroc, export_base
from assay_lab.builtin.shipped_files import manifest_digest
from assay_lab.builtin.train_base import CORPUS, load_trained
from assay_lab.builtin.training_record import loss_curve
from support.tiny import TINY


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    """The exported folder and its record."""
    folder = tmp_path_factory.mktemp("exported") / "model"
    return folder, export_base(trained, folder, TINY, hardware="a test")


def test_the_folder_holds_every_file(exported):
    folder, _ = exported
    assert {file.name for file in folder.iterdir()} >= {
        "config.json",
        "frequencies.npz",
        "loss_curve.json",
        "manifest.jsonl.gz",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "training.json",
    }


def test_the_record_is_the_file_with_the_right_digests(exported):
    folder, record = exported
    stored = json.loads((folder / "training.json").read_text())
    assert stored["weights_sha256"] == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert stored["manifest_sha256"] == manifest_digest(folder / "manifest.jsonl.gz")
    assert stored["dose_response"] == [
        {"dose": row.dose, "functions": row.functions, "mean_nll": row.mean_nll, "auroc": row.auroc}
        for row in record.dose_response
    ]
    assert stored["finished"] is True
    assert stored["hardware"] == "a test"
    assert stored["recipe"]["corpus"]["doses"] == [1, 8]


def test_the_record_counts_what_the_manifest_lists(exported):
    folder, record = exported
    listed = read_manifest(folder / "manifest.jsonl.gz")
    assert record.corpus["package_files"] == listed.header["package_files"]
    assert record.corpus["packages"] == listed.header["packages"]
    assert record.corpus["package_tokens"] == listed.header["package_tokens"]
    assert sum(record.corpus["files_per_licence"].values()) == record.corpus["package_files"]
    assert record.corpus["functions"] == 22


def test_every_dose_is_measured(exported):
    _, record = exported
    assert [(row.dose, row.functions) for row in record.dose_response] == [(0, 12), (1, 5), (8, 5)]


def test_the_weights_are_those_of_the_checkpoint_in_bfloat16(exported, trained):
    folder, _ = exported
    shipped = load_file(folder / "model.safetensors")
    checkpoint = load_trained(trained, TINY)[0].state_dict()
    for name, weight in shipped.items():
        assert torch.equal(weight, checkpoint[name].bfloat16())


def test_the_losses_are_those_that_the_package_itself_measures(exported):
    """Mean NLL by the engine's backend equals the record's, which comes from the model's own loss."""
    folder, record = exported
    from assay.ground_truth.doses import known_dose_functions

    samples = known_dose_functions(folder / "manifest.jsonl.gz").samples
    statistics = open_model(str(folder), device="cpu").token_statistics([sample.text for sample in samples])
    losses = np.array([-np.mean(statistic.log_probs) for statistic in statistics])
    doses = np.array([sample.metadata["dose"] for sample in samples])
    for row in record.dose_response:
        assert losses[doses == row.dose].mean() == pytest.approx(row.mean_nll, abs=1e-3)


def test_the_frequency_table_belongs_to_the_tokenizer_and_counts_the_package_files(exported, trained):
    folder, _ = exported
    table = FrequencyTable.load(folder / "frequencies.npz")
    assert table.tokenizer_digest == open_model(str(folder), device="cpu").tokenizer_digest
    with np.load(trained / CORPUS / prepared.FREQUENCIES) as stored:
        assert table.counts.tolist() == stored["counts"].tolist()
    assert table.counts[[BOS_ID, EOS_ID, PAD_ID]].tolist() == [0, 0, 0]
    assert table.total > 10_000


def test_special_tokens_have_the_ids_that_the_model_was_built_with(exported):
    tokenizer = load_tokenizer(exported[0])
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (BOS_ID, EOS_ID, PAD_ID)


@pytest.mark.parametrize("text", ["def f(x):\n\treturn x  \n\n\n", "é λ 漢字 🙂 \r\n\x00", "   x\n", ""])
def test_the_tokenizer_loses_nothing(exported, text):
    tokenizer = load_tokenizer(exported[0])
    ids = tokenizer(text)["input_ids"]
    assert ids[0] == BOS_ID
    assert tokenizer.decode(ids[1:]) == text


@pytest.mark.slow
def test_an_export_of_another_recipe_is_refused(trained, tmp_path):
    from dataclasses import replace

    with pytest.raises(DataError, match="another recipe"):
        export_base(trained, tmp_path / "model", replace(TINY, layers=3), hardware="a test")
    assert not (tmp_path / "model").exists()


def test_the_loss_curve_keeps_the_mean(trained):
    logged = [json.loads(line)["loss"] for line in (trained / LOG).read_text().splitlines()]
    curve = loss_curve(trained / LOG, unit="tokens", judged="validation_loss", points=len(logged))
    assert curve["loss"] == logged
    assert len(loss_curve(trained / LOG, unit="tokens", judged="validation_loss", points=4)["loss"]) == 4


def test_the_area_is_the_share_of_pairs_in_the_right_order():
    assert auroc(np.array([3.0, 2.0]), np.array([1.0, 2.0])) == (1 + 1 + 1 + 0.5) / 4
