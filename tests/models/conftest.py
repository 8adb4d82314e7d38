"""Tiny tokenizers and models, made on the spot from nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from assay.models.loading import Checkpoint

VOCABULARY = 300
SPECIALS = ["<s>", "</s>", "<pad>"]

TEXTS = [
    "def f(x):\n    return x + 1\n",
    "import os\n\nprint(os.sep)  # naïve — 例\n",
    "",
    "x",
    "xy",
    "for i in range(10):\n    total += i * weights[i]\n" * 4,
    "class A:\n    pass\n",
    "def f(x):\n    return x + 1\n",
]
"""Among them: nothing, one token, two tokens, a text longer than the tiny contexts, and one text twice."""


def byte_tokenizer(template: str | None = None, *, specials: bool = True) -> PreTrainedTokenizerFast:
    """One token a byte; `template` says what the tokenizer itself puts around a text."""
    names = SPECIALS if specials else []
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate(names + letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    if template is not None:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[(name, vocabulary[name]) for name in names]
        )
    named = {"bos_token": "<s>", "eos_token": "</s>"} if specials else {}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


def tiny_llama(**changes: Any) -> LlamaForCausalLM:
    """Two layers of random weights, large enough that the distributions are far from flat."""
    torch.manual_seed(1)
    settings = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "initializer_range": 0.3,
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    return LlamaForCausalLM(LlamaConfig(**(settings | changes))).eval()


@pytest.fixture
def checkpoint() -> Checkpoint:
    """A tiny Llama in memory, with a tokenizer that adds nothing."""
    return Checkpoint("tiny", tiny_llama(), byte_tokenizer(), ())


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Write a model and a tokenizer into a new folder."""

    def write(model: Any = None, tokenizer: Any = None, name: str = "model") -> Path:
        folder = tmp_path / name
        (tiny_llama() if model is None else model).save_pretrained(folder)
        (byte_tokenizer() if tokenizer is None else tokenizer).save_pretrained(folder)
        return folder

    return write


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Every attempt to open a connection fails, and is listed."""
    attempts: list[object] = []

    def refuse(_socket: object, address: object) -> None:
        attempts.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr("socket.socket.connect", refuse)
    yield attempts
