"""The parts of an export that all built-in models share: weights, tokenizer, frequencies and digests."""

import hashlib
import shutil
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaForCausalLM

from assay.models import open_tokenizer, quiet
from assay.scores import FrequencyTable
from assay_lab.builtin.prepared import FREQUENCIES, MANIFEST, TOKENIZER
from assay_lab.builtin.shipped_files import manifest_digest

WEIGHTS = "model.safetensors"
VERSIONED = ("torch", "transformers", "tokenizers", "numpy")
"""Packages that determine the figures of a language model."""


def exported_llama(model: LlamaForCausalLM, corpus: Path, folder: Path, *, frequencies_of: str) -> LlamaForCausalLM:
    """Write weights in bfloat16, tokenizer, manifest and token frequencies; return the model as it ships.

    Args:
        model: trained; it is rounded.
        corpus: folder of the prepared corpus.
        folder: of the exported files, created if it is missing.
        frequencies_of: the texts whose tokens were counted, in words.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with quiet():
        model.bfloat16().save_pretrained(folder)
    for file in (corpus / MANIFEST, *(corpus / TOKENIZER).iterdir()):
        shutil.copyfile(file, folder / file.name)
    frequency_table(corpus / FREQUENCIES, folder, frequencies_of).save(folder / FREQUENCIES)
    return read_llama(folder)


def read_llama(folder: Path) -> LlamaForCausalLM:
    """Return a model that ships, in float32."""
    with quiet():
        model: LlamaForCausalLM = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return model


def frequency_table(counts: Path, folder: Path, source: str) -> FrequencyTable:
    """Return the token frequencies of a corpus, for DC-PDD and the tokenizer in `folder`."""
    with np.load(counts) as stored:
        digest = open_tokenizer(str(folder)).digest
        return FrequencyTable(counts=stored["counts"], tokenizer_digest=digest, source=source)


def digests(folder: Path, weights: str) -> dict[str, str]:
    """Return the entries of a record that identify the weights and the uncompressed manifest."""
    return {
        "weights_sha256": hashlib.sha256((folder / weights).read_bytes()).hexdigest(),
        "manifest_sha256": manifest_digest(folder / MANIFEST),
    }
