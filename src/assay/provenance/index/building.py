"""Build an index of corpora: all cores read, one process writes, and unchanged files are not read again.

A source has a row of its own among the files seen (with an empty path): its stamp, and how far it was read. A folder or
repository is compared file by file; an archive or a table that changed is read again from its start, and an interrupted
one from where it was left. There is a commit every few seconds; files read after the last commit of a killed build are
read again.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import attrgetter
from types import FrameType
from typing import Any

from assay.corpora import CorpusSource, Entry, Skipped, source_name
from assay.corpora.entry import NO_CONTENT
from assay.corpora.filters import patterns, skip_by_name
from assay.errors import DataError
from assay.provenance.index.reading import FileRead, IndexSettings, stamp_before
from assay.provenance.index.searchable import Connected, SeenFile, WritableIndex
from assay.provenance.index.workers import PROCESSES, FileReaders, ReadTask, open_readers
from assay.retrieval import BUILTIN_PREFIX

COMMIT_SECONDS = 5.0
"""Seconds between commits: the work that a killed build loses at most."""

SOURCE_PATH = ""
"""Path of the row that records a source as a whole."""

BuildProgress = Callable[["BuildCounts", "SourceProgress"], None]
"""Called after every batch with the counts so far and the progress in the current source."""


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """Progress in one source.

    Attributes:
        source: its name.
        files: that are done.
        share: of the source that is done, 0 to 1; None if unknown.
    """

    source: str
    files: int
    share: float | None


@dataclass(slots=True)
class BuildCounts:
    """Counts of a build.

    Attributes:
        files: examined.
        unchanged: of them, those whose documents the index had already.
        read: of them, those that gave documents.
        bytes: read.
        documents: texts that were new to the index.
        duplicates: texts that the index had already; they got a further origin.
        gone: files of the index that their source no longer has.
        skipped: skipped files, by reason.
        notes: counts of other events, by their description.
        faults: sources that could not be read to their end, a line each.
        seconds: of wall time.
    """

    files: int = 0
    unchanged: int = 0
    read: int = 0
    bytes: int = 0
    documents: int = 0
    duplicates: int = 0
    gone: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def build(
    sources: Sequence[CorpusSource],
    index: WritableIndex,
    settings: IndexSettings,
    *,
    jobs: int | None = None,
    readers: str = PROCESSES,
    progress: BuildProgress | None = None,
    commit_seconds: float = COMMIT_SECONDS,
) -> BuildCounts:
    """Bring an index up to date with its sources.

    Args:
        sources: to read; a source replaces the one of the same name in the index.
        index: open for writing.
        settings: how a file becomes documents; their profile must be that of the index.
        jobs: processes that read; None: one for each core.
        readers: what reads, see `open_readers`.
        progress: see `BuildProgress`.
        commit_seconds: see `COMMIT_SECONDS`.

    Returns:
        The counts. A source that cannot be read is listed in `faults`, and the others are read nevertheless.

    Raises:
        CorpusIndexError: the index cannot be written.
        DataError: the profile is not that of the index, or nothing of the name `readers` is installed.
        PlugInError: the plug-in that should read cannot be used.
        KeyboardInterrupt: after Ctrl-C, once the files that were read are committed.
    """
    if settings.profile != index.profile:
        raise DataError(f"profile {settings.profile.name!r}: expected {index.profile.name!r}, the profile of the index")
    writer = _Writer(index, settings, progress or (lambda *_: None), commit_seconds=commit_seconds)
    encoder = index.info().encoder
    # a built-in encoder is small enough to be loaded in each process; a larger one is loaded once, by the writer
    own = encoder if encoder and encoder.startswith(BUILTIN_PREFIX) else None
    with open_readers(readers, settings, encoder=own, jobs=jobs) as opened, _ctrl_c(writer):
        for source in sources:
            try:
                writer.add(source, opened)
            except DataError as fault:
                writer.counts.faults.append(str(fault))
                writer.commit()
                writer.report(share=1.0)
    if isinstance(index, Connected):
        index.connect()
    writer.counts.seconds = writer.elapsed
    return writer.counts


@dataclass(slots=True)
class _Writer:
    """The one process that changes the index."""

    index: WritableIndex
    settings: IndexSettings
    progress: BuildProgress
    commit_seconds: float
    counts: BuildCounts = field(default_factory=BuildCounts)
    stopped: bool = False
    _reached: SourceProgress = field(default_factory=lambda: SourceProgress("", 0, None))
    _began: float = field(default_factory=time.monotonic)
    _committed: float = field(default_factory=time.monotonic)

    def add(self, source: CorpusSource, readers: FileReaders) -> None:
        """Bring the index up to one source."""
        self._reached = SourceProgress(source.name, 0, None)
        if note := getattr(source, "note", ""):
            self.counts.notes[note] = 1
        seen = self.index.seen(source.name)
        state = _State.of(seen.pop(SOURCE_PATH, None))
        # + marks a history: the same repository at one commit is another kind of source
        kind = f"{getattr(source, 'stored_kind', type(source).__name__)}{'' if source.whole else '+'}"
        stamp = f"{source.stamp} {self.settings.digest}" if source.stamp is not None else ""
        # first question: is the whole source as it was when it was read to its end? Then none of its files is looked at
        now = _State(kind, stamp, 0, finished=False)
        is_same = (state.kind, state.stamp) == (now.kind, now.stamp)
        # without a stamp nothing shows that a source is unchanged
        if is_same and state.finished and now.stamp:
            self.counts.files += state.files
            self.counts.unchanged += state.files
            self.report(state.files, 1.0)
            return
        if is_same and source.indivisible:
            # interrupted, and unchanged since: an archive has a fixed order, so its first files can be skipped
            now.files = state.files
        # three cases are left: begin again (here), compare file by file, or read a history further
        elif source.whole and (seen or state.kind) and (source.indivisible or state.kind != now.kind):
            # e.g. an archive that changed, or a folder that became a repository: no file can be matched with its row
            self.index.remove(source=source.name)
            seen = {}
        self._read(source, seen, now, readers=readers)
        if not now.files:
            raise DataError(f"{source.name}: contains no file, expected at least one")
        now.finished = True
        self._remember(source, now)
        self.commit()
        self.report(now.files, 1.0)

    def _read(self, source: CorpusSource, seen: dict[str, SeenFile], now: "_State", readers: FileReaders) -> None:
        behind = now.files if source.indivisible else 0
        now.files = behind
        self._remember(source, now)
        present: set[str] = set()
        unreadable: list[str] = []
        for batch in readers.read(self._work(source, seen, present=present, unreadable=unreadable, behind=behind)):
            self._store(source, batch, seen)
            now.files += len(batch)
            if self.stopped or time.monotonic() - self._committed > self.commit_seconds:
                self._remember(source, now)
                self.commit()
            shares = [file.entry.share for file in batch if file.entry.share is not None]
            self.report(now.files, max(shares, default=None))
            if self.stopped:
                raise KeyboardInterrupt
        # files that were seen before and are not listed any more; never after an interruption, which lists only some
        if source.whole and not source.indivisible and now.files:
            self._forget(source, seen, present, unreadable=tuple(f"{path}/" for path in unreadable))

    def _work(
        self, source: CorpusSource, seen: Mapping[str, SeenFile], present: set[str], unreadable: list[str], behind: int
    ) -> "Iterator[ReadTask | FileRead]":
        """Yield the files to be read, and a `FileRead` for each file that need not be."""
        digest = self.settings.digest
        for number, file in enumerate(source.files()):
            if number < behind:
                continue
            if isinstance(file, Skipped):
                if file.reason == "unreadable":
                    unreadable.append(file.path)
                present.add(file.path)
                yield FileRead(
                    Entry(file.path, stamp="", size=None, content=NO_CONTENT), f"{file.reason}:", skipped=file.reason
                )
                continue
            if not source.indivisible:
                present.add(file.key)
            # facts that need no reading come first in a stamp, so an unchanged file is recognised without opening it
            before = f"{stamp_before(file, digest)}:"
            row = seen.get(file.key)
            if row is not None and row.digest is not None and row.digest.startswith(before):
                unchanged = row.skipped is None
                yield FileRead(file, row.digest, unchanged=unchanged, skipped=row.skipped)  # type: ignore[arg-type]  # a reason of ours, read back
            elif reason := skip_by_name(file.path, file.size, self.settings.corpus):
                yield FileRead(file, before, skipped=reason)
            else:
                yield source.name, file, row.digest if row is not None and row.skipped is None else None

    def _store(self, source: CorpusSource, batch: Sequence[FileRead], seen: Mapping[str, SeenFile]) -> None:
        rows: list[SeenFile] = []
        for file in batch:
            self._count(file)
            before = seen.get(file.entry.key)
            row = SeenFile(file.entry.key, file.entry.size, None, digest=file.stamp, skipped=file.skipped)
            if row == before:
                continue
            if before is not None and before.skipped is None and not file.unchanged:
                self.index.remove(source=source.name, path=file.entry.path)
            # members of an archive or table are recorded by their count alone, so only skipped ones have a row
            if not source.indivisible or file.skipped:
                rows.append(row)
        documents, hashes, vectors = (
            list(chain.from_iterable(map(attrgetter(part), batch))) for part in ("documents", "hashes", "vectors")
        )
        # documents before their rows: in an index without transactions a kill between the two only reads a file twice
        added = self.index.add(documents, hashes=hashes, vectors=vectors or None)
        self.index.mark_seen(source.name, rows)
        self.counts.documents += added.documents
        self.counts.duplicates += added.duplicates

    def _count(self, file: FileRead) -> None:
        self.counts.files += 1
        self.counts.bytes += file.size
        for note, number in file.notes.items():
            self.counts.notes[note] = self.counts.notes.get(note, 0) + number
        if file.skipped:
            self.counts.skipped[file.skipped] = self.counts.skipped.get(file.skipped, 0) + 1
        elif file.unchanged:
            self.counts.unchanged += 1
        else:
            self.counts.read += 1

    def _forget(
        self, source: CorpusSource, seen: Mapping[str, SeenFile], present: set[str], unreadable: tuple[str, ...]
    ) -> None:
        """Remove files that the source no longer has; those in an unreadable folder may still exist, so they stay."""
        for path in seen:
            if path not in present and not path.startswith(unreadable):
                self.counts.gone += seen[path].skipped is None
                self.index.remove(source=source.name, path=path)

    def _remember(self, source: CorpusSource, state: "_State") -> None:
        if source.stamp is not None or not source.indivisible:  # a stream cannot be read a second time
            self.index.mark_seen(source.name, [state.row()])

    def commit(self) -> None:
        """Commit the work so far."""
        self.index.commit()
        self._committed = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Return the seconds since the build began."""
        return time.monotonic() - self._began

    def report(self, files: int | None = None, share: float | None = None) -> None:
        """Report the progress: files of the current source (None: as many as before), and share of it."""
        before = self._reached
        self._reached = SourceProgress(before.source, before.files if files is None else files, share)
        self.counts.seconds = self.elapsed
        self.progress(self.counts, self._reached)


