"""A text → the documents that it may come from, best first, with the matching lines and a confidence.

`hst` is HybridSourceTracker: the nearest documents by vector, ranked again by fingerprints. `union` takes the nearest
by vector AND those by fingerprints, so that neither stage loses what the other finds, and ranks them all. A text
without a language is traced in the one that it shows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import get_args

import numpy as np

from assay.code import languages_of_text
from assay.errors import AssayError
from assay.languages import language_named, languages_with
from assay.provenance.confidence import CalibrationTable, IndexCalibration
from assay.provenance.index import Connected, Searchable, StoredDocument
from assay.provenance.search.boilerplate import Boilerplate, boilerplate_of
from assay.provenance.search.candidates import (
    Candidates,
    Rated,
    SearchMethod,
    Similarity,
    candidates_of,
    functions_before_files,
    rates_of,
    similarity_of,
)
from assay.provenance.search.copies import copied_spans, least_evidence, rarities, weights_beside
from assay.provenance.search.query import SearchQuery, read_query
from assay.provenance.search.ranking import rank_by_fingerprints, rank_by_vector
from assay.provenance.search.result import Trace
from assay.provenance.search.spans import spans
from assay.provenance.settings import Thresholds
from assay.retrieval import CANDIDATES, DocumentIds, Fingerprints, Form, RankBy, fingerprint
from assay.types import Float64Array, Match, Span

Kept = tuple[int, int, Similarity]
"""Number of a document, its position among the candidates, and what it shares with the query."""

MOST_TIED = 100
"""Documents with the same keys as the last match that are read to choose among them by their paths."""

LITTLE = 0.2
"""Containment below which the last matches make room for the nearest by vector: by chance many documents have some."""

FUNCTIONS_BEHIND = 10
"""Documents behind the last match that are read, because a function may come before its file."""

SHOWS_A_LANGUAGE = 50_000
"""Characters of a text by which its language is found."""

EVERY_MATCH = Thresholds(min_confidence=0)
"""A search leaves nothing out, unless its caller asks for more."""


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Details of a search: its candidates, its order, its thresholds. None takes the setting of the index's profile.

    Attributes:
        thresholds: of the matches; similarity is the containment, of a match by vector alone the cosine.
        candidates: documents by fingerprints of each channel at most.
        nearest: documents by vector at most.
        exact: compare all vectors, not those that the graph of the index proposes.
        rank_by: order of the matches; see `assay.provenance.search.ranking`.
        boilerplate: code that is ignored.
        calibration: of the confidence; None: that of the index, else the shipped one of its profile. Its rates of
            vectors are used only if the index has vectors of the encoder that they were measured with.
    """

    thresholds: Thresholds = EVERY_MATCH
    candidates: int = CANDIDATES
    nearest: int | None = None
    exact: bool = False
    rank_by: RankBy | None = None
    boilerplate: Boilerplate | None = None
    calibration: IndexCalibration | None = None


@dataclass(frozen=True, eq=False)
class RankedCandidates:
    """The documents that a text is compared with, in order.

    Attributes:
        query: the text with its fingerprints.
        candidates: the documents, and what each shares with the text.
        order: int64 [e], positions of the candidates that have evidence, from best to worst.
        keys: of the order, each [c] by position, the first one first: candidates with equal keys have the same rank.
    """

    query: SearchQuery
    candidates: Candidates
    order: DocumentIds
    keys: tuple[Float64Array, ...]


