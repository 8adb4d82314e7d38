import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from naive import columns_of
from peft import LoraConfig, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file

from assay.errors import MissingExtra, ModelError, install_command
from assay.models import ModelSettings, loading, open_model
from assay.models.loading import load_checkpoint, quiet, resolve_device
from assay.models.transformers_backend import TransformersModel
from support.tiny_models import TEXTS, byte_tokenizer, tiny


@pytest.fixture
def folder(save):
    return save()


def refusal(*arguments, **settings):
    """The one line that loading says."""
    with pytest.raises(ModelError) as caught:
        open_model(*map(str, arguments), **settings)
    line = str(caught.value)
    assert "\n" not in line
    assert line
    return line


def values(model, texts=TEXTS):
    return [columns_of(statistics) for statistics in model.token_statistics(texts)]


# A folder


def test_a_folder_is_opened_without_a_network(folder, no_network):
    assert values(open_model(str(folder)))
    assert no_network == []


def test_a_model_is_ready_to_read_and_not_to_train(folder):
    checkpoint = load_checkpoint(str(folder))
    assert not checkpoint.model.training
    assert checkpoint.folders == (folder,)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("auto", torch.float32), ("float32", torch.float32), ("bfloat16", torch.bfloat16), ("float16", torch.float16)],
)
def test_weights_have_the_dtype_asked_for_and_auto_is_float32_on_the_cpu(save, dtype, expected):
    folder = save(tiny("llama").bfloat16())
    assert load_checkpoint(str(folder), ModelSettings(dtype=dtype, device="cpu")).model.dtype == expected


def test_an_unknown_dtype_is_refused(folder):
    assert refusal(folder, dtype="int3") == "dtype 'int3': expected auto, float32, bfloat16, float16"


def test_pickled_weights_are_read_too(save):
    folder = save()
    expected = values(open_model(str(folder)))
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    for found, wanted in zip(values(open_model(str(folder))), expected, strict=True):
        assert (found == wanted).all()


def test_weights_in_several_files_are_read(tmp_path):
    tiny("llama").save_pretrained(tmp_path, max_shard_size="20KB")
    byte_tokenizer().save_pretrained(tmp_path)
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    assert values(open_model(str(tmp_path)))
    min(tmp_path.glob("*.safetensors")).unlink()
    assert refusal(tmp_path).startswith(f"{tmp_path} cannot be loaded: ")


def test_the_attention_asked_for_is_used(folder):
    for attention in ("eager", "sdpa"):
        assert (
            load_checkpoint(str(folder), ModelSettings(attention=attention)).model.config._attn_implementation
            == attention
        )
    assert "no_such_attention" in refusal(folder, attention="no_such_attention")


def test_a_revision_is_passed_on_for_a_hub_id(monkeypatch):
    asked = []

    def refuse(name, **settings):
        asked.append((name, settings))
        raise OSError("not here")

    monkeypatch.setattr(loading.AutoConfig, "from_pretrained", refuse)
    assert refusal("someone/some-model", revision="v1.0") == "someone/some-model cannot be loaded: not here"
    assert asked == [
        ("someone/some-model", {"trust_remote_code": False, "local_files_only": False, "revision": "v1.0"})
    ]


@pytest.mark.parametrize("part", ["AutoConfig", "AutoTokenizer", "AutoModelForCausalLM"])
def test_of_a_folder_only_local_files_are_asked_for(folder, monkeypatch, part):
    own, asked = getattr(loading, part).from_pretrained, []
    monkeypatch.setattr(
        getattr(loading, part),
        "from_pretrained",
        lambda name, **settings: asked.append((name, settings["local_files_only"])) or own(name, **settings),
    )
    open_model(str(folder))
    assert set(asked) == {(str(folder), True)}


def test_a_folder_has_no_revisions(folder):
    assert values(open_model(str(folder), revision="main"))


# What is wrong with a folder


def test_a_configuration_of_a_million_layers_is_refused_at_once(folder):
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": 10**6}))
    with pytest.raises(ModelError, match="states 1,000,000 layers, expected at most 1,000"):
        load_checkpoint(str(folder))


def test_a_path_that_is_not_there(tmp_path):
    for name in (tmp_path / "nothing", "./nothing", "a/b/c", ""):
        assert "expected a folder with config.json and weights, or a hub id" in refusal(name)