@dataclass(slots=True)
class _State:
    """Row of a source as a whole: its kind, its stamp, and how many of its files are done."""

    kind: str
    stamp: str
    files: int
    finished: bool

    def row(self) -> SeenFile:
        # a row as of a file, so that no index needs a further table: size is the count, modified says that it is done
        return SeenFile(SOURCE_PATH, self.files, int(self.finished), digest=f"{self.kind} {self.stamp}")

    @staticmethod
    def of(row: SeenFile | None) -> "_State":
        """Return the state that a row holds; without one it has no kind."""
        if row is None or row.digest is None:
            return _State("", "", 0, finished=False)
        kind, _, stamp = row.digest.partition(" ")
        return _State(kind, stamp, files=row.size or 0, finished=bool(row.modified))


@contextmanager
def _ctrl_c(writer: _Writer) -> Iterator[None]:
    """Let the first Ctrl-C finish and commit the current batch; a second one stops at once."""
    # Python delivers signals to the main thread only; in another thread the caller has its own way to stop
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.getsignal(signal.SIGINT)

    def stop(_number: int, _frame: FrameType | None) -> None:
        if writer.stopped:
            raise KeyboardInterrupt
        writer.stopped = True

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True, slots=True)
class Removed:
    """Counts of a removal: files that had documents, and documents without any other origin."""

    files: int
    documents: int


