"""`assay.trace` and `assay.open_index`: where code comes from."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from assay.api.check_settings import SURE
from assay.corpora import SourceText, parts_of
from assay.errors import AssayError
from assay.licences import LicenceRules
from assay.progress import progress_bar, warn
from assay.provenance import Searchable, SearchMethod, StoredDocument, Trace, TracedFile, TraceSettings, trace_file
from assay.provenance import open_index as open_at
from assay.provenance import trace as trace_text
from assay.provenance.index import description_at
from assay.provenance.search import find_language
from assay.retrieval import open_encoder
from assay.types import Encoder

CANDIDATES_OF_GATE = 1000
"""Documents by fingerprints that are judged for each text: a hundred forks under one licence must not hide another."""


def trace(
    text: str,
    index: Searchable | Path | str,
    *,
    language: str | None = None,
    method: SearchMethod = "union",
    top: int = 10,
    min_similarity: float = 0.0,
    min_confidence: float = SURE,
) -> Trace:
    """Trace a text to the documents of an index that it may come from, best first.

    Args:
        text: code.
        index: an open index, a folder, or an address that a plug-in opens.
        language: the text is read in it; None finds it from the matches.
        method: candidates by fingerprints ("winnowing"), by vector ("vector", "hst"), or by both ("union").
        top: matches at most.
        min_similarity: least share of the text that a match contains.
        min_confidence: least confidence of a match that is no copy, as in the command; 0 returns all there are.

    Raises:
        AssayError: there is no index, or it is damaged; one line.
    """
    settings = TraceSettings(min_similarity=min_similarity, min_confidence=min_confidence)
    with open_index(index) if isinstance(index, Path | str) else nullcontext(index) as opened:
        read_in = language or find_language(text, opened)
        return trace_text(text, opened, language=read_in, method=method, top=top, settings=settings)


def trace_files(
    files: Sequence[SourceText],
    index: Searchable,
    *,
    rules: LicenceRules | None = None,
    parts: Callable[[SourceText], Sequence[SourceText]] = parts_of,
    method: SearchMethod = "union",
    top: int = 5,
    settings: TraceSettings | None = None,
) -> list[TracedFile]:
    """Trace files by their parts.

    Args:
        files: whole.
        index: an open index.
        rules: of licences: documents that they deny or leave open are traced beyond the best ones; None without any.
        parts: the division of a file.
        method: see `trace`.
        top: sources of each part at most.
        settings: of the search.
    """
    settings = settings or TraceSettings()
    if rules is not None:
        settings = replace(settings, candidates=CANDIDATES_OF_GATE)

    def is_denied(document: StoredDocument) -> bool:
        licences = {origin.licence for origin in document.origins}
        return rules is not None and any(rules.deny(licence) or rules.leave_open(licence) for licence in licences)

    also = None if rules is None else is_denied
    traced = []
    with progress_bar("tracing") as report:
        for done, file in enumerate(files, 1):
            traced.append(trace_file(file, index, method=method, top=top, settings=settings, also=also, parts=parts))
            if report is not None:
                report(done, len(files))
    return traced


def open_index(at: Path | str, *, vectors: bool | None = None) -> Searchable:
    """Open an index for searching, with the encoder that it was made with.

    Args:
        at: folder or address.
        vectors: True for its encoder or an error; False for none; None for the encoder if it can be opened.

    Raises:
        CorpusIndexError: there is no index, or it is damaged.
        AssayError: `vectors` is True, and the encoder cannot be opened.
    """
    encoder = None if vectors is False else query_encoder(at, required=bool(vectors))
    try:
        return open_at(str(at), encoder=encoder)
    except AssayError as error:
        if vectors or encoder is None:
            raise
        without = open_at(str(at))
        warn(f"going on without vectors: {error}")
        return without


def query_encoder(at: Path | str, *, required: bool = False) -> Encoder | None:
    """Return the encoder that an index was made with; None where it has none or it cannot be opened.

    Raises:
        AssayError: it is required, and cannot be opened.
    """
    described = description_at(str(at))
    if described is None or described.encoder is None:
        return None
    try:
        return open_encoder(described.encoder)
    except AssayError as error:
        if required:
            raise
        warn(f"going on without vectors: {error}")
        return None
