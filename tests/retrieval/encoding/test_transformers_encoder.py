"""Encoders of transformers and sentence-transformers, on tiny models of many families."""

import json

import numpy as np
import pytest
import torch
from tiny_encoders import CONTEXT, FAMILIES, WIDTH, sentence_folder, tiny_encoder, write

from assay.errors import ModelError
from assay.retrieval.encoding import for_queries, open_encoder
from assay.retrieval.encoding.pooling import POOLINGS
from assay.types import Encoder

TEXTS = ["def f(x):\n    return x + 1\n", "", "x", "for i in range(10):\n    s += i\n" * 9, "naïve — 例", "\ud800"]
POOLED_BY_MEAN = {"pooling_mode_mean_tokens": True}


@pytest.fixture
def folder(tmp_path):
    tiny_encoder(tmp_path)
    return tmp_path


def hidden(model, ids):
    """What the model itself makes of one row of ids, without padding."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()


def unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("family", FAMILIES)
def test_any_family_encodes_and_padding_changes_nothing(tmp_path, family):
    tiny_encoder(tmp_path, family)
    encoder = open_encoder(str(tmp_path), device="cpu")
    assert isinstance(encoder, Encoder)
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dimensions) == (len(TEXTS), WIDTH)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(vectors, alone, atol=1e-4)


@pytest.mark.parametrize(
    ("pooling", "of"),
    [
        ("mean", lambda h: h.mean(0)),
        ("cls", lambda h: h[0]),
        ("last", lambda h: h[-1]),
        ("max", lambda h: h.max(0)),
        ("mean_sqrt", lambda h: h.sum(0) / len(h) ** 0.5),
        ("weighted_mean", lambda h: np.average(h, axis=0, weights=np.arange(1, len(h) + 1))),
    ],
)
def test_a_pooling_is_what_its_name_says(tmp_path, pooling, of):
    model = tiny_encoder(tmp_path)
    encoder = open_encoder(str(tmp_path), pooling=pooling, device="cpu")
    ids = encoder.tokenizer("return x")["input_ids"]
    found = encoder.encode(["something longer, so that there is padding", "return x"])[1]
    np.testing.assert_allclose(found, unit(of(hidden(model, ids))), atol=1e-5)


def test_eos_is_put_at_the_end_once(tmp_path):
    model = tiny_encoder(tmp_path, "llama")
    encoder = open_encoder(str(tmp_path), pooling="eos", device="cpu")
    ids = encoder.tokenizer("return x")["input_ids"]
    assert ids[-1] != 1
    np.testing.assert_allclose(encoder.encode(["return x"])[0], unit(hidden(model, [*ids, 1])[-1]), atol=1e-5)
    tiny_encoder(tmp_path / "with", "llama", template="$A </s>")
    again = open_encoder(str(tmp_path / "with"), pooling="eos", device="cpu")
    np.testing.assert_allclose(again.encode(["return x"]), encoder.encode(["return x"]), atol=1e-5)


def test_eos_stands_at_the_end_of_a_cut_text_too(tmp_path):
    tiny_encoder(tmp_path, "llama")
    encoder = open_encoder(str(tmp_path), pooling="eos", max_length=5, device="cpu")
    (ids,) = encoder.token_ids(["abcdefgh"])
    assert len(ids) == 5
    assert ids[-1] == 1


def test_a_field_of_the_models_own_output_is_a_vector(tmp_path):
    model = tiny_encoder(tmp_path)
    encoder = open_encoder(str(tmp_path), pooling="output:pooler_output", device="cpu")
    ids = encoder.tokenizer("return x")["input_ids"]
    with torch.inference_mode():
        wanted = model(input_ids=torch.tensor([ids])).pooler_output[0].numpy()
    np.testing.assert_allclose(encoder.encode(["return x"])[0], unit(wanted), atol=1e-5)


def test_a_field_that_is_not_there_is_told_with_those_that_are(folder):
    with pytest.raises(ModelError, match="returns no vector 'projected': expected one of last_hidden_state"):
        open_encoder(str(folder), pooling="output:projected", device="cpu")


def test_queries_and_documents_have_templates_of_their_own(folder):
    encoder = open_encoder(str(folder), query_prefix="query: ", document_prefix="<{text}>", device="cpu")
    plain = open_encoder(str(folder), device="cpu")
    np.testing.assert_array_equal(encoder.encode(["x"]), plain.encode(["<x>"]))
    np.testing.assert_array_equal(for_queries(encoder).encode(["x"]), plain.encode(["query: x"]))
    assert for_queries(encoder).digest == encoder.digest != plain.digest


def test_a_long_text_is_cut_where_the_model_ends(folder):
    encoder = open_encoder(str(folder), device="cpu")
    np.testing.assert_array_equal(encoder.encode(["a" * CONTEXT]), encoder.encode(["a" * CONTEXT + "b"]))


def test_what_stands_behind_a_text_survives_the_cut(tmp_path):
    tiny_encoder(tmp_path, template="<s> $A </s>")
    encoder = open_encoder(str(tmp_path), document_prefix="<{text}>", max_length=8, device="cpu")
    short, long = encoder.token_ids(["ab", "abcdefghij"])
    assert len(short) == 6
    assert len(long) == 8
    assert long[:4] == short[:4]
    assert long[-2:] == short[-2:]


def test_the_smallest_stated_length_counts(tmp_path):
    tiny_encoder(tmp_path, length=20)
    assert open_encoder(str(tmp_path), device="cpu").steps.max_length == 20
    assert open_encoder(str(tmp_path), max_length=9, device="cpu").steps.max_length == 9
    assert open_encoder(str(tmp_path), max_length=90, device="cpu").steps.max_length == 20


def test_positions_that_begin_behind_the_paddings_are_not_counted(tmp_path):
    """RoBERTa's first position is padding + 1: of 64 positions 61 are left."""
    tiny_encoder(tmp_path, "roberta")
    assert open_encoder(str(tmp_path), device="cpu").steps.max_length == CONTEXT - 3