def trace(
    text: str,
    index: Searchable,
    *,
    language: str | None = None,
    method: SearchMethod = "union",
    top: int = 10,
    settings: TraceSettings | None = None,
    also: Callable[[StoredDocument], bool] | None = None,
) -> Trace:
    """Trace a text to the documents of an index that it may come from.

    A match shares fingerprints that are not boilerplate, or has a near vector. Matches by vector alone come last.

    Args:
        text: source code, a fragment or a file.
        index: of the corpus; opened with its encoder if vectors are to be used.
        language: as `Sample.language` spells it; None is read by neutral rules, as documents without a language are.
        method: "winnowing": candidates by fingerprints. "vector": by vector, and ranked by it. "hst": by vector, ranked
            by fingerprints. "union": both candidate sets, ranked by fingerprints; without vectors, as "winnowing".
        top: matches at most.
        settings: see `TraceSettings`.
        also: further matches that are returned behind the `top` ones: those whose document it accepts.

    Raises:
        AssayError: method or rank_by is unknown, or top, candidates or nearest is below 1.
        CorpusIndexError: "hst" or "vector" with an index that cannot be searched by vector; or the index is damaged.
        DataError: the calibration of the index cannot be read.
    """
    settings = settings or TraceSettings()
    if top < 1:
        raise AssayError(f"received top {top}, expected at least 1")
    # all of it in one snapshot: a candidate's number must mean the same document from the first look-up to the last
    with index.snapshot():
        table = _table(index, settings, language)
        ranking = rank_candidates(text, index, language=language, method=method, settings=settings)
        query, candidates = ranking.query, ranking.candidates
        by_vector = method == "vector"
        is_covered = table is None or table.covers(candidates.searched(by_vector=by_vector))
        rates = rates_of(candidates, table if is_covered else None, units=query.units, by_vector=by_vector)
        kept: list[Kept] = []
        for at in ranking.order.tolist():
            near = similarity_of(at, candidates, rates, by_vector=by_vector)
            if _reaches(near, settings.thresholds) or _may_be_copy(near, query.units, settings.thresholds):
                kept.append((int(candidates.documents[at]), at, near))
        chosen = _best_documents(kept, ranking.keys, index, top=top)
        if method == "union":
            chosen = _with_nearest(chosen, kept, index, top=top)
        if also is not None:
            chosen += _further_documents(chosen, kept, index, also=also)
        weights = rarities(query, index) if chosen else {}
    matches = []
    origins = {}
    for near, document in chosen:
        match = _match(near, document, query, weights=weights)
        if _reaches(near, settings.thresholds) or _is_copy(match, query):
            matches.append(match)
            origins[document.id] = document.origins
    return Trace(
        matches=tuple(matches),
        origins=origins,
        method=method,
        language=language,
        units=query.units,
        evidence=candidates.evidence,
        candidates=len(candidates.documents),
        # left out before the documents were read, and after
        below=len(ranking.order) - len(kept) + len(chosen) - len(matches),
        too_short=query.too_short,
        notes=_notes(index, method, language, table=table, is_covered=is_covered)
        + _notes_on_vectors(index, method, settings),
        calibrated=table is not None and is_covered,
    )


def rank_candidates(
    text: str,
    index: Searchable,
    *,
    language: str | None = None,
    method: SearchMethod = "union",
    settings: TraceSettings | None = None,
) -> RankedCandidates:
    """Return the documents of an index that a text is compared with, best first: a trace without its matches.

    Call it within `index.snapshot()`, so that it sees one state of the index.

    The arguments and errors are those of `trace`; thresholds and calibration do not matter.
    """
    settings = settings or TraceSettings()
    _check(method, settings)
    boilerplate = boilerplate_of(index.profile) if settings.boilerplate is None else settings.boilerplate
    query = read_query(text, language, index, boilerplate=boilerplate)
    candidates = candidates_of(
        query, index, method, most=settings.candidates, nearest=settings.nearest, exact=settings.exact
    )
    if method == "vector":
        order, keys = rank_by_vector(candidates.cosines)
    else:
        rank_by = settings.rank_by or index.profile.search.rank_by
        order, keys = rank_by_fingerprints(candidates.overlaps, candidates.cosines, rank_by)
    return RankedCandidates(query, candidates, order=order[candidates.have_evidence[order]], keys=tuple(keys))


def _check(method: str, settings: TraceSettings) -> None:
    for name, value, choice in (("method", method, SearchMethod), ("rank_by", settings.rank_by, RankBy)):
        if value is not None and value not in get_args(choice):
            raise AssayError(f"{name} {value!r}: expected one of {', '.join(get_args(choice))}")
    if settings.candidates < 1 or (settings.nearest is not None and settings.nearest < 1):
        received = f"candidates {settings.candidates} and nearest {settings.nearest}"
        raise AssayError(f"received {received}, expected at least 1 of each")


