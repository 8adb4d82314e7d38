"""Encoder-decoder models: tiny T5 and BART, built from their configurations, without a network."""

import numpy as np
import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

from assay.errors import ModelError
from assay.models import open_local, open_model
from assay.types import Generator, LogProbScorer
from assay_lab.methods.seq2seq import Seq2SeqModel, open_seq2seq
from support.tiny_models import byte_tokenizer

_COMMON = {
    "vocab_size": 300,
    "d_model": 24,
    "decoder_start_token_id": 2,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}
FAMILIES = {
    "t5": (
        T5ForConditionalGeneration,
        T5Config,
        _COMMON | {"d_ff": 32, "d_kv": 6, "num_layers": 2, "num_heads": 4, "initializer_factor": 5.0},
    ),
    "bart": (
        BartForConditionalGeneration,
        BartConfig,
        _COMMON
        | {
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 32,
            "decoder_ffn_dim": 32,
            "max_position_embeddings": 128,
            "init_std": 0.5,
            "forced_eos_token_id": None,
        },
    ),
}
SOURCES = ["def f(x):\n    return x\n", "x = 1", "", "import os\n\nprint(os.sep)  # 例\n"]
TARGETS = ["def g(y):\n    return y\n", "y", "z = 2\n", ""]


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    path = tmp_path_factory.mktemp(request.param)
    architecture, configuration, settings = FAMILIES[request.param]
    torch.manual_seed(0)
    architecture(configuration(**settings)).eval().save_pretrained(path)
    tokenizer = byte_tokenizer("<s> $A </s>")
    tokenizer.add_special_tokens({"pad_token": "<pad>", "additional_special_tokens": ["<extra_id_0>", "<extra_id_1>"]})
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def model(folder):
    return open_seq2seq(str(folder))


def test_it_generates_and_gives_no_plain_log_probabilities(folder):
    model = open_model(f"seq2seq:{folder}")
    assert isinstance(model, Seq2SeqModel)
    assert isinstance(model, Generator)
    assert not isinstance(model, LogProbScorer)
    with pytest.raises(ModelError, match="encoder-decoder model: expected one that only decodes"):
        open_local(str(folder))


def test_a_decoder_is_no_encoder_decoder_model():
    with pytest.raises(ModelError, match="expected an encoder-decoder model"):
        open_seq2seq("builtin:small")


def test_conditional_log_probabilities_are_those_of_the_model_loss(model):
    for source, target, scored in zip(SOURCES, TARGETS, model.conditional(SOURCES, TARGETS), strict=True):
        tokenizer, network = model.checkpoint.tokenizer, model.checkpoint.model
        labels = tokenizer(target, return_tensors="pt").input_ids
        inputs = tokenizer(source, return_tensors="pt")
        with torch.inference_mode():
            loss = network(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask, labels=labels).loss
        assert scored.token_ids.tolist() == labels[0].tolist()
        assert scored.log_probs.mean() == pytest.approx(-loss.item(), rel=1e-4)


def test_a_batch_changes_nothing(folder, model):
    alone = open_seq2seq(str(folder), settings_of(batch_tokens=1))
    for single, batched in zip(alone.conditional(SOURCES, TARGETS), model.conditional(SOURCES, TARGETS), strict=True):
        np.testing.assert_allclose(single.log_probs, batched.log_probs, rtol=1e-4, atol=1e-5)
    for temperature in (0.0, 1.0):
        settings = {"max_new_tokens": 8, "temperature": temperature, "seed": 3}
        assert list(alone.generate(SOURCES, **settings)) == list(model.generate(SOURCES, **settings))


def settings_of(**changes):
    from assay.models import ModelSettings

    return ModelSettings(**changes)


def test_greedy_output_is_that_of_transformers(model):
    tokenizer, network = model.checkpoint.tokenizer, model.checkpoint.model
    inputs = tokenizer(SOURCES[0], return_tensors="pt")
    with torch.inference_mode():
        ids = network.generate(
            input_ids=inputs.input_ids, attention_mask=inputs.attention_mask, max_new_tokens=10, do_sample=False
        )
    kept = [token for token in ids[0, 1:].tolist() if token not in {0, 1, 2}]
    assert list(model.generate([SOURCES[0]], max_new_tokens=10)) == [tokenizer.decode(kept)]


def test_samples_of_equal_prompts_differ_and_a_seed_repeats_them(model):
    settings = {"max_new_tokens": 12, "temperature": 4.0, "seed": 1}
    first = list(model.generate(["x"] * 3, **settings))
    assert len(set(first)) == 3
    assert list(model.generate(["x"] * 3, **settings)) == first


def test_output_ends_before_a_stop_string(model):
    (whole,) = model.generate(["x"], max_new_tokens=12, temperature=1.0)
    (cut,) = model.generate(["x"], max_new_tokens=12, temperature=1.0, stop=[whole[2]])
    assert cut == whole[: whole.index(whole[2])]


def test_sentinels_are_read_and_stay_in_the_output(model):
    tokenizer = model.checkpoint.tokenizer
    ids = tokenizer("a <extra_id_0> b")["input_ids"]
    assert tokenizer.convert_tokens_to_ids("<extra_id_0>") in ids
    assert "<extra_id_0>" in tokenizer.decode(ids, skip_special_tokens=False)


def test_a_long_text_is_cut_at_the_context(folder):
    short = open_seq2seq(str(folder), settings_of(max_length=16))
    (scored,) = short.conditional(["x" * 100], ["y" * 100])
    assert len(scored) == 16
    with pytest.raises(ModelError, match="max_length 9999999: expected 2 to"):
        open_seq2seq(str(folder), settings_of(max_length=9999999))
