import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from assay.errors import ModelError
from assay.models import builtin_folder, loading, located, names, open_local, open_model
from support.tiny_models import byte_tokenizer, tiny


def test_importing_the_package_loads_no_torch():
    """Whoever lists scores or opens a table model does not wait for it."""
    code = "import sys, assay.models; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def builtin(tmp_path, monkeypatch):
    """An installation that ships one model."""
    monkeypatch.setattr(names, "BUILTIN", tmp_path)
    tiny("llama").save_pretrained(tmp_path / "tiny")
    byte_tokenizer().save_pretrained(tmp_path / "tiny")
    return tmp_path


def test_a_builtin_model_is_opened_by_its_name(builtin, no_network):
    model = open_model("builtin:tiny")
    assert model.name == "builtin:tiny"
    assert model.checkpoint.folders == (builtin / "tiny",)
    assert no_network == []


def test_an_unknown_builtin_model_lists_those_there_are(builtin):
    with pytest.raises(ModelError, match=r"^no built-in model 'large': expected one of tiny$"):
        builtin_folder("large")


@pytest.mark.parametrize("name", ["", "..", "../tiny", "/etc"])
def test_a_builtin_name_leads_nowhere_else(builtin, name):
    with pytest.raises(ModelError, match="no built-in model"):
        open_model(f"builtin:{name}")


def test_an_installation_without_models_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(names, "BUILTIN", tmp_path)
    with pytest.raises(ModelError, match="none are installed"):
        builtin_folder("small")


@pytest.mark.parametrize("name", ["vllm:someone/model", "openai:gpt@http://localhost:8000/v1"])
def test_what_needs_weights_or_a_tokenizer_takes_no_other_kind(name):
    with pytest.raises(ModelError, match="gives neither weights nor a tokenizer: expected builtin:NAME"):
        open_local(name)


@pytest.mark.parametrize("name", ["someone/model", "./folder", "C:\\models\\llama", "/a:b/c"])
def test_any_other_name_is_a_folder_or_a_hub_id(name):
    assert located(name) == name


def test_every_setting_reaches_the_checkpoint_and_the_model(monkeypatch, checkpoint):
    asked = {}

    def load(name, settings):
        asked.update(asdict(settings), name=name)
        return replace(checkpoint, name=name)

    monkeypatch.setattr(loading, "load_checkpoint", load)
    to_load = {
        "revision": "v1",
        "dtype": "bfloat16",
        "device": "cpu",
        "attention": "eager",
        "adapter": "a",
        "trust_remote_code": True,
    }
    model = open_model("someone/model", bos="always", stride=7, max_length=20, batch_tokens=99, **to_load)
    assert asked | to_load | {"name": "someone/model"} == asked
    assert (model.name, model.stride, model.context, model.budget.tokens) == ("someone/model", 7, 20, 99)
    assert model.encoder.prefix == (0,)
