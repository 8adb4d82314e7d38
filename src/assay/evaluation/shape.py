"""Shape of a text: lengths, indentation, and shares of character classes."""

import zlib
from collections.abc import Callable
from operator import ne, not_

import numpy as np

from assay.types import Float64Array

LONGEST_TEXT = 20_000
"""Characters that are counted: more of them hardly change the shape of a long text."""

CHARACTER_CLASSES: tuple[Callable[[str], bool], ...] = (
    str.isdigit,
    str.isupper,
    str.islower,
    str.isspace,
    lambda c: c == "\t",
    lambda c: c == "\r",
    lambda c: c in "\"'`",
    lambda c: c in "()[]{}<>",
    lambda c: c in "#/*",
    lambda c: c == "_",
    lambda c: not c.isascii(),
    lambda c: c.isprintable() and not (c.isalnum() or c.isspace()),
)
"""Classes of characters whose share of the text is counted."""


def lexical_shape(text: str) -> Float64Array:
    """Return float64 [23]: length, lines, words, compression ratio, indentation, and shares of character classes.

    The first is the logarithm of the whole length; the others look at the first `LONGEST_TEXT` characters.
    """
    length = len(text)
    text = text[:LONGEST_TEXT]
    size = max(1, len(text))
    lines, words = text.splitlines() or [""], text.split() or [""]
    widths = np.array(list(map(len, lines)))
    data = text.encode("utf-8", "surrogatepass")
    # each distinct character is classified once: texts have few of them
    counts = {c: text.count(c) for c in set(text)}
    shares = [sum(map(counts.__getitem__, filter(in_class, counts))) / size for in_class in CHARACTER_CLASSES]
    indents = widths - list(map(len, map(str.lstrip, lines)))
    return np.array(
        [
            np.log1p(length),
            np.log1p(len(lines)),
            np.log1p(widths.max()),
            widths.mean(),
            widths.std(),
            np.mean(list(map(len, words))),
            len(set(words)) / len(words),
            len(zlib.compress(data)) / max(1, len(data)),
            np.mean(indents),
            sum(map(not_, map(str.strip, lines))) / len(lines),
            sum(map(ne, lines, map(str.rstrip, lines))) / len(lines),
            *shares,
        ]
    )
