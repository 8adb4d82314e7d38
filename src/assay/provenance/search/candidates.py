"""The documents that a query is compared with, and the fingerprints that each shares with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.provenance.confidence import VECTOR, CalibrationTable, EvidenceRates
from assay.provenance.index import Searchable, StoredDocument
from assay.provenance.search.query import ChannelEvidence, SearchQuery, add_lookup
from assay.provenance.search.ranking import ChannelOverlap
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

    def searched(self, *, by_vector: bool = False) -> list[str]:
        """Return the channels of the search; with `by_vector` the vector alone."""
        channels: list[str] = []
        if not by_vector:
            channels += map(attrgetter("form"), self.evidence)
        if self.by_vector:
            channels.append(VECTOR)
        return channels

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
        others: the same in the other channels that share evidence.
        shared: fingerprints that are evidence and that both have.
    """

    channel: str
    jaccard: float
    containment: float
    cosine: float | None
    confidence: float | None
    at_limit: bool = False
    shared: int = 0
    others: tuple["Similarity", ...] = ()


def candidates_of(
    query: SearchQuery,
    index: Searchable,
    method: SearchMethod,
    most: int,
    *,
    nearest: int | None = None,
    exact: bool = False,
) -> Candidates:
    """Collect the candidates of a method, before the ranking.

    Args:
        query: to search for.
        index: that is searched.
        method: see `trace`.
        most: documents by fingerprints of each channel at most.
        nearest: documents by vector at most; None: as the profile of the index has it.
        exact: compare all vectors.

    Raises:
        CorpusIndexError: "hst" or "vector", and the index cannot be searched by vector.
    """
    evidence = query.evidence
    near, similarities = np.zeros(0, np.int64), np.zeros(0, np.float32)
    if method in {"hst", "vector"} or (method == "union" and index.finds_by_vector):
        # an index of others may know no exact search: it is asked for where it is wanted alone
        search = partial(index.candidates_by_vector, exact=True) if exact else index.candidates_by_vector
        near, similarities = search(query.text, nearest or index.profile.search.nearest)
    numbers = [np.zeros(0, np.int64), near]
    if method in {"union", "winnowing"}:
        lookups = {}
        for form, hashes in query.distinctive.items():
            if len(hashes):
                lookups[form] = index.overlap(form, hashes, candidates=most)
                numbers.append(lookups[form].documents)
        evidence = tuple(add_lookup(channel, lookups.get(channel.form)) for channel in evidence)
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
            overlap = ChannelOverlap(
                form=form,
                query=len(hashes),
                distinctive=len(distinctive),
                shared=shared,
                shared_distinctive=shared if same else index.shared(form, distinctive, documents),
                sizes=index.sizes(form, documents),
            )
            overlaps.append(overlap)
    return Candidates(documents, cosines, overlaps=tuple(overlaps), evidence=evidence)


def rates_of(
    candidates: Candidates, calibration: CalibrationTable | None, *, units: int, by_vector: bool = False
) -> EvidenceRates | None:
    """Return the rates at which unrelated code reaches the evidence of each candidate.

    Args:
        candidates: to be rated.
        calibration: of the rates, or None; see `IndexCalibration.table_for`.
        units: length of the query, for vectors.
        by_vector: use the vector alone.

    Returns:
        None where the evidence is not calibrated.
    """
    if calibration is None:
        return None
    return calibration.rates(channel_values(candidates, units), candidates.searched(by_vector=by_vector))


def channel_values(candidates: Candidates, units: int) -> dict[str, tuple[int, Float64Array]]:
    """Return length and values of the candidates in each channel with evidence, characters first and vectors last.

    A vector counts only for a text that has fingerprints: a closing brace is near to much.
    """
    values: dict[str, tuple[int, Float64Array]] = {
        overlap.form: (overlap.distinctive, overlap.distinctive_containment) for overlap in candidates.overlaps
    }
    if values and candidates.by_vector:
        values[VECTOR] = max(units, 1), np.nan_to_num(candidates.cosines)
    return values


def similarity_of(
    at: int, candidates: Candidates, rates: EvidenceRates | None, *, by_vector: bool = False
) -> Similarity:
    """Return the similarity of the candidate at one position, which must have evidence.

    Args:
        at: position of the candidate.
        candidates: all of them.
        rates: see `rates_of`.
        by_vector: describe it by the vector alone.
    """
    cosine = None if np.isnan(candidates.cosines[at]) else float(candidates.cosines[at])
    confidence, at_limit = None, False
    if rates is not None and not np.isnan(rates.rates[at]):
        confidence, at_limit = 1 - float(rates.rates[at]), bool(rates.at_limit[at])

    def similarity(overlap: ChannelOverlap, *others: Similarity) -> Similarity:
        return Similarity(
            channel=VECTOR if by_vector else overlap.form,
            jaccard=float(overlap.jaccard[at]),
            containment=float(overlap.containment[at]),
            cosine=cosine,
            confidence=confidence,
            at_limit=at_limit,
            shared=int(overlap.shared_distinctive[at]),
            others=others,
        )

    sharing = [overlap for overlap in candidates.overlaps if overlap.shared_distinctive[at]]
    if not sharing:
        return Similarity(VECTOR, 0.0, 0.0, cosine=cosine, confidence=confidence, at_limit=at_limit)
    best = _best_channel(at, sharing)
    if by_vector:
        return similarity(best)
    return similarity(best, *(similarity(overlap) for overlap in sharing if overlap is not best))


def _best_channel(at: int, sharing: Sequence[ChannelOverlap]) -> ChannelOverlap:
    """Return the channel that describes the copy: characters, unless tokens share clearly more (a renamed copy)."""
    # channels are in the order of their precision, characters first, so the first one that is nearly the best describes
    # it
    most = max(float(overlap.distinctive_containment[at]) for overlap in sharing)
    return next(overlap for overlap in sharing if overlap.distinctive_containment[at] >= NEARLY_AS_MUCH * most)


Rated = tuple[Similarity, StoredDocument]


def functions_before_files(matches: Sequence[Rated]) -> list[Rated]:
    """Return the matches with the best function of a file put before the file, where its evidence is equal.

    Args:
        matches: best first.
    """
    # each match lets the best function of its own file pass, if one stands behind it with equal evidence
    rest = list(matches)
    ordered: list[Rated] = []
    while rest:
        match = rest.pop(0)
        files = _files_of(match)
        for at, later in enumerate(rest):
            if _is_equal(later, match) and files & _files_of(later):
                ordered.append(rest.pop(at))
                break
        ordered.append(match)
    return ordered


def _files_of(match: Rated) -> set[tuple[str, str]]:
    return {(origin.source, origin.path) for origin in match[1].origins}


def _is_equal(function: Rated, file: Rated) -> bool:
    """Return True for a function and a file with nearly as many fingerprints, or with the same confidence.

    At the limit of the calibration confidences are equal whatever the evidence, so they do not count there.
    """
    if (function[1].kind, file[1].kind) != ("function", "file"):
        return False
    of_function, of_file = function[0], file[0]
    if of_file.channel == VECTOR:  # the cosines decided already
        return False
    if of_function.containment >= NEARLY_AS_MUCH * of_file.containment:
        return True
    if of_function.confidence is None or of_file.confidence is None or of_file.at_limit:
        return False
    return of_function.confidence >= of_file.confidence
