"""Model files of others that attack: each ends with one line, exit code 2, and within seconds."""

import base64
import json
import shutil
import struct
from pathlib import Path

import pytest

from assay.errors import ModelError
from assay.models import open_model, open_tokenizer
from assay.models.encoding import TextEncoder
from assay.models.gguf_file import bounded_reader, read_gguf
from assay.models.names import BUILTIN

STRING, ARRAY, UINT8 = 8, 9, 0


def refusal(call, *arguments, **settings):
    with pytest.raises(ModelError) as caught:
        call(*arguments, **settings)
    line = str(caught.value)
    assert "\n" not in line
    return line


def head(*values):
    """A GGUF file of one key, whose value is these bytes."""
    key = b"general.architecture"
    return b"".join([b"GGUF", struct.pack("<IQQQ", 3, 0, 1, len(key)), key, *values])


def nested(depth, entries):
    """An array of an array of an array, each of one entry; the innermost states so many."""
    return struct.pack("<I", ARRAY) + struct.pack("<IQ", ARRAY, 1) * depth + struct.pack("<IQ", UINT8, entries)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (head(struct.pack("<IIQ", ARRAY, UINT8, 2**40)), "states an array of 1,099,511,627,776 entries"),
        (head(struct.pack("<IIQ", ARRAY, STRING, 2**63)), "states an array of 9,223,372,036,854,775,808 entries"),
        (head(nested(1, 2**40)), "states an array of 1,099,511,627,776 entries"),
        (head(nested(5000, 0)), "not a whole GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 2**60), "not a whole GGUF file"),
    ],
)
@pytest.mark.timeout(60)
def test_a_gguf_file_that_states_more_than_it_holds_is_refused_at_once(content, words, tmp_path):
    pytest.importorskip("gguf", reason="GGUF files are read with the package gguf")
    path = tmp_path / "forged.gguf"
    path.write_bytes(content)
    assert words in refusal(read_gguf, path)
    assert words in refusal(open_model, str(path))


def test_the_arrays_of_a_head_share_one_limit(tmp_path, monkeypatch):
    pytest.importorskip("gguf", reason="GGUF files are read with the package gguf")
    monkeypatch.setattr("assay.models.gguf_file.MOST_ENTRIES", 5)
    path = tmp_path / "forged.gguf"
    entry = struct.pack("<IIQ", ARRAY, UINT8, 3) + b"abc"
    path.write_bytes(head(entry))
    bounded_reader()(path)
    key = struct.pack("<Q", 1)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + b"".join(key + name + entry for name in (b"a", b"b")))
    assert "states an array of 3 entries" in refusal(read_gguf, path)


@pytest.fixture
def forged(tmp_path):
    """Write a copy of `builtin:small` whose tokenizer has other parts; return its folder."""

    def write(**parts):
        folder = tmp_path / "model"
        shutil.copytree(BUILTIN / "small", folder)
        content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
        (folder / "tokenizer.json").write_text(json.dumps(content | parts), "utf-8")
        return str(folder)

    return write


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def precompiled(text):
    table = base64.b64encode(struct.pack("<I", 0) + text.encode() + b"\0").decode()
    return {"type": "Precompiled", "precompiled_charsmap": table}


NINE = {"type": "Sequence", "normalizers": [replace({"String": "a"}, "a" * 10)] * 9}


@pytest.mark.parametrize(
    "normalizer",
    [
        NINE,
        {"type": "Sequence", "normalizers": [NINE, {"type": "NFC"}]},
        replace({"Regex": ""}, "a" * 100),
        replace({"String": ""}, "a" * 100),
        {"type": "Prepend", "prepend": "a" * 100},
        precompiled("a" * 1000),
        {"type": "Sequence", "normalizers": [precompiled("a" * 60)] * 5},
    ],
)
@pytest.mark.parametrize("opened", [open_model, open_tokenizer])
def test_a_tokenizer_that_multiplies_text_is_refused(opened, normalizer, forged):
    assert "characters of one, expected at most 16" in refusal(opened, forged(normalizer=normalizer))


