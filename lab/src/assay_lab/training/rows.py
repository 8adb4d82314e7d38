"""General text as rows of tokens, without what was planted."""

from collections.abc import Iterable, Sequence

import numpy as np
from transformers import PreTrainedTokenizerBase

from assay.evaluation import ShingleIndex, shingles
from assay.training import Ids, row_of


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
        parts.append(row_of(tokenizer, text))
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
