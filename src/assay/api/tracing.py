"""`assay.trace` and `assay.index`: where code comes from, and the index that knows."""

from collections.abc import Sequence
from pathlib import Path

from assay.api.progress import files_bar, warn
from assay.errors import AssayError, DataError
from assay.provenance import (
    BuildCounts,
    CorpusOptions,
    FileCount,
    Filters,
    Granularity,
    IndexSettings,
    Searchable,
    SearchMethod,
    Trace,
    TraceSettings,
    WritableIndex,
    build,
    create_index,
    description_at,
    language_by_evidence,
    open_sources,
)
from assay.provenance import open_index as open_at
from assay.provenance import trace as trace_text
from assay.retrieval import open_encoder
from assay.types import Encoder

ENCODER = "builtin:fragments"
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
        index: an open index, a folder, or the address of a Qdrant server.
        language: the text is read in it; None finds it from the matches.
        method: candidates by fingerprints ("winnowing"), by vector ("vector", "hst"), or by both ("union").
        top: matches at most.
        min_similarity: least share of the text that a match contains.
        min_confidence: least confidence of a match, as in the command; 0 returns all there are.

    Raises:
        AssayError: there is no index, or it is damaged; one line.
    """
    if isinstance(index, Path | str):
        with open_index(index) as opened:
            return trace(
                text,
                opened,
                language=language,
                method=method,
                top=top,
                min_similarity=min_similarity,
                min_confidence=min_confidence,
            )
    return trace_text(
        text,
        index,
        language=language or language_by_evidence(text, index),
        method=method,
        top=top,
        settings=TraceSettings(min_similarity=min_similarity, min_confidence=min_confidence),
    )


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
        warn(f"going on without vectors: {error}")
        return open_at(str(at))


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


def build_index(
    corpora: Sequence[Path | str],
    at: Path | str,
    *,
    granularity: Granularity = "both",
    profile: str = "default",
    encoder: str | None = ENCODER,
    filters: Filters | None = None,
    reading: CorpusOptions | None = None,
    jobs: int | None = None,
    ray: str | None = None,
    progress: bool = True,
) -> BuildCounts:
    """Build an index of corpora, or go on with one of the same profile and encoder: only what changed is read.

    Args:
        corpora: folders, git repositories, archives, tables.
        at: folder or address of the index.
        granularity: whole files, their functions, or both.
        profile: how fingerprints are made, "default" or "paper".
        encoder: name of the encoder; None for no vectors.
        filters: which files are read.
        reading: how corpora are read.
        jobs: processes that read; None for all cores.
        ray: address of a Ray cluster that reads, or "auto" or "local".
        progress: show a progress bar on a terminal.

    Raises:
        AssayError: a corpus or the index cannot be read or written, or the index is of another profile or encoder.
    """
    if isinstance(corpora, Path | str):
        raise DataError(f"corpora: received {str(corpora)!r}; expected a list of them: [{str(corpora)!r}]")
    names, reading = [str(corpus) for corpus in corpora], reading or CorpusOptions()
    open_sources(names, reading)  # a path that is not there is reported before a folder is made
    opened = None if encoder is None else open_encoder(encoder)
    described = description_at(str(at))
    if described is None:
        index = create_index(str(at), profile=profile, encoder=opened)
    elif (described.profile.name, described.encoder) == (profile, encoder):
        index = open_at(str(at), writable=True, encoder=opened)
    else:
        raise DataError(
            f"{at}: an index of profile {described.profile.name!r} and encoder {described.encoder or 'none'!r}, "
            f"not {profile!r} and {encoder or 'none'!r}"
        )
    with index:
        return fill_index(
            index, names, filters, reading, granularity=granularity, jobs=jobs, ray=ray, progress=progress
        )


def writable_index(at: Path | str) -> WritableIndex:
    """Open an index for writing, with the encoder that it was made with.

    Raises:
        AssayError: there is no index, it is damaged, or its encoder cannot be opened.
    """
    return open_at(str(at), writable=True, encoder=query_encoder(at, required=True))


def fill_index(
    index: WritableIndex,
    corpora: Sequence[str],
    filters: Filters | None,
    reading: CorpusOptions,
    *,
    granularity: Granularity = "both",
    jobs: int | None = None,
    ray: str | None = None,
    progress: bool = True,
) -> BuildCounts:
    """Read corpora into an open index; see `build_index`."""
    sources = open_sources(list(corpora), reading)
    settings = IndexSettings(filters or Filters(), granularity, index.profile)
    with files_bar("indexing", lambda: FileCount(sources), shown=progress) as report:
        return build(sources, index, settings, jobs=jobs, ray=ray, progress=report)