def test_a_file_is_no_model(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"")
    assert refusal(tmp_path / "model.bin").endswith("is a file: expected a model folder or a hub id")


def test_an_id_that_the_hub_cannot_be_asked_for(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert refusal("someone/some-model").startswith("someone/some-model cannot be loaded: ")


def test_a_folder_without_a_configuration(folder):
    (folder / "config.json").unlink()
    assert "no config.json: expected a model folder as save_pretrained writes it" in refusal(folder)


def test_a_configuration_that_is_no_json(folder):
    (folder / "config.json").write_text("{")
    assert f"{folder / 'config.json'} is not a JSON" in refusal(folder)


@pytest.mark.parametrize("content", ["[]", "{}", '{"model_type": "no_such_family"}', '"text"'])
def test_a_configuration_of_no_known_family(folder, content):
    (folder / "config.json").write_text(content)
    assert refusal(folder).startswith(f"{folder} cannot be loaded: ")


def test_a_folder_without_weights(folder):
    (folder / "model.safetensors").unlink()
    assert "no weights: expected model.safetensors (or its index and parts)" in refusal(folder)


def test_a_folder_without_a_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    assert "no tokenizer files: expected tokenizer.json, tokenizer.model or vocab.json" in refusal(folder)


def test_a_tokenizer_that_is_no_json(folder):
    (folder / "tokenizer.json").write_text("{")
    assert refusal(folder).startswith(f"{folder} cannot be loaded: ")


@pytest.mark.parametrize("kept", [0, 4, 200, 10_000])
def test_weights_cut_off(folder, kept):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:kept])
    assert refusal(folder).startswith(f"{folder} cannot be loaded: ")


def test_weights_that_are_something_else(folder):
    (folder / "model.safetensors").write_bytes(b"<html>Not Found</html>" * 100)
    assert refusal(folder).startswith(f"{folder} cannot be loaded: ")


def test_weights_that_are_no_numbers(folder):
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][3] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert refusal(folder) == f"{folder}: the model's logits are not finite: expected weights without NaN or infinity"


def test_weights_that_are_missing_are_not_made_up(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert refusal(folder) == (f"{folder}: 1 weights are missing from the files (model.layers.1.mlp.up_proj.weight, …)")


def test_weights_of_another_shape_are_not_made_up(folder):
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = torch.ones(31)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert refusal(folder).startswith(f"{folder} cannot be loaded: ")


# Devices


def test_the_cpu_is_always_there():
    assert resolve_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "", "cpu:1:2"])
def test_an_unknown_device_is_refused(device):
    with pytest.raises(ModelError, match=r"expected auto, cpu, cuda, cuda:N, mps or one of balanced") as caught:
        resolve_device(device)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("device", ["cuda:99", "cpu:1", "xla", "meta"])
def test_a_device_that_is_not_here_is_refused(device):
    with pytest.raises(ModelError, match=f"device '{device}' is not here: torch sees"):
        resolve_device(device)


def test_a_device_is_looked_at_before_the_files(tmp_path):
    assert "device 'gpu'" in refusal(tmp_path / "nothing", device="gpu")


def test_a_device_map_needs_accelerate(folder, monkeypatch):
    monkeypatch.setattr(loading.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match="device 'balanced' needs the package 'accelerate'"):
        open_model(str(folder), device="balanced")


# Code that comes with a checkpoint


OWN_CODE = """
from pathlib import Path
from transformers import LlamaConfig, LlamaForCausalLM

Path({mark!r}).touch()


class OwnConfig(LlamaConfig):
    model_type = "own"


class OwnModel(LlamaForCausalLM):
    config_class = OwnConfig
"""


@pytest.fixture
def with_code(folder):
    """A checkpoint whose own Python code leaves a mark when it runs."""
    mark = folder / "ran"
    (folder / "own.py").write_text(OWN_CODE.format(mark=str(mark)))
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}}
    (folder / "config.json").write_text(json.dumps(config))
    return folder, mark


def test_a_checkpoints_own_code_does_not_run_unasked(with_code):
    folder, mark = with_code
    assert "trust_remote_code" in refusal(folder)
    assert not mark.exists()


