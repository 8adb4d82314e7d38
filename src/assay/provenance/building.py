"""Corpora into an index: all cores read, one process writes, and what was read before is not read again.

A source is remembered by a row of its own among the files seen (an empty path): its stamp, and how far it was read. A
folder or repository is compared file by file; an archive or a table that changed is read anew, and one that was left in
the middle goes on where it was. Every few seconds is a commit; what stands between the last commit and a kill is read
again.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from assay.errors import DataError, MissingExtra
from assay.provenance.reading import FileRead, Settings, stamp_before
from assay.provenance.searchable import WritableIndex
from assay.provenance.sources.entry import CorpusSource, Entry, Skipped
from assay.provenance.stored import SeenFile
from assay.provenance.workers import FileReaders, Readers, Work
from assay.retrieval import BUILTIN_PREFIX

COMMIT_SECONDS = 5.0
"""Time between commits: the most that a killed build has to do again."""

SOURCE = ""
"""The path under which a source itself is remembered."""

Progress = Callable[["BuildCounts", "Reached"], None]
"""Told after every batch: what was done so far, and how far the source at hand was read."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a source was read.

    Attributes:
        source: its name.
        files: of it that are dealt with.
        share: of it that is behind, 0 to 1; None where nothing tells.
    """

    source: str
    files: int
    share: float | None


@dataclass(slots=True)
class BuildCounts:
    """What a build did.

    Attributes:
        files: looked at.
        unchanged: of them, those that were in the index as they are.
        read: of them, those that gave documents.
        bytes: read.
        documents: texts that were new to the index.
        duplicates: texts that it had already; they got a further origin.
        gone: files that were in the index and are in their source no more.
        skipped: files passed over, by reason.
        notes: what happened beside, with counts.
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
    settings: Settings,
    *,
    jobs: int | None = None,
    ray: str | None = None,
    progress: Progress | None = None,
    commit_seconds: float = COMMIT_SECONDS,
) -> BuildCounts:
    """Bring an index up to what its sources hold now.

    Args:
        sources: what is read; a source of the same name replaces what the index had of it.
        index: open for writing.
        settings: how a file becomes documents; their profile has to be the index's.
        jobs: processes that read; None: one for each core.
        ray: read by a Ray cluster: its address, "auto", or "local" for one of this machine's own.
        progress: see `Progress`.
        commit_seconds: see `COMMIT_SECONDS`.

    Returns:
        What was done. A source that cannot be read stands among the faults, and the others are read nevertheless.

    Raises:
        CorpusIndexError: the index cannot be written.
        DataError: the profile is not the index's.
        MissingExtra: `ray` without the extra of that name.
        KeyboardInterrupt: after Ctrl-C, when what was read is committed.
    """
    if settings.profile != index.profile:
        raise DataError(f"profile {settings.profile.name!r}: the index has {index.profile.name!r}")
    writer = _Writer(index, settings, progress or (lambda *_: None), commit_seconds)
    encoder = index.info().encoder
    # an encoder of our own is small enough for each process; any other has one place, beside the index's writer
    own = encoder if encoder and encoder.startswith(BUILTIN_PREFIX) else None
    with _readers(settings, jobs, own, ray) as readers, _ctrl_c(writer):
        for source in sources:
            try:
                writer.add(source, readers)
            except DataError as fault:
                writer.counts.faults.append(str(fault))
                writer.commit()
                writer.report(share=1.0)
    writer.counts.seconds = writer.elapsed
    return writer.counts


def _readers(settings: Settings, jobs: int | None, encoder: str | None, ray: str | None) -> FileReaders:
    if ray is None:
        return Readers(settings, jobs, encoder)
    try:
        from assay.provenance.ray_readers import RayReaders  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingExtra("ray", purpose="reading by a Ray cluster") from error
    return RayReaders(settings, ray, encoder, jobs=jobs)


