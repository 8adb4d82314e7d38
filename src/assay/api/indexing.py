"""`assay.build_index`: corpora become an index; the commands that change one use the same functions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from assay.corpora import (
    CorpusSettings,
    CorpusSource,
    FileCount,
    TableColumns,
    licence_reader,
    open_sources,
    with_licences,
)
from assay.corpora.open import DEFAULT as ALL_CODE
from assay.corpora.open import NO_COLUMNS
from assay.errors import DataError
from assay.models.cache import default_cache_path
from assay.progress import ERRORS, REPORTING, ProgressLines, is_live
from assay.provenance import BuildCounts, IndexSettings, WritableIndex, build, create_index, query_encoder
from assay.provenance import open_index as open_at
from assay.provenance.index import BuildProgress, CodeIndex, SourceProgress, description_at, remove_empty
from assay.retrieval import open_encoder

PROFILE, ENCODER = "default", "builtin:fragments"
"""Of a new index."""

KEEP = "keep"
"""Profile and encoder of the index that is there; of a new one the two above."""


def build_index(
    corpora: Sequence[Path | str],
    at: Path | str,
    settings: CorpusSettings = ALL_CODE,
    *,
    columns: TableColumns = NO_COLUMNS,
    profile: str = KEEP,
    encoder: str | None = KEEP,
    progress: bool = True,
    **changes: Any,  # noqa: ANN401  of the types of the settings
) -> BuildCounts:
    """Build an index of corpora, or go on with one of the same profile and encoder: only what changed is read.

    Of a new index in which no code was read, no folder stays.

    Args:
        corpora: folders, git repositories, archives, tables.
        at: folder or address of the index.
        settings: which files are read, and how.
        columns: of tables.
        profile: how fingerprints are made, "default" or "paper"; "keep" is that of the index, "default" for a new one.
        encoder: name of the encoder; None for no vectors; "keep" is that of the index, `builtin:fragments` for a new
            one.
        progress: show a progress bar on a terminal.
        changes: single settings by name, for example `granularity="file"`.

    Raises:
        AssayError: a corpus or the index cannot be read or written, or the index is of another profile or encoder.
    """
    if isinstance(corpora, Path | str):
        raise DataError(f"corpora: received {str(corpora)!r}; expected a list of them: [{str(corpora)!r}]")
    settings = settings.with_values(**changes)
    names = [str(corpus) for corpus in corpora]
    # a path that is not there is reported before a folder is made
    open_sources(names, settings, columns)
    described = description_at(str(at))
    old_profile, opened = PROFILE, None
    old_encoder: str | None = ENCODER
    if described:
        old_profile, old_encoder = described.profile.name, described.encoder
    if profile == KEEP:
        profile = old_profile
    if encoder == KEEP:
        encoder = old_encoder
    if encoder is not None:
        opened = open_encoder(encoder)
    if described is None:
        reader = licence_reader(settings.licences)
        index = create_index(str(at), profile=profile, encoder=opened, licence_reader=reader)
    elif (described.profile.name, described.encoder) == (profile, encoder):
        index = open_at(str(at), writable=True, encoder=opened)
    else:
        raise DataError(
            f"{at}: an index of profile {described.profile.name!r} and encoder {described.encoder or 'none'!r}, "
            f"not {profile!r} and {encoder or 'none'!r}"
        )
    with index:
        counts = fill_index(index, names, settings, columns=columns, progress=progress)
    if described is None and isinstance(index, CodeIndex) and not counts.documents:
        remove_empty(index.folder)
    return counts


def writable_index(at: Path | str) -> WritableIndex:
    """Open an index for writing, with the encoder that it was made with.

    Raises:
        AssayError: there is no index, it is damaged, or its encoder cannot be opened.
    """
    return open_at(str(at), writable=True, encoder=query_encoder(at, required=True))


def fill_index(
    index: WritableIndex,
    corpora: Sequence[str],
    settings: CorpusSettings,
    columns: TableColumns = NO_COLUMNS,
    *,
    progress: bool = True,
) -> BuildCounts:
    """Read corpora into an open index; see `build_index`."""
    sources: Sequence[CorpusSource] = open_sources(corpora, settings, columns)
    # two readers would judge one licence in two ways, and the gate compares across sources
    if index.licence_reader not in {None, reader := licence_reader(settings.licences)}:
        raise DataError(
            f"the licences of this index were read by {index.licence_reader!r}, not by {reader!r}; expected the same "
            "setting `licences` for all its sources"
        )
    if settings.licences is not None:
        sources = with_licences(sources, settings.licences, default_cache_path().parent)
    with files_bar("indexing", lambda: FileCount(sources), shown=progress) as report:
        return build(
            sources,
            index,
            IndexSettings(settings, index.profile),
            jobs=settings.jobs,
            readers=settings.readers,
            progress=report,
        )


@contextmanager
def files_bar(
    description: str, count: Callable[[], FileCount], *, shown: bool = True
) -> Iterator[BuildProgress | None]:
    """Show a bar with files, rates and time left; without a terminal a line each 30 s, and `count` is not called."""
    if not shown or not REPORTING.get().progress:
        yield None
        return
    if not is_live():
        lines = ProgressLines(description)
        yield lambda counts, _: lines.report(f"{counts.files:,} files, {counts.documents:,} documents")
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[files]} files{task.fields[rates]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=ERRORS, transient=True) as bar:
        expected = count()
        task = bar.add_task(description, total=None, files="0", rates="")

        def report(counts: BuildCounts, reached: SourceProgress) -> None:
            expected.reached(reached.source, reached.files, reached.share)
            done, total = expected.done, expected.total
            seconds = max(counts.seconds, 0.1)
            rates = f", {counts.files / seconds:,.0f}/s, {counts.bytes / seconds / 1e6:.1f} MB/s"
            rates += f", {counts.documents:,} documents"
            if not total:
                bar.update(task, completed=0, files=f"{done:,}", rates=rates)
                return
            # shares of 1, not files: the time left starts anew whenever a total changes, and estimates do
            bar.update(task, completed=done / total, total=1, files=f"{done:,}/{total:,}", rates=rates)

        yield report
