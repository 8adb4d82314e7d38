"""A text → the documents that it may come from, best first, with what stands where and how much that means.

`hst` is HybridSourceTracker: the nearest by vector, re-ranked by fingerprints. `union` takes the nearest by vector AND
those by fingerprints, so that neither stage loses what the other finds, and re-ranks them all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from assay.errors import AssayError
from assay.provenance.boilerplate import NOTHING, Boilerplate, default_boilerplate
from assay.provenance.candidates import Candidates, Method, Similarity, candidates_of, similarity_of
from assay.provenance.confidence import Calibration
from assay.provenance.document import Origin
from assay.provenance.evidence import ChannelEvidence, Query, read_query
from assay.provenance.ranking import RankBy, by_vector, ranked
from assay.provenance.searchable import Searchable
from assay.provenance.spans import spans
from assay.provenance.stored import StoredDocument
from assay.retrieval import CANDIDATES, Fingerprints, Ids, fingerprint
from assay.types import Float64Array, Match, Span

TIED = 100
"""Documents with the keys of the last match that are looked at to choose among them by their paths."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What is known of where a text comes from.

    Attributes:
        matches: best first.
        origins: all places of each matched document, by its number.
        method: that was asked for.
        language: that the text was read in, or None.
        units: length of the text without comments and layout, in tokens where the profile has them.
        evidence: what became of the fingerprints, channel by channel.
        candidates: documents that were compared.
        below: of them, those with some evidence that fell to a threshold.
        too_short: why fingerprints can say nothing; None where they can.
        notes: what else a reader has to know, a sentence each.
    """

    matches: tuple[Match, ...]
    origins: Mapping[int, tuple[Origin, ...]]
    method: Method
    language: str | None
    units: int
    evidence: tuple[ChannelEvidence, ...]
    candidates: int = 0
    below: int = 0
    too_short: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def why_none(self) -> str | None:
        """Why there is no match, in one sentence; None where there is one."""
        if self.matches:
            return None
        if self.too_short:
            return self.too_short
        if self.below:
            some = "1 document shares" if self.below == 1 else f"{self.below} documents share"
            return f"{some} something with it, less than the thresholds ask for"
        if not any(one.telling for one in self.evidence):
            return "all of it that has a fingerprint is boilerplate"
        if any(one.too_common for one in self.evidence) and not any(one.looked_up for one in self.evidence):
            return "those of its fingerprints that the index has stand in more documents than are read"
        return "no document of the index shares a fingerprint with it that is no boilerplate"


@dataclass(frozen=True, eq=False)
class RankedCandidates:
    """The documents that a text is compared with, in order.

    Attributes:
        query: the text as it was read.
        candidates: the documents and how they stand.
        order: int64 [e], positions of the candidates that have evidence, from best to worst.
        keys: what decided, each [c] by position, the first one first: equal in all means equal in rank.
    """

    query: Query
    candidates: Candidates
    order: Ids
    keys: tuple[Float64Array, ...]


def trace(
    text: str,
    index: Searchable,
    *,
    language: str | None = None,
    method: Method = "union",
    top: int = 10,
    candidates: int = CANDIDATES,
    gate: int | None = None,
    rank_by: RankBy | None = None,
    min_similarity: float = 0.0,
    min_confidence: float = 0.0,
    boilerplate: Boilerplate | None = None,
    calibration: Calibration | None = None,
) -> Trace:
    """Where a text may come from.

    A match shares fingerprints that are no boilerplate, or has a near vector. Matches by vector alone come last.

    Args:
        text: source code, a fragment or a file.
        index: of the corpus; opened with its encoder where vectors are wanted.
        language: as `Sample.language` spells it; None is read by neutral rules, as documents of no language are.
        method: "winnowing": candidates by fingerprints. "vector": by vector, and ranked so. "hst": by vector, ranked
            by fingerprints. "union": both candidate sets, ranked by fingerprints; without vectors, as "winnowing".
        top: matches at most.
        candidates: documents by fingerprints of each channel at most.
        gate: documents by vector at most, nearest first; None: 400, for the profile "paper" 100, as the paper has it.
        rank_by: see `ranking.ranked`; None: "jaccard" for the profile "paper", as the paper has it, else "length".
        min_similarity: least containment, of a match by vector alone least cosine.
        min_confidence: least confidence. What is not calibrated does not fall to it, but for matches by vector alone.
        boilerplate: what is ignored; None: the shipped list and what is common in the index, nothing for "paper", which
            has a rule of its own.
        calibration: of the confidence; None: that of the index, else the shipped one of its profile. Its rates of
            vectors hold only where the index has vectors of the encoder that they were measured with.

    Raises:
        AssayError: no such method or rank_by, or top, candidates or gate below 1.
        CorpusIndexError: "hst" or "vector" of an index that cannot be searched by vector; or it is damaged.
        DataError: the calibration of the index cannot be read.
    """
    _check_top(top)
    if calibration is None:
        calibration = index.calibration()
    calibration = calibration and calibration.fitting(index.encoder_digest)
    with index.snapshot():
        ranking = rank_candidates(
            text,
            index,
            language=language,
            method=method,
            candidates=candidates,
            gate=gate,
            rank_by=rank_by,
            boilerplate=boilerplate,
        )
        query, found, keys = ranking.query, ranking.candidates, ranking.keys
        kept: list[tuple[int, Similarity]] = []
        below = 0
        for at in ranking.order.tolist():
            near = similarity_of(at, found, calibration, units=query.units, by_vector=method == "vector")
            if _enough(near, min_similarity, min_confidence):
                kept.append((at, near))
            else:
                below += 1
        chosen = _stored(kept, keys, found, index, top)
    return Trace(
        matches=tuple(_match(near, document, query) for near, document in chosen),
        origins={document.id: document.origins for _, document in chosen},
        method=method,
        language=language,
        units=query.units,
        evidence=found.evidence,
        candidates=len(found.documents),
        below=below,
        too_short=query.too_short,
        notes=_notes(index, method, calibration),
    )


def rank_candidates(
    text: str,
    index: Searchable,
    *,
    language: str | None = None,
    method: Method = "union",
    candidates: int = CANDIDATES,
    gate: int | None = None,
    rank_by: RankBy | None = None,
    boilerplate: Boilerplate | None = None,
) -> RankedCandidates:
    """Return the documents of an index that a text is compared with, best first: a trace without its matches.

    Call it within `index.snapshot()`, so that it sees one state of the index.

    The arguments and errors are those of `trace`.
    """
    _check(method, rank_by, candidates, gate)
    is_paper = index.profile.name == "paper"
    if boilerplate is None:
        boilerplate = NOTHING if is_paper else default_boilerplate()
    query = read_query(text, language, index, boilerplate)
    found = candidates_of(query, index, method, candidates, gate=gate)
    if method == "vector":
        order, keys = by_vector(found.cosines)
    else:
        order, keys = ranked(found.standings, found.cosines, rank_by or ("jaccard" if is_paper else "length"))
    return RankedCandidates(query, found, order[found.have_evidence[order]], tuple(keys))


def _check(method: str, rank_by: str | None, candidates: int, gate: int | None) -> None:
    if method not in get_args(Method):
        raise AssayError(f"method {method!r}: expected one of {', '.join(get_args(Method))}")
    if rank_by is not None and rank_by not in get_args(RankBy):
        raise AssayError(f"rank_by {rank_by!r}: expected one of {', '.join(get_args(RankBy))}")
    if min(candidates, 1 if gate is None else gate) < 1:
        raise AssayError(f"received candidates {candidates} and gate {gate}, expected at least 1 of each")


def _check_top(top: int) -> None:
    if top < 1:
        raise AssayError(f"received top {top}, expected at least 1")


def _enough(near: Similarity, min_similarity: float, min_confidence: float) -> bool:
    if near.channel == "vector":
        confidence = near.confidence or 0.0
        return (near.cosine or 0.0) >= min_similarity and confidence >= min_confidence
    return near.containment >= min_similarity and (near.confidence is None or near.confidence >= min_confidence)


def _stored(
    kept: Sequence[tuple[int, Similarity]], keys: Sequence[Float64Array], found: Candidates, index: Searchable, top: int
) -> list[tuple[Similarity, StoredDocument]]:
    """The best documents; equal ones by path, so that the order of adding shows nowhere."""
    last = kept[:top][-1:]
    tied = [one for one in kept[top : top + TIED] if last and all(key[one[0]] == key[last[0][0]] for key in keys)]
    looked_at = [*kept[:top], *tied]
    documents = {one.id: one for one in index.documents([int(found.documents[at]) for at, _ in looked_at])}
    pairs = [
        (tuple(-key[at] for key in keys), near, documents[number])
        for at, near in looked_at
        if (number := int(found.documents[at])) in documents
    ]
    pairs.sort(key=lambda pair: (pair[0], _place(pair[2])))
    return [(near, document) for _, near, document in pairs[:top]]


def _place(document: StoredDocument) -> tuple[str, str, int, str]:
    first = document.origins[0]
    return first.path, first.source, first.first_line, document.digest


def _match(near: Similarity, document: StoredDocument, query: Query) -> Match:
    first = document.origins[0]
    return Match(
        document_id=document.id,
        path=first.path,
        similarity=near.jaccard,
        containment=near.containment,
        spans=_spans(near.channel, document, query),
        licence=first.licence,
        author=first.author,
        url=first.url,
        channel=near.channel,
        repository=first.repository,
        name=document.name,
        origins=len(document.origins),
        confidence=near.confidence,
        cosine=near.cosine,
    )


def _spans(channel: str, document: StoredDocument, query: Query) -> tuple[Span, ...]:
    """In the channel of the match; of a match by vector in the first channel that shares something."""
    for form, of_query in query.fingerprints.items():
        if channel in {form, "vector"} and isinstance(of_query, Fingerprints):
            alone = replace(query.profile, channels=(of_query.channel,))
            of_document = fingerprint(document.text, document.language, alone)[form]
            if isinstance(of_document, Fingerprints) and (
                found := spans(of_query, of_document, document.origins[0].first_line)
            ):
                return found
    return ()


def _notes(index: Searchable, method: Method, calibration: Calibration | None) -> tuple[str, ...]:
    notes = []
    if method == "union" and not index.finds_by_vector:
        notes.append("not searched by vector: the index has no vectors or was opened without its encoder")
    if calibration is None:
        notes.append(f"no confidence: profile {index.profile.name!r} was not calibrated; see `assay index calibrate`")
    elif method != "winnowing" and index.finds_by_vector and "vector" not in calibration.channels:
        notes.append("no confidence by vector: this encoder was not calibrated; see `assay index calibrate`")
    return tuple(notes)