@dataclass(slots=True)
class _Writer:
    """The one process that changes the index."""

    index: WritableIndex
    settings: Settings
    progress: Progress
    commit_seconds: float
    counts: BuildCounts = field(default_factory=BuildCounts)
    stopped: bool = False
    _reached: Reached = field(default_factory=lambda: Reached("", 0, None))
    _began: float = field(default_factory=time.monotonic)
    _committed: float = field(default_factory=time.monotonic)

    def add(self, source: CorpusSource, readers: FileReaders) -> None:
        """Bring the index up to one source."""
        self._reached = Reached(source.name, 0, None)
        seen = self.index.seen(source.name)
        state = _State.of(seen.pop(SOURCE, None))
        now = _State(self._kind(source), self._stamp(source), 0, finished=False)
        if state is not None and state.finished and (state.kind, state.stamp) == (now.kind, now.stamp) and now.stamp:
            self.counts.files += state.files
            self.counts.unchanged += state.files
            self.report(state.files, 1.0)
            return
        if state is not None and state.kind == now.kind and state.stamp == now.stamp and source.indivisible:
            now.files = state.files
        elif (seen or state is not None) and not self._comparable(source, state, now):
            self.index.remove(source=source.name)
            seen = {}
        self._read(source, seen, now, readers)
        if not now.files:
            raise DataError(f"{source.name}: without a single file, expected at least one")
        now.finished = True
        self._remember(source, now)
        self.commit()
        self.report(now.files, 1.0)

    def _comparable(self, source: CorpusSource, state: "_State | None", now: "_State") -> bool:
        """Whether what the index has of a source can stand beside what is read now."""
        return not source.whole or (not source.indivisible and state is not None and state.kind == now.kind)

    def _read(self, source: CorpusSource, seen: dict[str, SeenFile], now: "_State", readers: FileReaders) -> None:
        behind = now.files if source.indivisible else 0
        now.files = behind
        self._remember(source, now)
        present: set[str] = set()
        unreadable: list[str] = []
        for batch in readers.read(self._work(source, seen, present, unreadable, behind)):
            self._store(source, batch, seen)
            now.files += len(batch)
            if self.stopped or time.monotonic() - self._committed > self.commit_seconds:
                self._remember(source, now)
                self.commit()
            self.report(now.files, max((one.entry.share for one in batch if one.entry.share is not None), default=None))
            if self.stopped:
                raise KeyboardInterrupt
        if source.whole and not source.indivisible and now.files:
            self._forget(source, seen, present, tuple(f"{path}/" for path in unreadable))

    def _work(
        self,
        source: CorpusSource,
        seen: Mapping[str, SeenFile],
        present: set[str],
        unreadable: list[str],
        behind: int,
    ) -> "Iterator[Work | FileRead]":
        """What has to be read; what need not be passes as read."""
        digest = self.settings.digest
        for number, one in enumerate(source.found()):
            if number < behind:
                continue
            if isinstance(one, Skipped):
                if one.reason == "unreadable":
                    unreadable.append(one.path)
                present.add(one.path)
                yield FileRead(Entry(one.path, "", None, _NOTHING), f"{one.reason}:", skipped=one.reason)
                continue
            if not source.indivisible:
                present.add(one.key)
            before = f"{stamp_before(one, digest)}:"
            known = seen.get(one.key)
            if known is not None and known.digest is not None and known.digest.startswith(before):
                unchanged = known.skipped is None
                yield FileRead(one, known.digest, unchanged=unchanged, skipped=known.skipped)  # type: ignore[arg-type]  # a reason of ours, read back
            elif reason := self.settings.filters.by_name(one.path, one.size):
                yield FileRead(one, before, skipped=reason)
            else:
                yield source.name, one, known.digest if known is not None and known.skipped is None else None

    def _store(self, source: CorpusSource, batch: Sequence[FileRead], seen: Mapping[str, SeenFile]) -> None:
        rows: list[SeenFile] = []
        for one in batch:
            self._count(one)
            known = seen.get(one.entry.key)
            row = SeenFile(one.entry.key, one.entry.size, None, one.stamp, one.skipped)
            if row == known:
                continue
            if known is not None and known.skipped is None and not one.unchanged:
                self.index.remove(source=source.name, path=one.entry.path)
            # the members of what is read whole are remembered by their number; only what was skipped has a row
            if not source.indivisible or one.skipped:
                rows.append(row)
        documents = [document for one in batch for document in one.documents]
        hashes = [hashes for one in batch for hashes in one.hashes]
        vectors = [vector for one in batch for vector in one.vectors]
        added = self.index.add(documents, hashes=hashes, vectors=vectors or None)
        self.index.mark_seen(source.name, rows)
        self.counts.documents += added.documents
        self.counts.duplicates += added.duplicates

    def _count(self, one: FileRead) -> None:
        self.counts.files += 1
        self.counts.bytes += one.size
        for note, number in one.notes.items():
            self.counts.notes[note] = self.counts.notes.get(note, 0) + number
        if one.skipped:
            self.counts.skipped[one.skipped] = self.counts.skipped.get(one.skipped, 0) + 1
        elif one.unchanged:
            self.counts.unchanged += 1
        else:
            self.counts.read += 1

    def _forget(
        self, source: CorpusSource, seen: Mapping[str, SeenFile], present: set[str], unreadable: tuple[str, ...]
    ) -> None:
        """Remove what is in the source no more; what could not be looked at may still be there."""
        for path in seen:
            if path not in present and not path.startswith(unreadable):
                self.counts.gone += seen[path].skipped is None
                self.index.remove(source=source.name, path=path)

    def _remember(self, source: CorpusSource, state: "_State") -> None:
        if source.stamp is not None or not source.indivisible:  # a stream cannot be taken up again
            self.index.mark_seen(source.name, [state.row()])

    def _kind(self, source: CorpusSource) -> str:
        return f"{type(source).__name__}{'' if source.whole else '+'}"

    def _stamp(self, source: CorpusSource) -> str:
        return f"{source.stamp} {self.settings.digest}" if source.stamp is not None else ""

    def commit(self) -> None:
        """Make what was done durable."""
        self.index.commit()
        self._committed = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the build began."""
        return time.monotonic() - self._began

    def report(self, files: int | None = None, share: float | None = None) -> None:
        """Tell how far it is: files of the source at hand (None: as many as before), and share of it."""
        before = self._reached
        self._reached = Reached(before.source, before.files if files is None else files, share)
        self.counts.seconds = self.elapsed
        self.progress(self.counts, self._reached)


@dataclass(slots=True)
class _State:
    """What the index remembers of a source as a whole: which one, as of when, and how many files were dealt with."""

    kind: str
    stamp: str
    files: int
    finished: bool

    def row(self) -> SeenFile:
        return SeenFile(SOURCE, self.files, int(self.finished), f"{self.kind} {self.stamp}")

    @staticmethod
    def of(row: SeenFile | None) -> "_State | None":
        if row is None or row.digest is None:
            return None
        kind, _, stamp = row.digest.partition(" ")
        return _State(kind, stamp, row.size or 0, finished=bool(row.modified))


class _Nothing:
    """The content of what was passed over."""

    def read(self, limit: int) -> bytes:
        raise OSError(f"there are no {limit} bytes of what was passed over")


_NOTHING = _Nothing()


@contextmanager
def _ctrl_c(writer: _Writer) -> Iterator[None]:
    """The first Ctrl-C lets the batch at hand be stored and committed; the second one stops at once."""
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
