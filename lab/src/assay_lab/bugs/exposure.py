"""Exposure of a bug: was the buggy text, the fixed text, both or neither in a corpus?

Both sides of a bug share most of their text, so the share of a side that occurs in a document says little. What decides
are the places that only one side has: runs of `RUN` characters, without layout and comments, that occur in that side
and not in the other. A run covers the changed characters with their neighbours, so a fix that only deletes a line has
runs of its own too, across the gap. The exposure of a side is the largest share of its own runs that one document has.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import methodcaller
from typing import Literal

import numpy as np

from assay.corpora import Origin
from assay.provenance import Searchable, SearchMethod
from assay_lab.bugs.benchmark_traces import canonical_form
from assay_lab.bugs.content import (
    ContentEvidence,
    ContentSide,
    PossibleCopies,
    candidates_for,
    evidence_among,
    texts_of_bug,
)
from assay_lab.bugs.pairs import SamplePair, issue_of

Exposure = Literal["neither", "bug", "fix", "both", "cannot tell"]
EXPOSURES: tuple[Exposure, ...] = ("neither", "bug", "fix", "both", "cannot tell")

RUN = 20
"""Characters of a run: about five tokens, so that a changed operator is seen together with its operands."""

LEAST_SHARE = 0.5
"""Share of the runs of a side that a document must have."""


@dataclass(frozen=True, slots=True)
class SideEvidence:
    """Evidence that a corpus has one side of a bug rather than the other.

    Attributes:
        runs: number of runs that only this side has.
        share: largest share of them that one document has, 0 to 1.
        origins: all places of that document; empty where no document has any.
    """

    runs: int
    share: float
    origins: tuple[Origin, ...] = ()

    @property
    def document(self) -> str | None:
        """Return the path of that document; None where no document has any."""
        return self.origins[0].path if self.origins else None


@dataclass(frozen=True, slots=True)
class PairExposure:
    """Exposure of one bug, with the evidence for each side.

    Attributes:
        pair_id: of the bug.
        exposure: "neither", "bug", "fix", "both", or "cannot tell".
        fixed: evidence for the fixed side.
        buggy: evidence for the buggy side.
        reason: why nothing can be told; None for every other exposure.
        content: text of the bug → evidence that the corpus holds it.
    """

    pair_id: str
    exposure: Exposure
    fixed: SideEvidence
    buggy: SideEvidence
    reason: str | None = None
    content: Mapping[ContentSide, ContentEvidence] = field(default_factory=dict)


def exposures(
    pairs: Sequence[SamplePair],
    index: Searchable,
    *,
    method: SearchMethod = "union",
    least_share: float = LEAST_SHARE,
    top: int = 5,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[PairExposure, ...]:
    """Search an index for both sides of every bug.

    Args:
        pairs: the bugs.
        index: of the corpus.
        method: see `assay.provenance.trace`.
        least_share: share of its own runs from which a side counts as present.
        top: documents that each side is compared with.
        progress: is called with the bugs done and their total.
    """
    results = []
    with index.snapshot():
        for done, pair in enumerate(pairs, 1):
            results.append(_exposure(pair, index, method=method, least_share=least_share, top=top))
            if progress is not None:
                progress(done, len(pairs))
    return tuple(results)


def own_runs(text: str, other: str, language: str | None) -> frozenset[bytes]:
    """Return the runs of a text that the other side of the bug does not have."""
    return _runs(text, language) - _runs(other, language)


def _exposure(
    pair: SamplePair, index: Searchable, *, method: SearchMethod, least_share: float, top: int
) -> PairExposure:
    language = pair.fixed.language
    candidates = _candidates(pair, index, method=method, top=top)
    content: dict[ContentSide, ContentEvidence] = {}
    for name, text in texts_of_bug(pair).items():
        content[name] = evidence_among(text, None if name == "issue" else language, candidates[name])
    fixed = own_runs(pair.fixed.text, pair.buggy.text, language)
    buggy = own_runs(pair.buggy.text, pair.fixed.text, language)
    too_short = candidates["fixed"].too_short or candidates["buggy"].too_short
    if not fixed or not buggy:
        side = "buggy" if fixed else "fixed"
        too_short = f"the {side} side has no text of its own: the sides differ in layout or comments, or are too short"
    if too_short is not None:
        return PairExposure(
            pair_id=pair.id,
            exposure="cannot tell",
            fixed=SideEvidence(len(fixed), 0.0),
            buggy=SideEvidence(len(buggy), 0.0),
            reason=too_short,
            content=content,
        )
    # both sides were looked up, so each is compared with the documents of both
    both = candidates["fixed"]
    runs = {number: _runs(document.text, document.language) for number, document in both.documents.items()}
    of_fixed, of_buggy = (_evidence(own, runs, both.origins) for own in (fixed, buggy))
    kinds: Mapping[tuple[bool, bool], Exposure] = {
        (False, False): "neither",
        (False, True): "bug",
        (True, False): "fix",
        (True, True): "both",
    }
    kind = kinds[of_fixed.share >= least_share, of_buggy.share >= least_share]
    return PairExposure(pair_id=pair.id, exposure=kind, fixed=of_fixed, buggy=of_buggy, content=content)


def _candidates(
    pair: SamplePair, index: Searchable, *, method: SearchMethod, top: int
) -> Mapping[ContentSide, PossibleCopies]:
    """Return the documents for each text of a bug; code is compared with the documents of both sides."""
    search = partial(candidates_for, index=index, method=method, top=top)
    sides = [search(side.text, language=pair.fixed.language) for side in (pair.fixed, pair.buggy)]
    documents = {**sides[0].documents, **sides[1].documents}
    origins = {**sides[0].origins, **sides[1].origins}
    fixed, buggy = (PossibleCopies(documents, origins, side.too_short) for side in sides)
    by_side: dict[ContentSide, PossibleCopies] = {"fixed": fixed, "buggy": buggy, "file": fixed}
    if issue := issue_of(pair):
        by_side["issue"] = search(issue, language=None)
    return by_side


def _evidence(
    own: frozenset[bytes], runs: Mapping[int, frozenset[bytes]], origins: Mapping[int, tuple[Origin, ...]]
) -> SideEvidence:
    shares = {number: len(own & of_document) / len(own) for number, of_document in runs.items()}
    best = max(shares, key=lambda number: shares[number], default=None)
    if best is None or not shares[best]:
        return SideEvidence(len(own), 0.0)
    return SideEvidence(len(own), shares[best], origins[best])


def _runs(text: str, language: str | None) -> frozenset[bytes]:
    units = canonical_form(text, "characters", language).units
    if len(units) < RUN:
        return frozenset()
    # a window for each place, without a copy of the text
    windows = np.lib.stride_tricks.sliding_window_view(units.astype(np.uint32), RUN)
    return frozenset(map(methodcaller("tobytes"), windows))


def counted_exposures(results: Iterable[PairExposure]) -> Mapping[Exposure, int]:
    """Return the number of bugs of each exposure, all of them listed."""
    counts = dict.fromkeys(EXPOSURES, 0)
    for result in results:
        counts[result.exposure] += 1
    return counts
