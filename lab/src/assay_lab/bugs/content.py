"""Membership by content: which texts of a bug does a corpus hold, and in which document?

A bug has up to four texts: the issue text, the buggy code, the fixed code, and the whole file where checkouts were
given. Each is judged by itself, by the evidence of `assay_lab.bugs.membership` for the document that holds most of it.

The two sides of a bug are nearly the same text, so here both are usually in the corpus or neither is. Which of the two
a corpus has is decided by what only one side has: see `assay_lab.bugs.exposure`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.corpora import Origin
from assay.evaluation import Estimate, grouped_share
from assay.provenance import Searchable, SearchMethod, StoredDocument, trace
from assay_lab.bugs.membership import NO_EVIDENCE, CopyEvidence, evidence_of, prepare
from assay_lab.bugs.pairs import SamplePair, issue_of
from assay_lab.columns import attributes, keyed

ContentSide = Literal["issue", "buggy", "fixed", "file"]
CONTENT_SIDES: tuple[ContentSide, ...] = ("issue", "buggy", "fixed", "file")
CHANGED = "changed"
"""Metadata with the changed places of a side whose text is a whole file."""


@dataclass(frozen=True, slots=True)
class ContentEvidence:
    """Evidence that a corpus holds one text of a bug.

    Attributes:
        evidence: for the document that holds most of it.
        origins: all places of that document; empty where no document shares anything.
        reason: why the text was not judged; None where it was.
    """

    evidence: CopyEvidence
    origins: tuple[Origin, ...] = ()
    reason: str | None = None

    @property
    def document(self) -> str | None:
        """Return the path of that document; None where no document shares anything."""
        return self.origins[0].path if self.origins else None

    @property
    def is_present(self) -> bool:
        """Return whether the corpus counts as holding the text."""
        return self.reason is None and self.evidence.is_copy


@dataclass(frozen=True, slots=True)
class ContentMembership:
    """Membership of one side over the bugs of a set.

    Attributes:
        judged: texts that were judged.
        too_short: texts that were not.
        present: texts that the corpus holds.
        share: of the judged ones that it holds, with an interval over groups.
    """

    judged: int
    too_short: int
    present: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class PossibleCopies:
    """Documents of an index that may hold a text of a bug.

    Attributes:
        documents: number → document.
        origins: number → its places.
        too_short: texts of this kind cannot be searched for, with the reason; None otherwise.
    """

    documents: Mapping[int, StoredDocument]
    origins: Mapping[int, tuple[Origin, ...]]
    too_short: str | None = None


def candidates_for(
    text: str, index: Searchable, *, language: str | None, method: SearchMethod, top: int
) -> PossibleCopies:
    """Return the documents of an index that share most with a text; arguments as `assay.provenance.trace`."""
    traced = trace(text, index, language=language, method=method, top=top)
    numbers = attributes(traced.matches, "document_id")
    return PossibleCopies(keyed(index.documents(numbers), "id"), traced.origins, traced.too_short)


def texts_of_bug(pair: SamplePair) -> Mapping[ContentSide, str]:
    """Return the texts of a bug that are not empty, by side."""
    fixed, buggy = (side.metadata.get(CHANGED, side.text) for side in (pair.fixed, pair.buggy))
    file = pair.fixed.text if CHANGED in pair.fixed.metadata else ""
    texts = dict(zip(CONTENT_SIDES, (issue_of(pair), buggy, fixed, file), strict=True))
    return {side: text for side, text in texts.items() if isinstance(text, str) and text.strip()}


def evidence_among(text: str, language: str | None, candidates: PossibleCopies) -> ContentEvidence:
    """Return the evidence for the document that holds most of a text.

    Args:
        text: of a bug.
        language: of the text; None for prose.
        candidates: documents to compare with.
    """
    prepared = prepare(text, language)
    best, number = NO_EVIDENCE, None
    for each, document in candidates.documents.items():
        evidence = evidence_of(prepared, prepare(document.text, document.language))
        if (evidence.is_copy, evidence.value) > (best.is_copy, best.value):
            best, number = evidence, each
    if number is None:
        return ContentEvidence(best, reason=candidates.too_short)
    return ContentEvidence(best, candidates.origins[number])


def content_memberships(
    contents: Sequence[Mapping[ContentSide, ContentEvidence]], groups: Sequence[str | None]
) -> Mapping[ContentSide, ContentMembership]:
    """Return the membership of each side that a set has.

    Args:
        contents: [bugs], side → evidence.
        groups: [bugs], bugs of one project are not independent.
    """
    memberships: dict[ContentSide, ContentMembership] = {}
    for side in CONTENT_SIDES:
        present: list[bool] = []
        of_judged: list[str | None] = []
        too_short = 0
        for content, group in zip(contents, groups, strict=True):
            if side in content and content[side].reason is None:
                present.append(content[side].is_present)
                of_judged.append(group)
            elif side in content:
                too_short += 1
        if present or too_short:
            share = grouped_share(present, of_judged)
            memberships[side] = ContentMembership(
                judged=len(present), too_short=too_short, present=sum(present), share=share
            )
    return memberships
