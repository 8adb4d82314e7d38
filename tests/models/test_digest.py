import hashlib
import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from assay.models import open_model
from assay.models.digest import combined, files_digest, tokenizer_digest
from support.tiny_models import byte_tokenizer, tiny


def digest(folder, **settings):
    return open_model(str(folder), **settings).digest


def test_the_same_files_elsewhere_are_the_same_model(save, tmp_path):
    folder = save()
    shutil.copytree(folder, tmp_path / "copy")
    assert digest(folder) == digest(tmp_path / "copy")


def test_one_bit_of_one_weight_makes_another_model(save):
    folder = save()
    before = digest(folder)
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] += 1e-6
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert digest(folder) != before


def test_the_configuration_is_part_of_the_model(save):
    folder = save()
    before = digest(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"rms_norm_eps": 0.1}))
    assert digest(folder) != before


def test_what_is_no_weight_and_no_configuration_does_not_count(save):
    folder = save()
    before = digest(folder)
    (folder / "README.md").write_text("read me")
    assert digest(folder) == before


def test_code_that_comes_with_a_checkpoint_is_part_of_the_model(save):
    folder = save()
    (folder / "modeling_own.py").write_text("SCALE = 1\n")
    before = digest(folder)
    (folder / "modeling_own.py").write_text("SCALE = 2\n")
    assert digest(folder) != before


@pytest.mark.parametrize("change", [{"dtype": "bfloat16"}, {"stride": 5}, {"max_length": 30}, {"bos": "always"}])
def test_what_changes_a_statistic_changes_the_digest(save, change):
    folder = save()
    assert digest(folder, **change) != digest(folder)


def test_batches_do_not_change_the_digest(save):
    folder = save()
    assert digest(folder, batch_tokens=7) == digest(folder)


def test_padding_and_truncation_are_no_part_of_a_tokenizer():
    tokenizer = byte_tokenizer()
    before = tokenizer_digest(tokenizer)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer(["a", "long text"], padding=True, truncation=True, max_length=3)
    assert tokenizer_digest(tokenizer) == before


def test_a_token_more_makes_another_tokenizer():
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens(["größe"])
    assert tokenizer_digest(tokenizer) != tokenizer_digest(byte_tokenizer())
    assert tokenizer_digest(byte_tokenizer("<s> $A")) != tokenizer_digest(byte_tokenizer())


def test_a_slow_tokenizer_has_a_digest_too(monkeypatch):
    tokenizer = byte_tokenizer()
    monkeypatch.setattr(type(tokenizer), "is_fast", False)
    before = tokenizer_digest(tokenizer)
    tokenizer.add_tokens(["größe"])
    assert tokenizer_digest(tokenizer) != before


def link_to(blob, link):
    for path in (blob, link):
        path.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(b"anything")
    link.symlink_to(blob)
    return link.parent


def test_a_file_in_the_hubs_cache_is_known_by_the_digest_that_names_it(tmp_path):
    """Links to files that are named by their SHA-256 are not read: they may have gigabytes."""
    name = "a" * 64
    for at, inner in enumerate(("snapshots/0123", "snapshots/0123/deep")):
        folder = link_to(tmp_path / f"{at}" / "blobs" / name, tmp_path / f"{at}" / inner / "model.safetensors")
        assert files_digest([folder]) == combined([["model.safetensors", name]])


@pytest.mark.parametrize("blob", ["elsewhere/blobs", "model/snapshots", "model"])
def test_a_link_that_is_not_of_the_hubs_cache_is_read(tmp_path, blob):
    folder = link_to(tmp_path / blob / ("a" * 64), tmp_path / "model" / "snapshots" / "0123" / "model.safetensors")
    content = hashlib.sha256(b"anything").hexdigest()
    assert files_digest([folder]) == combined([["model.safetensors", content]])


def test_the_index_of_the_parts_is_part_of_the_model(tmp_path):
    tiny("llama").save_pretrained(tmp_path, max_shard_size="20KB")
    index = tmp_path / "model.safetensors.index.json"
    before, content = files_digest([tmp_path]), json.loads(index.read_text())
    first, *_, last = content["weight_map"]
    content["weight_map"][first] = content["weight_map"][last]
    index.write_text(json.dumps(content))
    assert files_digest([tmp_path]) != before


def test_of_two_formats_the_one_that_is_loaded_counts(tmp_path):
    tiny("llama").save_pretrained(tmp_path)
    before = files_digest([tmp_path])
    torch.save({}, tmp_path / "pytorch_model.bin")
    assert files_digest([tmp_path]) == before


def test_the_order_of_keys_does_not_matter():
    assert combined({"a": 1, "b": 2}) == combined({"b": 2, "a": 1})
    assert combined({"a": 1}) != combined({"a": 2})
