"""Files read by all cores: batches go out, what was read comes back in order, and no more is under way than fits."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, Self

from assay.provenance.reading import FileRead, Settings, read_entries, stamp_before
from assay.provenance.sources.entry import Entry
from assay.retrieval import fingerprint_hashes, open_encoder
from assay.types import Encoder

Work = tuple[str, Entry, str | None]
"""Source, entry, and the stamp that the index remembers."""

BATCH_FILES = 64
BATCH_BYTES = 1_000_000
AHEAD = 3
"""Batches that are under way for each process."""

_settings: Settings | None = None
_encoder: Encoder | None = None


class FileReaders(Protocol):
    """Whatever reads files, in this process or in many."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def read(self, work: Iterable[Work | FileRead]) -> Iterator[list[FileRead]]:
        """What was read of each piece of work, in its order, in batches; a `FileRead` among the work passes through."""
        ...


class Readers:
    """Processes that read, and encode where an encoder is named; with one job the calling process reads itself."""

    def __init__(self, settings: Settings, jobs: int | None = None, encoder: str | None = None) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self._settings = settings
        self._encoder = encoder
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def read(self, work: Iterable[Work | FileRead]) -> Iterator[list[FileRead]]:
        """What was read of each piece of work, in its order, in batches; a `FileRead` among the work passes through."""
        batches = batches_of(work)
        if self.jobs == 1:
            encoder = open_encoder(self._encoder) if self._encoder else None
            for batch in batches:
                yield in_order(batch, read_entries(to_read(batch), self._settings, encoder))
            return
        under_way: deque[tuple[list[Work | FileRead], Future[list[FileRead]] | None]] = deque()
        try:
            for batch in batches:
                under_way.append((batch, self._submit(batch)))
                if len(under_way) > AHEAD * self.jobs:
                    yield self._finish(under_way)
            while under_way:
                yield self._finish(under_way)
        finally:
            for _, future in under_way:
                if future is not None:
                    future.cancel()

    def _submit(self, batch: "list[Work | FileRead]") -> "Future[list[FileRead]] | None":
        if not (work := to_read(batch)):
            return None
        try:
            return self._processes().submit(_read_here, work)
        except BrokenProcessPool:
            self._pool = None
            return self._processes().submit(_read_here, work)

    def _finish(
        self, under_way: "deque[tuple[list[Work | FileRead], Future[list[FileRead]] | None]]"
    ) -> list[FileRead]:
        batch, future = under_way.popleft()
        if future is None:
            return in_order(batch, [])
        try:
            return in_order(batch, future.result())
        except BrokenProcessPool:
            # one file of some batch took its process down, and the pool with it: find out which, one by one
            self._pool = None
            return in_order(batch, self._one_by_one(to_read(batch)))

    def _one_by_one(self, work: Sequence[Work]) -> list[FileRead]:
        found: list[FileRead] = []
        pool = self._pool_of(1)
        for one in work:
            try:
                found += pool.submit(_read_here, [one]).result()
            except BrokenProcessPool:
                pool = self._pool_of(1)
                found.append(crashing(one, self._settings))
        pool.shutdown()
        return found

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = self._pool_of(self.jobs)
        return self._pool

    def _pool_of(self, jobs: int) -> ProcessPoolExecutor:
        return _pool(jobs, self._settings, self._encoder)


def _pool(jobs: int, settings: Settings, encoder: str | None) -> ProcessPoolExecutor:
    # what is compiled at first use is compiled here, once, and found in its cache by every process
    list(fingerprint_hashes(["def compiled(at, first, use):\n    return at\n"], "python", settings.profile))
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        context.set_forkserver_preload(["assay.provenance.workers"])
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(settings, encoder))


def _begin(settings: Settings, encoder: str | None) -> None:
    global _settings, _encoder
    _settings, _encoder = settings, open_encoder(encoder) if encoder else None
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the writer, who lets us finish
    threading.Thread(target=_end_with_the_writer, daemon=True).start()


def _end_with_the_writer() -> None:
    """A writer that is killed cannot tell its readers to end: they would wait for work for ever."""
    writer = multiprocessing.parent_process()
    if writer is not None:
        multiprocessing.connection.wait([writer.sentinel])
        os._exit(1)


def _read_here(work: Sequence[Work]) -> list[FileRead]:
    assert _settings is not None  # noqa: S101  the initializer has run
    return read_entries(work, _settings, _encoder)


def crashing(work: Work, settings: Settings) -> FileRead:
    """What stands for a file that took its reader down."""
    return FileRead(work[1], f"{stamp_before(work[1], settings.digest)}:", skipped="crashes the reader")


def batches_of(work: Iterable[Work | FileRead]) -> Iterator[list[Work | FileRead]]:
    """Work in batches of some files or one large one."""
    batch: list[Work | FileRead] = []
    size = 0
    for one in work:
        batch.append(one)
        size += 0 if isinstance(one, FileRead) else one[1].size or 0
        if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def to_read(batch: Iterable[Work | FileRead]) -> list[Work]:
    """What of a batch has to be read."""
    return [one for one in batch if not isinstance(one, FileRead)]


def in_order(batch: Iterable[Work | FileRead], read: Sequence[FileRead]) -> list[FileRead]:
    """A batch with what was read in the places of what had to be."""
    remaining = iter(read)
    return [one if isinstance(one, FileRead) else next(remaining) for one in batch]
