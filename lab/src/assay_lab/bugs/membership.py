"""Evidence that a document of a corpus holds a text, as it is or slightly changed, between 0 and 1.

Three things count:

- similarity: the Jaccard index of the runs of three tokens, in the stretch of the document that shares most of them, so
  that a function in a large file is compared with that part of the file alone. Licence notices are left out.
- order: the share of the copy that follows the text word by word. Words are names and numbers of the code, so brackets
  and `(1 + x - 1)` in place of `x` cost little.
- amount: fewer than `ENOUGH` common runs count in proportion, because short code looks alike.

The evidence is the mean of similarity and order; the amount counts for the decision alone. A document that repeats the
words of a task counts as holding it too, whatever its code (`assay_lab.bugs.wording`).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from assay_lab.bugs.wording import Passages, passages, same_wording, without_notices
from assay_lab.clones import strip_comments
from assay_lab.columns import attributes

ENOUGH = 30
"""Common runs of three tokens from which a text is long enough; with fewer the evidence counts in proportion."""

LEAST_EVIDENCE = 0.8
"""Evidence from which a document counts as holding the text; at most 2 % of near misses have it."""

MOST_WORDS = 5_000
"""Words whose order is compared; of a longer text the first ones."""

Run = tuple[str, ...]

_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"[^\W\d]\w*|\d[\w.]*")
_FENCED = re.compile(r"^```\w*\n(.*?)(?:^```|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CopyEvidence:
    """Evidence that a document holds a text.

    Attributes:
        value: 0 to 1, the mean of similarity and order.
        runs: runs of three tokens that both have.
        similarity: their share of all runs of the text and of the stretch of the document.
        order: share of the copy in the document that follows the text word by word.
        same_wording: whether the document repeats the words of the text.
    """

    value: float
    runs: int
    similarity: float
    order: float
    same_wording: bool

    @property
    def is_copy(self) -> bool:
        """Return whether the document counts as holding the text: its code, or the words of its task."""
        return self.same_wording or self.value * min(1.0, self.runs / ENOUGH) >= LEAST_EVIDENCE


NO_EVIDENCE = CopyEvidence(value=0.0, runs=0, similarity=0.0, order=0.0, same_wording=False)


@dataclass(frozen=True, slots=True)
class PreparedText:
    """What is compared of a text.

    Attributes:
        runs: of three tokens, in their order.
        words: names and numbers of the code, in their order.
        passages: of the prose.
    """

    runs: tuple[Run, ...]
    words: tuple[str, ...]
    passages: Passages


def copy_evidence(
    text: str, document: str, language: str | None = None, document_language: str | None = None
) -> CopyEvidence:
    """Return the evidence that a document holds a text.

    Args:
        text: code, or prose such as an issue text. Of a task with its code in fenced blocks only the code has an order.
        document: the document.
        language: of the text; None for prose.
        document_language: of the document; None: that of the text.
    """
    return evidence_of(prepare(text, language), prepare(document, document_language or language))


def prepare(text: str, language: str | None) -> PreparedText:
    """Return what is compared of a text; comments have no order where the language is known."""
    tokens = _TOKEN.findall(without_notices(text))
    blocks = _FENCED.findall(text)
    code = "\n".join(blocks) if blocks else text
    if language is not None:
        code = strip_comments(code, language)
    runs = zip(tokens, tokens[1:], tokens[2:], strict=False)
    return PreparedText(runs=tuple(runs), words=tuple(_WORD.findall(code)[:MOST_WORDS]), passages=passages(text))


def evidence_of(text: PreparedText, document: PreparedText) -> CopyEvidence:
    """Return the evidence for two prepared texts."""
    own = set(text.runs)
    stretch = set(_stretch(document.runs, own, len(text.runs)))
    common = len(own & stretch)
    similarity, order = common / max(1, len(own | stretch)), _order(text.words, document.words)
    return CopyEvidence(
        value=(similarity + order) / 2,
        runs=common,
        similarity=similarity,
        order=order,
        same_wording=same_wording(text.passages, document.passages),
    )


def _stretch(runs: Sequence[Run], own: Collection[Run], length: int) -> Sequence[Run]:
    """Return the stretch of a document, as long as a text, that has most of its runs."""
    if len(runs) <= length:
        return runs
    # differences of the running sum are the hits of every stretch at once
    hits = np.cumsum([0, *map(own.__contains__, runs)])
    first = int(np.argmax(hits[length:] - hits[: len(hits) - length]))
    return runs[first : first + length]


def _order(words: Sequence[str], document: Sequence[str]) -> float:
    matcher = SequenceMatcher(None, words, document, autojunk=False)
    # the last one is empty
    *blocks, _ = matcher.get_matching_blocks()
    if not blocks:
        return 0.0
    first, last = blocks[0], blocks[-1]
    # the text laid on the document at its first and last matching words
    begin = max(0, first.b - first.a)
    end = min(len(document), last.b + len(words) - last.a)
    return float(sum(attributes(blocks, "size")) / (end - begin))
