"""`assay.trace` and `assay.open_index`: where code comes from."""

from contextlib import nullcontext
from pathlib import Path

from assay.errors import AssayError
from assay.progress import warn
from assay.provenance import Searchable, SearchMethod, Trace, TraceSettings
from assay.provenance import open_index as open_at
from assay.provenance import trace as trace_text
from assay.provenance.index import description_at
from assay.provenance.search import find_language
from assay.retrieval import open_encoder
from assay.types import Encoder

SURE = 0.95
"""Least confidence of a match that is shown unless another is asked for."""


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