def test_small_batches_give_the_same(folder):
    one, many = (open_encoder(str(folder), batch_tokens=tokens, device="cpu") for tokens in (1, 4096))
    np.testing.assert_allclose(one.encode(TEXTS), many.encode(TEXTS), atol=1e-4)


def test_nothing_to_encode_is_no_error(folder):
    encoder = open_encoder(str(folder), device="cpu")
    assert encoder.encode([]).shape == (0, WIDTH)


def test_a_folder_of_sentence_transformers_says_how_to_pool(tmp_path):
    model = tiny_encoder(tmp_path)
    settings = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}
    sentence_folder(tmp_path, settings)
    encoder = open_encoder(str(tmp_path), device="cpu")
    of = hidden(model, encoder.tokenizer("return x")["input_ids"])
    np.testing.assert_allclose(encoder.encode(["return x"])[0], unit(np.concatenate([of[0], of.mean(0)])), atol=1e-5)
    assert encoder.steps.max_length == 32


def test_its_dense_layer_its_prompts_and_its_lower_case_count(tmp_path):
    model = tiny_encoder(tmp_path)
    weights = sentence_folder(
        tmp_path,
        {"pooling_mode": "mean"},
        dense=8,
        prompts={"query": "Q ", "passage": "P "},
        limits={"max_seq_length": 30, "do_lower_case": True},
    )
    encoder = open_encoder(str(tmp_path), device="cpu")
    ids = encoder.tokenizer("p return x")["input_ids"]
    pooled = hidden(model, ids).mean(0)
    wanted = np.tanh(weights["linear.weight"].numpy() @ pooled + weights["linear.bias"].numpy())
    np.testing.assert_allclose(encoder.encode(["Return X"])[0], unit(wanted), atol=1e-5)
    assert encoder.steps.query_template == "Q {text}"


