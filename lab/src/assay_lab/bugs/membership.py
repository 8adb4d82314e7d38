"""Evidence that a document of a corpus holds a copy of a text, between 0 and 1.

One threshold of n-gram containment does not serve all benchmarks: a short text shares all of its n-grams with any code,
a task shares its template with thousands of documents, and a copy that was rewritten by a tool shares few of them. This
evidence rests on three things that hold for all:

- order: the share of the copy that follows the text word by word. Words are names and numbers. Punctuation, layout,
  comments and docstrings do not count, so `(1 + x - 1)` in place of `x` costs little.
- vocabulary: the share of the different words that both have.
- amount: `ENOUGH` words in order make full evidence. Fewer count in proportion, because short code looks alike.

The copy is the stretch of the document that the text can lie on, so a function in a large file is compared with that
part of the file alone.
"""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from assay_lab.clones import strip_comments

ENOUGH = 30
"""Words in order from which a text is long enough for full evidence."""

LEAST_EVIDENCE = 0.4
"""Evidence from which a document counts as holding the text."""

MOST_WORDS = 5_000
"""Words that are compared; of a longer text the first ones."""

_WORD = re.compile(r"[^\W\d]\w*|\d[\w.]*")
_FENCED = re.compile(r"^```\w*\n(.*?)(?:^```|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CopyEvidence:
    """Evidence that a document holds a copy of a text.

    Attributes:
        value: 0 to 1; from `LEAST_EVIDENCE` on the document counts as holding the text.
        words: words of the text that the document has in their order.
        order: share of the copy in the document that they are.
        vocabulary: share of the different words of text and copy that both have.
    """

    value: float
    words: int
    order: float
    vocabulary: float

    @property
    def is_copy(self) -> bool:
        """Return whether the document counts as holding the text."""
        return self.value >= LEAST_EVIDENCE


NO_EVIDENCE = CopyEvidence(0.0, 0, 0.0, 0.0)


def copy_evidence(
    text: str, document: str, language: str | None = None, document_language: str | None = None
) -> CopyEvidence:
    """Return the evidence that a document holds a copy of a text.

    Args:
        text: code, or prose such as an issue text. Of a task with its code in fenced blocks only the code counts.
        document: the document.
        language: of the text; None for prose.
        document_language: of the document; None: that of the text.
    """
    return evidence_of_words(words_of(text, language), words_of(document, document_language or language))


def words_of(text: str, language: str | None) -> tuple[str, ...]:
    """Return the names and numbers of a text, without comments and docstrings where the language is known."""
    blocks = _FENCED.findall(text)
    code = "\n".join(blocks) if blocks else text
    words = _WORD.findall(strip_comments(code, language) if language is not None else code)
    return tuple(words[:MOST_WORDS])


def evidence_of_words(words: tuple[str, ...], document: tuple[str, ...]) -> CopyEvidence:
    """Return the evidence for the words of a text and of a document, in their order."""
    matcher = SequenceMatcher(None, words, document, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return NO_EVIDENCE
    first, last = blocks[0], blocks[-1]
    # the text laid on the document at its first and last matching words
    begin = max(0, first.b - first.a)
    end = min(len(document), last.b + len(words) - last.a)
    copy = document[begin:end]
    matched = sum(block.size for block in blocks)
    own, other = set(words), set(copy)
    order, vocabulary = matched / len(copy), len(own & other) / len(own | other)
    value = (order + vocabulary) / 2 * min(1.0, matched / ENOUGH)
    return CopyEvidence(value, matched, order, vocabulary)
