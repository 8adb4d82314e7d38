"""The documents that a query is compared with, and what each shares with it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.provenance.confidence import Calibration
from assay.provenance.evidence import ChannelEvidence, Query, with_lookup
from assay.provenance.index import CodeIndex
from assay.provenance.ranking import Standing, Values
from assay.retrieval.vectors import Ids

Method = Literal["union", "hst", "winnowing", "vector"]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Documents of an index and how they stand.

    Attributes:
        documents: int64 [c], ascending.
        cosines: float64 [c], NaN where a document is not among the nearest by vector.
        standings: of the channels in which the query has evidence.
        evidence: what became of the query's fingerprints.
    """

    documents: Ids
    cosines: Values
    standings: tuple[Standing, ...]
    evidence: tuple[ChannelEvidence, ...]


@dataclass(frozen=True, slots=True)
class Similarity:
    """How near one candidate is, in the channel that says most.

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


def candidates_of(query: Query, index: CodeIndex, method: Method, most: int) -> Candidates:
    """Both stages of a method before the ranking; at most so many documents a stage and channel.

    Raises:
        CorpusIndexError: "hst" or "vector", and the index cannot be searched by vector.
    """
    evidence = query.evidence
    near, similarities = np.zeros(0, np.int64), np.zeros(0, np.float32)
    if method in {"hst", "vector"} or (method == "union" and index.finds_by_vector):
        near, similarities = index.candidates_by_vector(query.text, most)
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
) -> Similarity | None:
    """How near the candidate at one position is; None where nothing speaks for it.

    Of several channels with evidence the one with the smallest false-positive rate counts, then the one that contains
    more, then characters. The rate is multiplied by the number of channels that were looked at, as Bonferroni has it.

    Args:
        at: position of the candidate.
        found: all of them.
        calibration: of the rates, or None. Rates of vectors only where it was measured with this index's encoder.
        units: length of the query, for the rate of a vector.
        by_vector: take the vector alone.
    """
    cosine = None if np.isnan(found.cosines[at]) else float(found.cosines[at])
    vectors = calibration is not None and "vector" in calibration.channels and not np.isnan(found.cosines).all()
    channels = len(found.standings) + vectors
    best: tuple[float, float, Standing] | None = None
    for one in found.standings:
        if one.shared_telling[at]:
            value = float(one.telling_containment[at])
            rate = calibration.rate(one.form, one.telling, value) if calibration else None
            mine = (2.0 if rate is None else rate, -value, one)
            if best is None or mine[:2] < best[:2]:
                best = mine
    if best is not None and not by_vector:
        rate, _, one = best
        confidence = None if rate > 1 else 1 - min(1.0, channels * rate)
        return Similarity(one.form, float(one.jaccard[at]), float(one.containment[at]), cosine, confidence)
    if cosine is None:
        return None
    rate_of_vector = calibration.rate("vector", max(units, 1), cosine) if calibration else None
    confidence = None if rate_of_vector is None else 1 - min(1.0, (1 if by_vector else channels) * rate_of_vector)
    jaccard, containment = (float(best[2].jaccard[at]), float(best[2].containment[at])) if best else (0.0, 0.0)
    return Similarity("vector", jaccard, containment, cosine, confidence)