def _reaches(near: Similarity, thresholds: Thresholds) -> bool:
    similarity = near.cosine or 0.0 if near.channel == "vector" else near.containment
    # a confidence that was not measured is not sure: it reaches the threshold 0 alone
    return similarity >= thresholds.min_similarity and (near.confidence or 0.0) >= thresholds.min_confidence


def _may_be_copy(near: Similarity, tokens: int, thresholds: Thresholds) -> bool:
    """Return True where enough fingerprints are shared for a copy; what lies in one stretch is known later."""
    return near.containment >= thresholds.min_similarity and any(
        each.shared >= least_evidence(each.channel, each.containment, tokens) for each in (near, *near.others)
    )


def _best_documents(kept: Sequence[Kept], keys: Sequence[Float64Array], index: Searchable, top: int) -> list[Rated]:
    """Return the best documents; equal ones are ordered by path, so the order of adding does not matter.

    A function comes before its file where both have equal evidence.
    """
    # only the documents that can still change the first `top` are read from the catalogue
    contenders = list(kept[:top])
    values = np.stack(keys)
    if contenders:
        # documents that tie with the last match compete for its place, so they are read too
        last = values[:, contenders[-1][1]]
        tied = [entry for entry in kept[top : top + MOST_TIED] if np.array_equal(values[:, entry[1]], last)]
        # so are the next ones: among them may be a function that comes before its file
        contenders += tied or kept[top : top + FUNCTIONS_BEHIND]
    documents = {document.id: document for document in index.documents(list(map(itemgetter(0), contenders)))}
    # a server may remove a document between two requests, so a number may have no document any more
    present = [entry for entry in contenders if entry[0] in documents]
    present.sort(key=lambda entry: (*(-values[:, entry[1]]).tolist(), *_place(documents[entry[0]])))
    return functions_before_files([(near, documents[number]) for number, _, near in present])[:top]


