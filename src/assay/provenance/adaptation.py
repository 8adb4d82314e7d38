"""Algorithm 1 of HybridSourceTracker: changes like those of a language model that adapts code to a context.

Gurioli, D'Ascenzo, Pennino, Gabbrielli, Zacchiroli: Efficient and Scalable Provenance Tracking for LLM-Generated Code
Snippets, 2026.
"""

import random
import re
import string
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGER_THAN = 3
MORE_THAN = 2


@dataclass(frozen=True, slots=True)
class Adapted:
    """A text in which some words were replaced.

    Attributes:
        text: after the replacement.
        replacements: new words by the old ones.
        seed: that gives this text again.
    """

    text: str
    replacements: Mapping[str, str]
    seed: int


def adapt(text: str, *, seed: int, probability: float = 0.2, spare: Collection[str] = ()) -> Adapted:
    """Replace frequent words, each everywhere by one random word.

    A word is a run of letters, digits and `_` that does not begin with a digit. Those longer than three characters that
    occur more than twice are replaced, each with the given probability, by as many random letters: a word that does not
    occur in the text and replaces no other. Words count everywhere: in names, strings, comments and keywords,
    unless they are spared.

    Args:
        text: a fragment of source code.
        seed: of the draws; the same text and seed give the same result, in any process.
        probability: that one of these words is replaced.
        spare: words that stay, for example the keywords of the language.

    Raises:
        ValueError: the probability is not from 0 to 1.
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"received probability = {probability}, expected 0 to 1")
    counts = Counter(WORD.findall(text))
    draw = seeded_random(seed, text)
    used = set(counts)
    replacements = {}
    for word, count in counts.items():
        if len(word) > LONGER_THAN and count > MORE_THAN and word not in spare and draw.random() < probability:
            replacements[word] = new = _letters(len(word), used, draw)
            used.add(new)
    return Adapted(WORD.sub(lambda match: replacements.get(match[0], match[0]), text), replacements, seed)


def seeded_random(seed: int, text: str) -> random.Random:
    """Return a generator that depends on seed and text alone, in any process."""
    return random.Random(f"{seed}\n{text}".encode("utf-8", "surrogatepass"))  # noqa: S311  reproducible, not secret


def _letters(length: int, used: Collection[str], draw: random.Random) -> str:
    while True:
        word = "".join(draw.choices(string.ascii_letters, k=length))
        if word not in used:
            return word
