"""`assay.build_index`: corpora become an index; the commands that change one use the same functions."""

from collections.abc import Sequence
from pathlib import Path

from assay.api.progress import files_bar
from assay.api.tracing import query_encoder
from assay.errors import DataError
from assay.provenance import (
    BuildCounts,
    CorpusOptions,
    FileCount,
    Filters,
    Granularity,
    IndexSettings,
    WritableIndex,
    build,
    create_index,
    description_at,
    open_sources,
)
from assay.provenance import open_index as open_at
from assay.retrieval import open_encoder

PROFILE, ENCODER = "default", "builtin:fragments"
"""Of a new index."""

KEEP = "keep"
"""Profile and encoder of the index that is there; of a new one the two above."""


def build_index(
    corpora: Sequence[Path | str],
    at: Path | str,
    *,
    granularity: Granularity = "both",
    profile: str = KEEP,
    encoder: str | None = KEEP,
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
        profile: how fingerprints are made, "default" or "paper"; "keep" is that of the index, "default" for a new one.
        encoder: name of the encoder; None for no vectors; "keep" is that of the index, `builtin:fragments` for a new
            one.
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
    described = description_at(str(at))
    if profile == KEEP:
        profile = described.profile.name if described else PROFILE
    if encoder == KEEP:
        encoder = described.encoder if described else ENCODER
    opened = None if encoder is None else open_encoder(encoder)
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
