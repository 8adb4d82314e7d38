"""Planted texts and general text as rows of tokens, the unit of training."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from assay.evaluation import ShingleIndex, shingles

Ids = NDArray[np.int64]


def member_rows(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, context: int) -> list[Ids]:
    """Return each text as the scorer sees it, with an end-of-sequence token; a long text fills several rows."""
    rows = []
    for text in texts:
        ids = _ids(tokenizer, text)
        rows += [ids[start : start + context] for start in range(0, len(ids), context)]
    return [row for row in rows if len(row) > 1]


def general_rows(
    tokenizer: PreTrainedTokenizerBase, texts: Iterable[str], *, tokens: int, context: int
) -> tuple[list[Ids], int]:
    """Concatenate general texts up to `tokens` tokens, cut into rows of `context` tokens.

    Returns:
        The rows, and the number of documents used. There are fewer than `tokens` tokens if the texts run out.
    """
    parts: list[Ids] = []
    total = documents = 0
    for text in texts:
        if total >= tokens:
            break
        parts.append(_ids(tokenizer, text))
        total += len(parts[-1])
        documents += 1
    stream = np.concatenate([*parts, np.empty(0, np.int64)])[:tokens]
    rows = [stream[start : start + context] for start in range(0, len(stream), context)]
    return [row for row in rows if len(row) > 1], documents


def without_planted(texts: Iterable[str], planted: Sequence[str], near_duplicate: float) -> Iterable[str]:
    """Yield the general texts without a planted text or near-duplicate in them, so that held-out texts stay unseen."""
    index = ShingleIndex(planted)
    sizes = np.maximum(index.sizes, 1)
    codes: dict[str, int] = {}
    for text in texts:
        if not len(sizes) or (index.shared(shingles(text, codes)) / sizes).max() < near_duplicate:
            yield text


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> Ids:
    ids = list(tokenizer(text, verbose=False)["input_ids"])
    if tokenizer.eos_token_id is not None and ids[-1:] != [tokenizer.eos_token_id]:
        ids.append(tokenizer.eos_token_id)
    return np.array(ids, np.int64)
