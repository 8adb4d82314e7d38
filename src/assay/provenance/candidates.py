"""The documents that a query is compared with, and the fingerprints that each shares with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.provenance.confidence import CalibrationTable
from assay.provenance.evidence import ChannelEvidence, SearchQuery, with_lookup
from assay.provenance.ranking import ChannelOverlap
from assay.provenance.searchable import Searchable
from assay.retrieval import DocumentIds
from assay.types import Float64Array

SearchMethod = Literal["union", "hst", "winnowing", "vector"]

NEARLY_AS_MUCH = 0.8
"""Share of the best containment that characters need to be reported instead of tokens.

A copied fragment loses the fingerprints at its two ends, and one channel may lose a few more than the other.
"""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Documents of an index, and what each shares with a query.

    Attributes:
        documents: int64 [c], ascending.
        cosines: float64 [c], NaN where a document is not among the nearest by vector.
        overlaps: of the channels in which the query has evidence.
        evidence: counts of the query's fingerprints.
    """

    documents: DocumentIds
    cosines: Float64Array
    overlaps: tuple[ChannelOverlap, ...]
    evidence: tuple[ChannelEvidence, ...]

    @cached_property
    def by_vector(self) -> bool:
        """True if a candidate is among the nearest by vector."""
        return not bool(np.isnan(self.cosines).all())

    @property
    def have_evidence(self) -> NDArray[np.bool_]:
        """True for each candidate with a near vector, or with a shared fingerprint that is not boilerplate, [c]."""
        evidence = ~np.isnan(self.cosines)
        for overlap in self.overlaps:
            evidence |= overlap.shared_distinctive > 0
        return evidence


@dataclass(frozen=True, slots=True)
class Similarity:
    """Similarity of one candidate, in the channel that shows it best.

    Attributes:
        channel: "characters", "tokens" or "vector".
        jaccard: |Q ∩ D| / |Q ∪ D|.
        containment: |Q ∩ D| / |Q|.
        cosine: of the vectors, or None.
        confidence: 1 - false-positive rate, or None.
        at_limit: see `Match`.
    """

    channel: str
    jaccard: float
    containment: float
    cosine: float | None
    confidence: float | None
    at_limit: bool = False


def candidates_of(
    query: SearchQuery, index: Searchable, method: SearchMethod, most: int, *, gate: int | None = None
) -> Candidates:
    """Collect the candidates of a method, before the ranking.

    Args:
        query: to search for.
        index: that is searched.
        method: see `trace`.
        most: documents by fingerprints of each channel at most.
        gate: documents by vector at most; None: as the profile of the index has it.

    Raises:
        CorpusIndexError: "hst" or "vector", and the index cannot be searched by vector.
    """
    evidence = query.evidence
    near, similarities = np.zeros(0, np.int64), np.zeros(0, np.float32)
    if method in {"hst", "vector"} or (method == "union" and index.finds_by_vector):
        near, similarities = index.candidates_by_vector(query.text, gate or index.profile.search.gate)
    numbers = [np.zeros(0, np.int64), near]
    if method in {"union", "winnowing"}:
        lookups = {
            form: index.overlap(form, hashes, candidates=most)
            for form, hashes in query.distinctive.items()
            if len(hashes)
        }
        evidence = tuple(with_lookup(channel, lookups.get(channel.form)) for channel in evidence)
        numbers += [lookup.documents for lookup in lookups.values()]
    documents = np.unique(np.concatenate(numbers))
    cosines = np.full(len(documents), np.nan)
    # `near` is a subset of the ascending `documents`, so the binary search gives the exact positions
    cosines[np.searchsorted(documents, near)] = similarities
    overlaps = []
    for form, distinctive in query.distinctive.items():
        if len(distinctive):
            hashes = query.distinct[form]
            shared = index.shared(form, hashes, documents)
            # without boilerplate both sets are the same, and the second look-up is saved
            same = len(distinctive) == len(hashes)
            shared_distinctive = shared if same else index.shared(form, distinctive, documents)
            sizes = index.sizes(form, documents)
            overlaps.append(ChannelOverlap(form, len(hashes), len(distinctive), shared, shared_distinctive, sizes))
    return Candidates(documents, cosines, tuple(overlaps), evidence)


def similarity_of(
    at: int,
    candidates: Candidates,
    calibration: CalibrationTable | None,
    *,
    units: int,
    by_vector: bool = False,
) -> Similarity:
    """Return the similarity of the candidate at one position, which must have evidence.

    The false-positive rate is the smallest over the channels, times the number of channels that were examined
    (Bonferroni's correction). A near vector is one of them, so it may raise the confidence of a match by fingerprints.

    Args:
        at: position of the candidate.
        candidates: all of them.
        calibration: of the rates, or None; see `IndexCalibration.table_for`.
        units: length of the query, for the rate of a vector.
        by_vector: use the vector alone.
    """
    cosine = None if np.isnan(candidates.cosines[at]) else float(candidates.cosines[at])
    has_vectors = calibration is not None and "vector" in calibration.channels and candidates.by_vector
    channels = len(candidates.overlaps) + has_vectors
    by_cosine = None if calibration is None or cosine is None else calibration.rate("vector", max(units, 1), cosine)
    best = _best_channel(at, candidates.overlaps)
    if best is not None and not by_vector:
        rates: list[float] = []
        at_limit = False
        for overlap in candidates.overlaps:
            if calibration is not None and overlap.shared_distinctive[at]:
                length, share = overlap.distinctive, float(overlap.distinctive_containment[at])
                rate = calibration.rate(overlap.form, length, share)
                rates += [] if rate is None else [rate]
                at_limit |= calibration.is_least(overlap.form, length, share)
        confidence = _confidence(rates if by_cosine is None else [*rates, by_cosine], channels)
        jaccard, containment = float(best.jaccard[at]), float(best.containment[at])
        return Similarity(best.form, jaccard, containment, cosine, confidence, at_limit)
    confidence = _confidence([] if by_cosine is None else [by_cosine], 1 if by_vector else channels)
    jaccard, containment = (float(best.jaccard[at]), float(best.containment[at])) if best else (0.0, 0.0)
    return Similarity("vector", jaccard, containment, cosine, confidence)


def _best_channel(at: int, overlaps: Sequence[ChannelOverlap]) -> ChannelOverlap | None:
    """Return the channel that describes the copy: characters, unless tokens share clearly more (a renamed copy)."""
    sharing = [overlap for overlap in overlaps if overlap.shared_distinctive[at]]
    if not sharing:
        return None
    most = max(float(overlap.distinctive_containment[at]) for overlap in sharing)
    return next(overlap for overlap in sharing if overlap.distinctive_containment[at] >= NEARLY_AS_MUCH * most)


def _confidence(rates: Sequence[float], channels: int) -> float | None:
    return 1 - min(1.0, channels * min(rates)) if rates else None
