"""Packing of documents into rows of tokens, in the order of training.

A dosed function always starts a row, so that training shows it as scoring does: right after `<bos>`, with nothing
before it. Package files fill the rest of each row, one after the other, and are cut where a row ends. When the files
are used up, padding fills the remaining rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TokenIds = NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """The training stream.

    Attributes:
        rows: uint16 [R, context + 1]; a row gives `context` predictions.
        function_of: int32 [R], which function starts the row, -1 for none.
    """

    rows: TokenIds
    function_of: NDArray[np.int32]


def pack(
    functions: Sequence[tuple[TokenIds, int]], files: Sequence[TokenIds], *, width: int, pad: int, seed: int
) -> PackedRows:
    """Pack documents into rows of `width` tokens.

    Every function occurs in the rows exactly as often as its dose, at places drawn uniformly over the whole run.

    Args:
        functions: (document, dose) pairs; a document has its `<bos>` and `<eos>` and is at most `width` long.
        files: documents, each used once.
        width: tokens in a row.
        pad: token that fills the rest.
        seed: of the places.
    """
    random = np.random.default_rng(seed)
    occurrences = random.permutation(np.repeat(np.arange(len(functions)), [dose for _, dose in functions]))
    stream = np.concatenate([*files, np.empty(0, dtype=np.uint16)])
    lengths = np.array([len(document) for document, _ in functions], np.int64)
    total = len(stream) + int(lengths[occurrences].sum())
    # each occurrence needs a row of its own, even where the tokens would fit in fewer rows
    count = max(-(-total // width), len(occurrences))
    function_of = np.full(count, -1, dtype=np.int32)
    function_of[np.sort(random.choice(count, size=len(occurrences), replace=False))] = occurrences
    rows = np.full((count, width), pad, dtype=np.uint16)
    position = 0
    for row, index in zip(rows, function_of, strict=True):
        head = functions[int(index)][0] if index >= 0 else stream[:0]
        row[: len(head)] = head
        body = stream[position : position + width - len(head)]
        row[len(head) : len(head) + len(body)] = body
        position += len(body)
    return PackedRows(rows=rows, function_of=function_of)