def test_a_tokenizer_that_turns_bytes_into_characters_again_and_again_is_refused(forged):
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    again = {"type": "Sequence", "pretokenizers": [step] * 40}
    assert "characters of one, expected at most 16" in refusal(open_tokenizer, forged(pre_tokenizer=again))


@pytest.mark.parametrize("part", ["../weights.safetensors", "sub/weights.safetensors", "/dev/zero", "", "..", 1, None])
def test_weights_outside_of_the_folder_are_refused(part, forged):
    """Their bytes would be in no digest, so that a cache could give values of other weights."""
    folder = Path(forged())
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": {"a": part}}))
    assert "in this folder" in refusal(open_model, str(folder))


@pytest.mark.parametrize("content", ["[1]", "{}", '{"weight_map": ["a"]}'])
def test_a_list_of_weights_that_is_none_is_refused(content, forged):
    folder = Path(forged())
    (folder / "model.safetensors.index.json").write_text(content)
    assert "received no weight_map" in refusal(open_model, str(folder))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"_attn_implementation": "somebody/kernel"}, "names the kernel 'somebody/kernel'"),
        ({"num_hidden_layers": 9999}, "states 9,999 layers"),
    ],
)
def test_a_configuration_that_names_code_or_endless_layers_is_refused(setting, words, forged):
    folder = forged()
    config = Path(folder, "config.json")
    config.write_text(json.dumps(json.loads(config.read_text("utf-8")) | setting), "utf-8")
    assert words in refusal(open_model, folder)


@pytest.mark.parametrize("expression", [r"(a+)+b", r"(\w+\s?)+$", r"(\s|\n)+\S$", r"([ab]+)+!\d"])
@pytest.mark.timeout(200)
def test_a_tokenizer_whose_expression_tries_every_way_is_refused(expression, forged, capfd):
    split = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
    assert "a regular expression tries too many ways" in refusal(open_tokenizer, forged(pre_tokenizer=split))
    assert capfd.readouterr() == ("", "")


def test_the_tokenizers_that_ship_and_their_copies_are_no_attack(forged):
    assert next(open_tokenizer(forged()).token_ids(["a = 1"])).size


def test_an_expression_that_only_a_text_of_the_user_keeps_busy_is_one_line(forged):
    """The panic of the library is no Exception of Python."""
    tokenizer = open_tokenizer("builtin:small").encoder.tokenizer

    class PanicException(BaseException):
        pass

    class Panicking:
        is_fast = True

        def __call__(self, texts, **options):
            if texts == ["def f"]:
                return tokenizer(texts, **options)
            raise PanicException("retry-limit-in-match over")

    encoder = TextEncoder(tokenizer, name="m")
    encoder.tokenizer = Panicking()
    assert refusal(encoder.encode, ["x"]) == "m: the tokenizer cannot read a text (retry-limit-in-match over)"


@pytest.mark.slow
@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{% for _ in range(10**9) %}{% endfor %}",
        "{{ raise_exception('no') }}",
        "{% if %}",
        "{{ 1 / 0 }}",
        "{{ 'a' * 10**10 }}",
        "{{ 9 ** (9 ** 9) }}",
        "{% for _ in range(99999) %}{% for _ in range(99999) %}{% endfor %}{% endfor %}",
    ],
)
@pytest.mark.timeout(200)
def test_a_chat_template_that_cannot_be_used_is_refused(template, forged, monkeypatch):
    monkeypatch.setattr("assay.models.encoding.CHAT_SECONDS", 20.0)
    folder = forged()
    path = Path(folder, "tokenizer_config.json")
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"chat_template": template}), "utf-8")
    assert "the chat template cannot be used (" in refusal(open_model, folder, chat_template=True)
