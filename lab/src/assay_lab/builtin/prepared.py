"""The corpus on disk as training reads it: rows of tokens, tokenizer, manifest. It is written once per run folder."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from assay.errors import DataError
from assay_lab.builtin.base_corpus import BaseCorpus, CorpusRecipe, build_corpus
from assay_lab.builtin.shipped_files import write_manifest
from assay_lab.columns import text_column
from assay_lab.training.packing import TokenIds, pack
from assay_lab.training.recipes import make_once

ROWS = "rows.npy"
FUNCTION_OF = "function_of.npy"
VALIDATION = "validation.npy"
FREQUENCIES = "frequencies.npz"
MANIFEST = "manifest.jsonl.gz"
TOKENIZER = "tokenizer"


def prepare_corpus(folder: Path, recipe: CorpusRecipe) -> None:
    """Build the corpus and write it to `folder`, unless it exists.

    Raises:
        DataError: `folder` holds a corpus of another recipe.
    """
    make_once(folder, asdict(recipe), lambda unfinished: write_corpus(unfinished, build_corpus(recipe), recipe))


def write_corpus(folder: Path, corpus: BaseCorpus, recipe: CorpusRecipe) -> None:
    """Pack the corpus into rows and write all files that training and export read."""
    tokenizer = corpus.tokenizer
    functions = documents(tokenizer, text_column(map(itemgetter(0), corpus.functions)))
    files = documents(tokenizer, text_column(corpus.files))
    held_out = documents(tokenizer, text_column(corpus.validation))
    doses = list(map(itemgetter(1), corpus.functions))
    # a row of n + 1 tokens has n predictions
    width = recipe.context + 1
    pad = int(tokenizer.pad_token_id)
    packed = pack(list(zip(functions, doses, strict=True)), files, width=width, pad=pad, seed=recipe.seed)
    np.save(folder / ROWS, packed.rows)
    np.save(folder / FUNCTION_OF, packed.function_of)
    np.save(folder / VALIDATION, pack([], held_out, width=width, pad=pad, seed=recipe.seed).rows)
    save_frequencies(folder, tokenizer, np.concatenate([*files, *held_out]))
    tokenizer.save_pretrained(folder / TOKENIZER)
    write_manifest(folder / MANIFEST, corpus.manifest)


def save_frequencies(folder: Path, tokenizer: PreTrainedTokenizerFast, stream: TokenIds) -> None:
    """Write how often each token of a stream occurs, special tokens left out; `frequency_table` reads it."""
    counts = np.bincount(stream, minlength=len(tokenizer))
    counts[list(tokenizer.all_special_ids)] = 0
    np.savez_compressed(folder / FREQUENCIES, counts=counts.astype(np.int64), total=counts.sum())


def input_digest(path: Path, maker: str) -> str:
    """Return the digest of the tokens that a run is trained on.

    Args:
        path: of the file in the folder of the corpus.
        maker: command that writes it.

    Raises:
        DataError: it is missing.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path.parent}: expected the corpus {maker} ({error.strerror})") from error


def documents(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str]) -> list[TokenIds]:
    """Return the tokens of each text between `<bos>` and `<eos>`."""
    encodings = tokenizer.backend_tokenizer.encode_batch_fast(list(texts))
    return [np.array([*encoding.ids, tokenizer.eos_token_id], dtype=np.uint16) for encoding in encodings]
