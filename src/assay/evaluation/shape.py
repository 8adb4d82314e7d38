"""Shape of a text: lengths, indentation, and shares of character classes."""

import zlib
from collections.abc import Callable

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
    widths = np.array([len(line) for line in lines])
    data = text.encode("utf-8", "surrogatepass")
    counts = {c: text.count(c) for c in set(text)}
    shares = [sum(n for c, n in counts.items() if in_class(c)) / size for in_class in CHARACTER_CLASSES]
    indents = [len(line) - len(line.lstrip()) for line in lines]
    return np.array(
        [
            np.log1p(length),
            np.log1p(len(lines)),
            np.log1p(widths.max()),
            widths.mean(),
            widths.std(),
            np.mean([len(word) for word in words]),
            len(set(words)) / len(words),
            len(zlib.compress(data)) / max(1, len(data)),
            np.mean(indents),
            sum(not line.strip() for line in lines) / len(lines),
            sum(line != line.rstrip() for line in lines) / len(lines),
            *shares,
        ]
    )
