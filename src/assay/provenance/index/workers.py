"""Reading with all cores: batches go to processes, results come back in order, and a bounded number is in progress."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, Self

from assay.corpora import Entry
from assay.errors import DataError
from assay.plug_ins import PlugIns
from assay.processes import stop_processes, submit_to, worker_processes
from assay.provenance.index.reading import FileRead, IndexSettings, read_entries, stamp_before
from assay.retrieval import fingerprint_hashes, open_encoder
from assay.types import Encoder

ReadTask = tuple[str, Entry, str | None]
"""Source, entry, and its stamp in the index."""

_Batch = list[ReadTask | FileRead]

BATCH_FILES = 64
BATCH_BYTES = 1_000_000
_AHEAD = 3
"""Batches in progress for each process: enough that none waits for work, few enough to bound the memory."""

_settings: IndexSettings | None = None
_encoder: Encoder | None = None


class FileReaders(Protocol):
    """Reader of files, in this process or in many."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def read(self, tasks: Iterable[ReadTask | FileRead]) -> Iterator[list[FileRead]]:
        """Yield the results of the tasks, in order, in batches; a `FileRead` among the tasks is passed on."""
        ...


class ProcessReaders:
    """Processes that read, and encode if an encoder is named; with one job the calling process reads itself."""

    def __init__(
        self, settings: IndexSettings, _address: str = "", encoder: str | None = None, *, jobs: int | None = None
    ) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self._settings = settings
        self._encoder = encoder
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is None:
            return
        if any(error):
            stop_processes(self._pool)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def read(self, tasks: Iterable[ReadTask | FileRead]) -> Iterator[list[FileRead]]:
        """Yield the results of the tasks, in order, in batches; a `FileRead` among the tasks is passed on."""
        batches = batches_of(tasks)
        if self.jobs == 1:
            encoder = open_encoder(self._encoder) if self._encoder else None
            for batch in batches:
                yield in_batch_order(batch, read_entries(to_read(batch), self._settings, encoder))
            return
        under_way: deque[tuple[_Batch, Future[list[FileRead]] | None]] = deque()
        try:
            for batch in batches:
                under_way.append((batch, self._submit(batch)))
                # the oldest batch is awaited first: results stay in the order of the files, whichever process is
                # quicker
                if len(under_way) > _AHEAD * self.jobs:
                    yield self._finish(under_way)
            while under_way:
                yield self._finish(under_way)
        finally:
            for _, future in under_way:
                if future is not None:
                    future.cancel()

    def _submit(self, batch: _Batch) -> "Future[list[FileRead]] | None":
        # nothing to read, but the batch keeps its place in the order
        if not (tasks := to_read(batch)):
            return None
        try:
            return submit_to(self._processes(), _read_in_process, tasks)
        except BrokenProcessPool:  # an earlier batch broke the pool; its own result will say so
            self._pool = None
            return submit_to(self._processes(), _read_in_process, tasks)

    def _finish(self, under_way: "deque[tuple[_Batch, Future[list[FileRead]] | None]]") -> list[FileRead]:
        batch, future = under_way.popleft()
        if future is None:
            return in_batch_order(batch, [])
        try:
            return in_batch_order(batch, future.result())
        except BrokenProcessPool:
            # a file crashed its process and the pool; it may be in any batch in progress, so this one is read singly
            self._pool = None
            return in_batch_order(batch, self._one_by_one(to_read(batch)))

    def _one_by_one(self, tasks: Sequence[ReadTask]) -> list[FileRead]:
        results: list[FileRead] = []
        pool = _pool(1, self._settings, self._encoder)
        for task in tasks:
            try:
                results += submit_to(pool, _read_in_process, [task]).result()
            except BrokenProcessPool:
                pool = _pool(1, self._settings, self._encoder)
                results.append(crashing(task, self._settings))
        pool.shutdown()
        return results

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = _pool(self.jobs, self._settings, self._encoder)
        return self._pool


ReadersFactory = Callable[..., FileReaders]
"""(settings, address, encoder, jobs=…) → readers; address is what follows the name and a colon."""
PROCESSES = "processes"
_READERS: PlugIns[ReadersFactory] = PlugIns(
    "assay.readers",
    accepts=callable,
    description="a function of IndexSettings, address, name of the encoder and jobs that returns readers",
    own={PROCESSES: ProcessReaders},
)


def open_readers(place: str, settings: IndexSettings, encoder: str | None, jobs: int | None) -> FileReaders:
    """Return what reads files.

    Args:
        place: NAME or NAME:ADDRESS: "processes" of this machine, or the name of a plug-in of `assay.readers`.
        settings: how a file becomes documents.
        encoder: name of the encoder that each reader opens; None: readers do not encode.
        jobs: batches that are read at a time; None: as many as there are cores.

    Raises:
        DataError: nothing of that name is installed.
        PlugInError: the plug-in of that name cannot be used.
    """
    name, _, address = place.partition(":")
    if name not in _READERS:
        raise DataError(f"received --readers {place}, expected one of {', '.join(_READERS)}, or a plug-in of that name")
    return _READERS[name](settings, address, encoder, jobs=jobs)


def _pool(jobs: int, settings: IndexSettings, encoder: str | None) -> ProcessPoolExecutor:
    # compile the kernels here, once: every process then loads them from the cache instead of compiling them itself
    list(fingerprint_hashes(["def compiled(at, first, use):\n    return at\n"], "python", settings.profile))
    return worker_processes(jobs, _begin, settings, encoder, preload=__name__)


def _begin(settings: IndexSettings, encoder: str | None) -> None:
    global _settings, _encoder
    _settings, _encoder = settings, open_encoder(encoder) if encoder else None


def _read_in_process(tasks: Sequence[ReadTask]) -> list[FileRead]:
    assert _settings is not None  # noqa: S101  the initializer has run
    return read_entries(tasks, _settings, _encoder)


def crashing(task: ReadTask, settings: IndexSettings) -> FileRead:
    """Return the result for a file that crashes its reader."""
    return FileRead(task[1], f"{stamp_before(task[1], settings.digest)}:", skipped="crashes the reader")


def batches_of(tasks: Iterable[ReadTask | FileRead]) -> Iterator[_Batch]:
    """Yield batches of at most `BATCH_FILES` files, and of about `BATCH_BYTES`."""
    batch: _Batch = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += 0 if isinstance(task, FileRead) else task[1].size or 0
        if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def to_read(batch: Iterable[ReadTask | FileRead]) -> list[ReadTask]:
    """Return the tasks of a batch."""
    return [task for task in batch if not isinstance(task, FileRead)]


def in_batch_order(batch: Iterable[ReadTask | FileRead], read: Sequence[FileRead]) -> list[FileRead]:
    """Return a batch with each task replaced by its result."""
    remaining = iter(read)
    return [task if isinstance(task, FileRead) else next(remaining) for task in batch]
