"""Several vectors of a document: one of the whole text, and one of each window of it.

A short fragment shares few features with the whole of a long function, and many with the window that it was cut from.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from assay.retrieval.encoding.bag import BagEncoder
from assay.retrieval.encoding.lexemes import code_starts
from assay.types import Float32Array

WIDTH = 30
"""Tokens of a window; windows begin every half a width."""
MOST_WINDOWS = 64
"""Of one document; those of a longer one are wider."""


@dataclass(frozen=True, slots=True, eq=False)
class WindowEncoder:
    """A bag encoder that gives a document several vectors; a query has one.

    Attributes:
        name: what the user called it.
        bag: gives each vector.
    """

    name: str
    bag: BagEncoder

    @property
    def digest(self) -> str:
        """Digest of the bag encoder and of the rule of the windows."""
        return hashlib.sha256(f"windows {WIDTH} {MOST_WINDOWS}\n{self.bag.digest}".encode()).hexdigest()

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.bag.dimensions

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Return one vector of each whole text, float32 [texts, d], rows of length 1."""
        return self.bag.encode(texts)

    def encode_documents(self, texts: Sequence[str]) -> list[Float32Array]:
        """Return float32 [1 + windows, d] of each text: of the whole, then of its windows."""
        if not texts:
            return []
        pieces = [[text, *windows_of(text)] for text in texts]
        vectors = self.bag.encode(list(chain.from_iterable(pieces)))
        return np.split(vectors, np.cumsum(list(map(len, pieces)))[:-1])


def windows_of(text: str) -> list[str]:
    """Return runs of `WIDTH` tokens that overlap by half; none of a text that is no longer than one."""
    starts = code_starts(text)
    # a window is two steps wide: whatever is shorter than a step lies whole in some window
    step = max(WIDTH // 2, -(-len(starts) // (MOST_WINDOWS + 1)))
    width = 2 * step
    last = len(starts) - width
    if last <= 0:
        return []
    # the last window ends with the text, so that no token is in none
    firsts = [*range(0, last, step), last]
    bounds = [*starts, len(text)]
    return [text[bounds[first] : bounds[first + width]] for first in firsts]