def test_a_checkpoints_own_code_runs_when_trusted(with_code, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder, mark = with_code
    assert values(open_model(str(folder), trust_remote_code=True))
    assert mark.exists()


# Adapters


@pytest.fixture
def adapted(folder, tmp_path):
    """A base model's folder, an adapter's folder, and the folder of both merged."""
    model = load_checkpoint(str(folder)).model
    model.name_or_path = str(folder)
    settings = LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    torch.manual_seed(3)
    with quiet(), torch.no_grad():
        wrapped = get_peft_model(model, settings)
        for name, weight in wrapped.named_parameters():
            if "lora_" in name:
                weight.normal_(0, 0.5)
        wrapped.save_pretrained(tmp_path / "adapter")
        wrapped.merge_and_unload().save_pretrained(tmp_path / "merged")
    byte_tokenizer().save_pretrained(tmp_path / "merged")
    return folder, tmp_path / "adapter", tmp_path / "merged"


def test_an_adapter_folder_names_its_base_and_gives_what_the_merged_model_gives(adapted, no_network):
    base, adapter, merged = adapted
    found, expected = values(open_model(str(adapter))), values(open_model(str(merged)))
    for entry, other in zip(found, expected, strict=True):
        assert entry.shape == other.shape
        assert abs(entry - other).max(initial=0) < 1e-4
    assert abs(found[0] - values(open_model(str(base)))[0]).max() > 0.1
    assert no_network == []


@pytest.mark.parametrize("kind", [str, Path])
def test_an_adapter_can_be_put_on_a_named_base(kind, adapted):
    base, adapter, _ = adapted
    by_name = open_model(str(base), adapter=kind(adapter))
    by_folder = open_model(str(adapter))
    for value, other in zip(values(by_name), values(by_folder), strict=True):
        assert (value == other).all()
    assert by_name.checkpoint.folders == (base, adapter)


def test_an_adapter_keeps_the_quick_way_and_can_continue_text(adapted):
    model = open_model(str(adapted[1]))
    assert model.forward.chunked
    assert list(model.generate(["x = "], max_new_tokens=4)) == list(
        open_model(str(adapted[2])).generate(["x = "], max_new_tokens=4)
    )


def test_an_adapter_is_part_of_the_models_digest(adapted):
    base, adapter, merged = adapted
    digests = {open_model(str(place)).digest for place in (base, adapter, merged)}
    assert len(digests) == 3


def test_an_adapter_may_bring_its_own_tokenizer(adapted):
    _, adapter, _ = adapted
    byte_tokenizer("<s> $A").save_pretrained(adapter)
    assert open_model(str(adapter)).encoder.prefix == (0,)


def test_an_adapter_without_weights(adapted):
    (adapted[1] / "adapter_model.safetensors").unlink()
    assert refusal(adapted[1]).endswith("no adapter weights: expected adapter_model.safetensors")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"base_model_name_or_path": null}'])
def test_an_adapter_whose_configuration_names_no_base(adapted, content):
    (adapted[1] / "adapter_config.json").write_text(content)
    assert "adapter_config.json" in refusal(adapted[1])


def test_an_adapter_whose_base_is_gone(adapted):
    shutil.rmtree(adapted[0])
    assert f"no model folder '{adapted[0]}'" in refusal(adapted[1])


def test_an_adapter_of_another_shape(adapted, save):
    other = save(tiny("llama", hidden_size=16), name="other")
    assert refusal(other, adapter=str(adapted[1])).startswith(f"{other} cannot be loaded: ")


def test_an_adapter_folder_that_is_not_there(folder, tmp_path):
    refusal(folder, adapter=str(tmp_path / "nothing"))


def test_virtual_tokens_are_no_change_of_weights(folder, tmp_path):
    settings = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    with quiet():
        get_peft_model(load_checkpoint(str(folder)).model, settings).save_pretrained(tmp_path / "prompt")
    assert "adds virtual tokens: expected one that changes weights" in refusal(folder, adapter=str(tmp_path / "prompt"))


def test_an_adapter_needs_peft(adapted, monkeypatch):
    find = loading.importlib.util.find_spec
    monkeypatch.setattr(loading.importlib.util, "find_spec", lambda name: None if name == "peft" else find(name))
    with pytest.raises(MissingExtra, match=re.escape(f"needs the package 'peft': {install_command('hf')}")):
        open_model(str(adapted[1]))


def test_loading_prints_nothing(adapted, capsys):
    values(open_model(str(adapted[1])))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_checkpoint_in_memory_is_a_model_too(checkpoint):
    assert len(values(TransformersModel(checkpoint))) == len(TEXTS)