def _with_nearest(chosen: list[Rated], kept: Sequence[Kept], index: Searchable, *, top: int) -> list[Rated]:
    """Return the documents with the nearest by vector, half of `top`, among them, in place of the last weak ones."""
    by_vector = [(near.cosine, number, near) for number, _, near in kept if near.cosine is not None]
    by_vector.sort(key=itemgetter(0), reverse=True)
    # half of `top`, rounded up
    nearest = {number: near for _, number, near in by_vector[: -(-top // 2)]}
    is_weak = [near.containment < LITTLE and document.id not in nearest for near, document in chosen]
    present = {document.id for _, document in chosen}
    absent = [number for number in nearest if number not in present][: sum(is_weak)]
    # the last weak ones make room
    weak_and_kept = sum(is_weak) - len(absent)
    remaining = []
    for pair, weak in zip(chosen, is_weak, strict=True):
        weak_and_kept -= weak
        if not weak or weak_and_kept >= 0:
            remaining.append(pair)
    return remaining + [(nearest[document.id], document) for document in index.documents(absent)]


def _further_documents(
    chosen: list[Rated], kept: Sequence[Kept], index: Searchable, *, also: Callable[[StoredDocument], bool]
) -> list[Rated]:
    """Return the other documents that `also` accepts, best first."""
    others = {number: near for number, _, near in kept}
    for _, document in chosen:
        others.pop(document.id, None)
    return [(others[document.id], document) for document in filter(also, index.documents(list(others)))]


def _place(document: StoredDocument) -> tuple[str, str, int, str]:
    first = document.origins[0]
    return first.path, first.source, first.first_line, document.digest


def _match(
    near: Similarity, document: StoredDocument, query: SearchQuery, *, weights: Mapping[Form, Float64Array]
) -> Match:
    """Return the match in the channel that describes it; where only another one shows a copy, in that one."""
    best = None
    for channel in (near, *near.others):
        match = _match_in(channel, document, query, weights=weights)
        if _is_copy(match, query):
            return match
        best = best or match
    return best or match


def _is_copy(match: Match, query: SearchQuery) -> bool:
    return bool(copied_spans(match, query.units, is_function=True))


def _match_in(
    near: Similarity, document: StoredDocument, query: SearchQuery, *, weights: Mapping[Form, Float64Array]
) -> Match:
    first = document.origins[0]
    return Match(
        document_id=document.id,
        path=first.path,
        similarity=near.jaccard,
        containment=near.containment,
        spans=_spans(near.channel, document, query, weights=weights),
        licence=first.licence,
        author=first.author,
        url=first.url,
        channel=near.channel,
        repository=first.repository,
        name=document.name,
        origins=len(document.origins),
        confidence=near.confidence,
        cosine=near.cosine,
        at_limit=near.at_limit,
    )


def _spans(
    channel: str, document: StoredDocument, query: SearchQuery, *, weights: Mapping[Form, Float64Array]
) -> tuple[Span, ...]:
    """Return the spans in the channel of the match; of a match by vector in the first channel that has any."""
    # an index keeps no places, so the few documents that are shown are fingerprinted again, in the channel that matters
    for form, of_query in query.fingerprints.items():
        if channel in {form, "vector"} and isinstance(of_query, Fingerprints):
            alone = replace(query.profile, channels=(of_query.channel,))
            of_document = fingerprint(document.text, document.language, alone)[form]
            first_line = document.origins[0].first_line
            if not isinstance(of_document, Fingerprints):
                continue
            evidence = weights_beside(
                query.text, of_query, weights[form], document_text=document.text, document=of_document
            )
            if stretches := spans(of_query, of_document, first_line=first_line, weights=evidence):
                return stretches
    return ()


def _table(index: Searchable, settings: TraceSettings, language: str | None) -> CalibrationTable | None:
    calibration = settings.calibration or index.calibration()
    if calibration is None:
        return None
    documents = index.languages().get(language, 0)
    return calibration.table_for(language, documents=documents, encoder_digest=index.encoder_digest)


def _notes(
    index: Searchable, method: SearchMethod, language: str | None, table: CalibrationTable | None, *, is_covered: bool
) -> tuple[str, ...]:
    notes = []
    code = language or "code of unknown language"
    if method == "union" and not index.finds_by_vector and index.encoder_digest is not None:
        notes.append("not searched by vector: the index was opened without its encoder")
    if table is None or not is_covered:
        measured = f"{code} with profile {index.profile.name!r}{' by fingerprints alone' * (not is_covered)}"
        notes.append(f"confidence not measured for {measured}; see `assay index calibrate`")
    elif method != "winnowing" and index.finds_by_vector and "vector" not in table.channels:
        notes.append(f"confidence by vector not measured for {code} with this encoder; see `assay index calibrate`")
    return tuple(notes)


def _notes_on_vectors(index: Searchable, method: SearchMethod, settings: TraceSettings) -> tuple[str, ...]:
    """Return a note where all vectors of a large index were compared, unless that was asked for."""
    if method == "winnowing" or settings.exact or not index.finds_by_vector or not isinstance(index, Connected):
        return ()
    return tuple(filter(None, [index.vector_note]))


def find_language(text: str, index: Searchable) -> str | None:
    """Return the language that a text shows; where it leaves a choice, the one in which the index has most of it.

    Some texts are valid in two languages, and `return x + 1;` is in five. The fingerprints of a text are those of a
    document only where both were read by the same rules, so the index decides among the languages that it contains.

    Returns:
        None where the text shows no language, and none finds anything that the neutral rules do not find as well.
    """
    text = text[:SHOWS_A_LANGUAGE]
    shown = languages_of_text(text)
    indexed = set(map(language_named, filter(None, index.languages())))
    choice: list[str | None] = [name for name in shown or languages_with("fingerprints") if name in indexed]
    if len(shown) == 1 or (shown and not choice):
        return shown[0]
    language = shown[0] if shown else None
    if not shown:
        choice.insert(0, None)
    # each language is tried on the index; its rules are right if they find the most of the text there
    best = (0.0, 0.0)
    for candidate in choice:
        result = trace(text, index, language=candidate, method="winnowing", top=1)
        if result.matches and (evidence := (result.matches[0].containment, result.indexed_share)) > best:
            best, language = evidence, candidate
    return language