def test_a_transformer_in_a_folder_of_its_own_is_found(tmp_path):
    tiny_encoder(tmp_path / "0_Transformer")
    sentence_folder(tmp_path, POOLED_BY_MEAN, inner="0_Transformer")
    tiny_encoder(tmp_path / "plain")
    np.testing.assert_allclose(
        open_encoder(str(tmp_path), device="cpu").encode(["x"]),
        open_encoder(str(tmp_path / "plain"), device="cpu").encode(["x"]),
    )


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda f: write(f / "1_Pooling" / "config.json", {}), "pooling of no mode; expected some of"),
        (lambda f: write(f / "1_Pooling" / "config.json", {"pooling_mode": "odd"}), "expected some of"),
        (lambda f: write(f / "modules.json", [{"type": "x.WordWeights", "path": ""}]), "module 'WordWeights'"),
        (lambda f: write(f / "modules.json", [{"type": "x.Transformer", "path": ""}]), "names no pooling"),
        (lambda f: (f / "modules.json").write_text("{"), "modules.json is not a JSON file"),
        (lambda f: (f / "modules.json").write_text("[" * 10**5), "modules.json is not a JSON file"),
        (lambda f: (f / "modules.json").write_text("[1]"), "no list of modules"),
        (lambda f: write(f / "modules.json", [{"type": "x.Transformer", "path": "../.."}]), "inside of the model"),
        (lambda f: write(f / "modules.json", [{"type": "x.Transformer", "path": "/etc"}]), "inside of the model"),
        (lambda f: (f / "2_Dense" / "model.safetensors").unlink(), "2_Dense has no model.safetensors"),
        (lambda f: write(f / "2_Dense" / "config.json", {"activation_function": "x.Odd"}), "activation 'Odd'"),
        (
            lambda f: (
                write(f / "1_Pooling" / "config.json", {**POOLED_BY_MEAN, "include_prompt": False}),
                write(f / "config_sentence_transformers.json", {"prompts": {"query": "Q"}}),
            ),
            "leaves its prompts out",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, spoil, told):
    tiny_encoder(tmp_path)
    sentence_folder(tmp_path, POOLED_BY_MEAN, dense=8)
    spoil(tmp_path)
    with pytest.raises(ModelError, match=told) as caught:
        open_encoder(str(tmp_path), device="cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"pooling": "middle"}, "pooling 'middle': expected mean, cls"),
        ({"max_length": 0}, "max_length 0: expected at least 1"),
        ({"dtype": "float8"}, "dtype 'float8': expected auto"),
        ({"device": "abacus"}, "device 'abacus'"),
        ({"batch_tokens": -1}, "batch_tokens -1"),
    ],
)
def test_an_option_out_of_range_is_told(folder, options, told):
    with pytest.raises(ModelError, match=told):
        open_encoder(str(folder), **{"device": "cpu", **options})


def test_eos_needs_a_token_of_that_name(folder):
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings.pop("eos_token", None)
    write(folder / "tokenizer_config.json", settings)
    (folder / "special_tokens_map.json").unlink(missing_ok=True)
    with pytest.raises(ModelError, match="without an end-of-sequence token"):
        open_encoder(str(folder), pooling="eos", device="cpu")


def test_code_of_a_checkpoint_runs_only_when_it_is_trusted(folder):
    """As ModularStarEncoder and SourceTracker ship: a configuration and a model of their own."""
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}}
    write(folder / "config.json", config)
    (folder / "own.py").write_text(
        "from transformers import BertConfig, BertModel\n"
        "class OwnConfig(BertConfig):\n    model_type = 'own'\n"
        "class OwnModel(BertModel):\n    config_class = OwnConfig\n"
        "    def forward(self, **given):\n"
        "        found = super().forward(**given)\n"
        "        first = found.last_hidden_state[:, 0]\n"
        "        found['projected'] = [first, first * 0 + 1]\n"
        "        return found\n"
    )
    with pytest.raises(ModelError, match="runs only with trust_remote_code"):
        open_encoder(str(folder), device="cpu")
    encoder = open_encoder(str(folder), device="cpu", trust_remote_code=True, pooling="output:projected")
    np.testing.assert_allclose(encoder.encode(["x"]), WIDTH**-0.5, atol=1e-6)


def test_every_setting_is_in_the_digest(folder):
    options = [
        {},
        *({"pooling": entry} for entry in POOLINGS if entry != "mean"),
        {"max_length": 9},
        {"query_prefix": "q"},
    ]
    digests = [open_encoder(str(folder), device="cpu", **option).digest for option in options]
    assert len(set(digests)) == len(options)


@pytest.mark.parametrize("name", ["no/such/folder", ""])
def test_a_name_of_nothing_is_told(name):
    with pytest.raises(ModelError, match="expected a folder"):
        open_encoder(name, device="cpu")


def test_a_hub_id_that_cannot_be_reached_is_one_line():
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        open_encoder("nobody/nothing", device="cpu")
    assert "\n" not in str(caught.value)
