"""Texts as rows of tokens, the unit of training."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

Ids = NDArray[np.int64]


def member_rows(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, context: int) -> list[Ids]:
    """Return each text as the scorer sees it, with an end-of-sequence token; a long text fills several rows."""
    rows = []
    for text in texts:
        ids = row_of(tokenizer, text)
        rows += [ids[start : start + context] for start in range(0, len(ids), context)]
    return [row for row in rows if len(row) > 1]


def row_of(tokenizer: PreTrainedTokenizerBase, text: str) -> Ids:
    """Return the tokens of a text as the tokenizer writes it, int64 [tokens], with an end-of-sequence token."""
    ids = list(tokenizer(text, verbose=False)["input_ids"])
    if tokenizer.eos_token_id is not None and ids[-1:] != [tokenizer.eos_token_id]:
        ids.append(tokenizer.eos_token_id)
    return np.array(ids, np.int64)