def remove(index: WritableIndex, corpora: Sequence[str], path_patterns: tuple[str, ...] = ()) -> Removed:
    """Remove corpora, or those of their files whose paths match a pattern as in .gitignore.

    Args:
        index: open for writing; the caller commits.
        corpora: paths as they were added, or names of sources; a folder includes every source in it; empty: all.
        path_patterns: of the files; empty: all.

    Raises:
        DataError: the index has no such corpus, or no such file.
    """
    sources = dict.fromkeys(chain.from_iterable(map(partial(_named, index), corpora)))
    files = documents = 0
    for source in sources or index.info().sources:
        paths = index.paths(source)
        if path_patterns:
            paths = [path for path in paths if patterns(path_patterns).match_file(path)]
            documents += sum(index.remove(source=source, path=path) for path in paths)
        else:
            documents += index.remove(source=source)
        files += len(paths)
    if path_patterns and not files:
        raise DataError(f"--path {' '.join(path_patterns)}: no file of the index matches")
    return Removed(files, documents)


def _named(index: WritableIndex, corpus: str) -> list[str]:
    sources = index.info().sources
    for name in (corpus, source_name(corpus)):
        if matches := [source for source in sources if source == name or source.startswith(f"{name}/")]:
            return matches
    raise DataError(
        f"{corpus}: not in the index; expected one of {', '.join(sources[:5]) or 'none, because it is empty'}"
    )
