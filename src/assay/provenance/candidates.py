"""The documents that a query is compared with, and what each shares with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.provenance.confidence import Calibration
from assay.provenance.evidence import ChannelEvidence, Query, with_lookup
from assay.provenance.ranking import Standing
from assay.provenance.searchable import Searchable
from assay.retrieval import Ids
from assay.types import Float64Array

Method = Literal["union", "hst", "winnowing", "vector"]

GATE, PAPER_GATE = 400, 100
"""Documents that are taken by vector, the nearest. HybridSourceTracker takes 100: too few where hundreds of functions
look like a fragment."""

NEARLY = 0.8
"""Of a copy that was cut out, the ends cost one channel a little more than the other."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Documents of an index and how they stand.

    Attributes:
        documents: int64 [c], ascending.
        cosines: float64 [c], NaN where a document is not among the nearest by vector.
        standings: of the channels in which the query has evidence.
        evidence: what became of the query's fingerprints.
    """

    documents: Ids
    cosines: Float64Array
    standings: tuple[Standing, ...]
    evidence: tuple[ChannelEvidence, ...]

    @cached_property
    def by_vector(self) -> bool:
        """Whether any of them was found by vector."""
        return not bool(np.isnan(self.cosines).all())

    @property
    def have_evidence(self) -> NDArray[np.bool_]:
        """Whether each has a near vector, or shares a fingerprint with the query that is no boilerplate, [c]."""
        evidence = ~np.isnan(self.cosines)
        for standing in self.standings:
            evidence |= standing.shared_telling > 0
        return evidence


@dataclass(frozen=True, slots=True)
class Similarity:
    """How near one candidate is, in the channel that tells it.

    Attributes:
        channel: "characters", "tokens" or "vector".
        jaccard: |Q ∩ D| / |Q ∪ D|.
        containment: |Q ∩ D| / |Q|.
        cosine: of the vectors, or None.
        confidence: 1 - false-positive rate, or None.
    """

    channel: str
    jaccard: float
    containment: float
    cosine: float | None
    confidence: float | None


def candidates_of(query: Query, index: Searchable, method: Method, most: int, *, gate: int | None = None) -> Candidates:
    """Both stages of a method before the ranking.

    Args:
        query: what is looked for.
        index: that is searched.
        method: see `trace`.
        most: documents by fingerprints of each channel at most.
        gate: documents by vector at most; None: 400, with the profile "paper" 100, as the paper has it.

    Raises:
        CorpusIndexError: "hst" or "vector", and the index cannot be searched by vector.
    """
    evidence = query.evidence
    near, similarities = np.zeros(0, np.int64), np.zeros(0, np.float32)
    if method in {"hst", "vector"} or (method == "union" and index.finds_by_vector):
        gate = gate or (PAPER_GATE if index.profile.name == "paper" else GATE)
        near, similarities = index.candidates_by_vector(query.text, gate)
    found = [np.zeros(0, np.int64), near]
    if method in {"union", "winnowing"}:
        overlaps = {
            form: index.overlap(form, hashes, candidates=most) for form, hashes in query.telling.items() if len(hashes)
        }
        evidence = tuple(with_lookup(one, overlaps[one.form]) if one.form in overlaps else one for one in evidence)
        found += [one.documents for one in overlaps.values()]
    documents = np.unique(np.concatenate(found))
    cosines = np.full(len(documents), np.nan)
    cosines[np.searchsorted(documents, near)] = similarities
    standings = []
    for form, telling in query.telling.items():
        if len(telling):
            hashes = query.distinct[form]
            shared = index.shared(form, hashes, documents)
            of_telling = shared if len(telling) == len(hashes) else index.shared(form, telling, documents)
            sizes = index.sizes(form, documents)
            standings.append(Standing(form, len(hashes), len(telling), shared, of_telling, sizes))
    return Candidates(documents, cosines, tuple(standings), evidence)


def similarity_of(
    at: int, found: Candidates, calibration: Calibration | None, *, units: int, by_vector: bool = False
) -> Similarity:
    """Return how near the candidate at one position is; it has to have evidence.

    The false-positive rate is the smallest over the channels, times the number of channels that were looked at, as
    Bonferroni has it. A near vector counts among them, so it may make a match of fingerprints surer.

    Args:
        at: position of the candidate.
        found: all of them.
        calibration: of the rates, or None; see `Calibration.fitting`.
        units: length of the query, for the rate of a vector.
        by_vector: take the vector alone.
    """
    cosine = None if np.isnan(found.cosines[at]) else float(found.cosines[at])
    has_vectors = calibration is not None and "vector" in calibration.channels and found.by_vector
    channels = len(found.standings) + has_vectors
    by_cosine = None if calibration is None or cosine is None else calibration.rate("vector", max(units, 1), cosine)
    standing = _telling(at, found.standings)
    if standing is not None and not by_vector:
        rates = [
            calibration.rate(one.form, one.telling, float(one.telling_containment[at]))
            for one in found.standings
            if calibration is not None and one.shared_telling[at]
        ]
        confidence = _confidence([rate for rate in (*rates, by_cosine) if rate is not None], channels)
        jaccard, containment = float(standing.jaccard[at]), float(standing.containment[at])
        return Similarity(standing.form, jaccard, containment, cosine, confidence)
    confidence = _confidence([] if by_cosine is None else [by_cosine], 1 if by_vector else channels)
    jaccard, containment = (float(standing.jaccard[at]), float(standing.containment[at])) if standing else (0.0, 0.0)
    return Similarity("vector", jaccard, containment, cosine, confidence)


def _telling(at: int, standings: Sequence[Standing]) -> Standing | None:
    """The channel that says how a candidate came to be like the query: characters, unless tokens say clearly more."""
    having = [one for one in standings if one.shared_telling[at]]
    if not having:
        return None
    most = max(float(one.telling_containment[at]) for one in having)
    return next(one for one in having if one.telling_containment[at] >= NEARLY * most)


def _confidence(rates: Sequence[float], channels: int) -> float | None:
    return 1 - min(1.0, channels * min(rates)) if rates else None
