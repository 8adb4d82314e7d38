"""What is measured on: the standard library's functions, and models of known proportions."""

import random
import tokenize
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from assay.ground_truth import library_functions, library_paths, library_root
from assay.models import Checkpoint, TransformersModel, open_local
from assay.scores import FrequencyTable
from assay.types import Sample
from assay_lab.builtin.base_tokenizer import train_tokenizer
from assay_lab.columns import attributes

LARGE = "llama 12×768, 50k"
SMALL = "builtin:small"
TINY = "llama 2×32, 300"

SIZES = {
    LARGE: {"vocabulary": 50_000, "width": 768, "layers": 12, "heads": 12},
    TINY: {"vocabulary": 300, "width": 32, "layers": 2, "heads": 4},
}


def open_subject(name: str) -> TransformersModel:
    """`builtin:small`, or a model with random weights in which an amount of work is all that matters."""
    if name == SMALL:
        return open_local(SMALL, device="cpu", dtype="float32")
    size = SIZES[name]
    sources = islice(library_sources(), 1 + size["vocabulary"] // 50)
    tokenizer = train_tokenizer(sources, vocabulary_size=size["vocabulary"], context=1024)
    return TransformersModel(Checkpoint(name, model=random_llama(**size), tokenizer=tokenizer, folders=()))


def random_llama(*, vocabulary: int, width: int, layers: int, heads: int) -> LlamaForCausalLM:
    """Random weights in GPT-2's proportions: the feed-forward layer has about 8 · width² weights."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=8 * width // 3,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
    )
    model: LlamaForCausalLM = LlamaForCausalLM(config).eval()
    return model


def library_sources() -> Iterator[str]:
    """The modules of the interpreter's standard library."""
    root = library_root()
    for path in library_paths(root):
        with tokenize.open(root / path) as file:
            yield file.read()


def library_texts(count: int, *, shortest: int = 200, longest: int = 1000) -> list[str]:
    """That many distinct functions of at least `shortest` characters, cut at `longest`, from modules in random order.

    Raises:
        ValueError: the library has fewer.
    """
    root = library_root()
    paths = library_paths(root)
    random.Random(0).shuffle(paths)  # noqa: S311  an order, no secret
    found: dict[str, None] = {}
    for function in library_functions(root, paths):
        if len(function.text) >= shortest:
            # a dict keeps the order and drops what is cut to the same text
            found.setdefault(function.text[:longest])
        if len(found) == count:
            return list(found)
    raise ValueError(f"this Python has {len(found)} functions of {shortest} characters and more: expected {count}")


def samples_of(texts: Sequence[str], language: str | None = None) -> list[Sample]:
    """The texts as samples, numbered."""
    return [Sample(str(index), text, language) for index, text in enumerate(texts)]


def frequencies_of(model: TransformersModel, texts: Sequence[str]) -> FrequencyTable:
    """Token frequencies for dc_pdd, which needs a table; which one does not change its cost."""
    return FrequencyTable.count(
        (encoded.ids.astype(np.int32) for encoded in model.encoder.encode(texts)),
        vocabulary_size=model.vocabulary_size,
        tokenizer_digest=model.tokenizer_digest,
        source="the measured texts",
    )


def token_counts(model: TransformersModel, texts: Sequence[str]) -> list[int]:
    """Scored tokens of each text.

    Raises:
        ValueError: a text longer than the context, which the ways compared would treat differently.
    """
    encoded = model.encoder.encode(texts)
    if any(len(text.ids) > model.context for text in encoded):
        raise ValueError(f"a text is longer than the {model.context} tokens of {model.name}")
    return attributes(encoded, "scored")
